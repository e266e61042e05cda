"""
JSON values and paths into them, and the API server's text forms of paths.

This module does not know schemas or Kubernetes objects.
"""

from collections.abc import Iterable
from typing import TypeAlias

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
"""Decoded JSON of any shape. An object's keys are strings; integers fit into 64 bits."""


class Key(str):
    """
    A step into a map, written in brackets: ``properties[spec]``.

    A plain string is a step into a field (``spec.replicas``), an integer one into a list.
    """

    __slots__ = ()


Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]
"""Steps from the root: a field (``str``), a map's key (``Key``) or a list's index (``int``)."""


def render_path(path: Iterable[Step]) -> str:
    """
    Write a path as field errors have it: ``spec.ports[0].name``, ``properties[spec].type``.

    Returns:
        The text; ``<nil>`` for the root. Names are never quoted or escaped. An empty name is
        written as ``[]``, since the server takes it for an index: ``[].metadata``.

    Source:
        apimachinery, ``pkg/util/validation/field/path.go``, ``Path.String``.
    """
    parts: list[str] = []
    for step in path:
        if isinstance(step, (int, Key)) or not step:
            parts.append(f"[{step}]")
        elif parts:
            parts.append(f".{step}")
        else:
            parts.append(step)
    return "".join(parts) or "<nil>"


def render_unknown(path: Iterable[Step]) -> str:
    """
    Write a path as the API server reports unknown fields: ``spec.ports[0].prot``.

    It differs from ``render_path`` only in empty names: ``.metadata``, and not ``[].metadata``.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/options.go``, ``AppendKey``.
    """
    parts: list[str] = []
    for step in path:
        if isinstance(step, (int, Key)):
            parts.append(f"[{step}]")
        else:
            parts.append(f".{step}" if parts else step)
    return "".join(parts)


def render_pointer(path: Iterable[Step]) -> str:
    """
    Write a path as a JSON Pointer: ``/spec/ports/0/name``; empty for the root.

    Source:
        RFC 6901.
    """
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
