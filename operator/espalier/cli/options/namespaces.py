"""
The names of namespaces in options.
"""

import re

import click

_NAMESPACE = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


def namespace_names(
    _: click.Context, __: click.Parameter, value: tuple[str, ...] | str
) -> tuple[str, ...] | str:
    """
    Read the names of namespaces; as for kubectl, ``-n=NAME`` is the same as ``-n NAME``.

    Raises:
        BadParameter: It is no name of a namespace.
    """
    if not isinstance(value, tuple):
        return _namespace_name(value)
    return tuple(map(_namespace_name, value))


def _namespace_name(text: str) -> str:
    name = text.removeprefix("=")
    if _NAMESPACE.fullmatch(name) is None:
        raise click.BadParameter(f"{text!r} is no name of a namespace")
    return name
