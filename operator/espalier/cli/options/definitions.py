"""
The definitions that a command works on: named and selected as for kubectl.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import click

from espalier.cli.options.decoration import Command

_KIND = r"(?:crds?|customresourcedefinitions?(?:\.(?:v1\.)?apiextensions\.k8s\.io)?)"
_KIND_ALONE = re.compile(_KIND, re.IGNORECASE)
_KIND_AND_NAME = re.compile(rf"{_KIND}/([^/]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """
    The definitions that a user asks for.

    Attributes:
        names: As typed, without ``crd`` before them; empty for all.
        selector: The labels; empty for any.
    """

    names: tuple[str, ...]
    selector: str = ""


def chosen(names: Sequence[str], selector: str = "", *, is_required: bool = False) -> Chosen:
    """
    Read the arguments of a command: names, ``crd/NAME`` or ``crd NAME``, or a selector.

    Args:
        is_required: Whether it must not mean all definitions.

    Raises:
        UsageError: There are names and a selector, or neither where one is required.
    """
    if len(names) > 1 and _KIND_ALONE.fullmatch(names[0]):
        names = names[1:]
    if names and selector:
        raise click.UsageError("Name definitions or select them by --selector, not both.")
    if is_required and not names and not selector:
        raise click.UsageError("Missing argument 'CRD...': name definitions, or use --selector.")
    return Chosen(names=tuple(map(without_kind, names)), selector=selector)


def without_kind(text: str) -> str:
    """
    Return the name in ``crd/NAME``; any other text as it is.
    """
    match = _KIND_AND_NAME.fullmatch(text)
    return text if match is None else match[1]


def selecting(command: Command) -> Command:
    """
    Add ``-l``; pass on a ``selector``, empty if it is not given.
    """
    option = click.option(
        "-l",
        "--selector",
        default="",
        metavar="SELECTOR",
        help="Only definitions with these labels: app=db, env!=dev, 'tier in (a,b)', !old.",
    )
    return option(command)
