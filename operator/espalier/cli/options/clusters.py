"""
The options for the cluster that a command works on.
"""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from espalier.cli.options.decoration import Command, Decorator, with_options
from espalier.names import ENVIRONMENT_PREFIX, OPERATOR_NAMESPACE

if TYPE_CHECKING:
    from espalier.crd import Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """
    The cluster that a command works on, and the namespace in which Espalier keeps its data.
    """

    kubeconfig: str | None
    context: str | None
    operator_namespace: str = OPERATOR_NAMESPACE


def operator_homes(_definition: "Definition") -> tuple[str, ...]:
    """
    Return the namespaces in which an operator may run, besides the given one.
    """
    return (OPERATOR_NAMESPACE,)


def targeting(*, keeps: bool = True, also: str = "") -> Decorator:
    """
    Add ``--kubeconfig``, ``--context`` and ``--operator-namespace``; pass on a ``target``.

    Args:
        keeps: Whether the command uses the data in the operator's namespace.
        also: A second name for ``--operator-namespace``.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(**given: object) -> None:
            texts = {
                name: str(given.pop(name)) if given.get(name) is not None else given.pop(name, None)
                for name in ("kubeconfig", "context", "operator_namespace")
                if name in given
            }
            target = Target(**texts)  # type: ignore[arg-type]  # texts, or None where allowed
            command(target=target, **given)

        added = [
            click.option(
                "--kubeconfig", metavar="FILE", help="The kubeconfig file, as for kubectl."
            ),
            click.option(
                "--context", metavar="NAME", help="The context to use.  [default: the current one]"
            ),
        ]
        if keeps:
            added.append(
                click.option(
                    "--operator-namespace",
                    *([also] if also else []),
                    "operator_namespace",
                    metavar="NAME",
                    default=OPERATOR_NAMESPACE,
                    show_default=True,
                    envvar=f"{ENVIRONMENT_PREFIX}NAMESPACE",
                    help="The namespace of checkpoints, archives and leases.",
                )
            )
        return with_options(wrapped, added)

    return decorate
