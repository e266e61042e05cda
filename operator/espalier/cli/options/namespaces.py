"""
The names of namespaces in options.
"""

import re
from collections.abc import Sequence

import click

from espalier.cli.options.decoration import Decorator

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


def namespaced(
    what: str = "Only objects in this namespace; may be given more than once.",
) -> Decorator:
    """
    Add the option for the names of namespaces.

    Args:
        what: Its help.
    """
    return click.option(
        "-n",
        "--namespace",
        "namespaces",
        multiple=True,
        metavar="NAME",
        callback=namespace_names,
        help=what,
    )


allow_missing = click.option(
    "--allow-missing", is_flag=True, help="Take a namespace that does not exist for an empty one."
)
everywhere = click.option(
    "-A", "--all-namespaces", is_flag=True, help="Objects in all namespaces; this is the default."
)


def chosen_namespaces(namespaces: Sequence[str], *, all_namespaces: bool) -> Sequence[str]:
    """
    Return the namespaces that the options choose; none for all.

    Raises:
        UsageError: One namespace and all of them were asked for.
    """
    if namespaces and all_namespaces:
        raise click.UsageError("--namespace and --all-namespaces: choose one.")
    return namespaces
