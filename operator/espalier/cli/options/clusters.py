"""
The options for the cluster that a command works on.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from espalier.cli.options.decoration import Command, Decorator, with_options
from espalier.names import ENVIRONMENT_PREFIX, OPERATOR_NAMESPACE
from espalier.workers import DEFAULT_DEADLINE_SECONDS, DEFAULT_PROCESSES

if TYPE_CHECKING:
    from espalier.crd import Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """
    The cluster that a command works on, and the namespace in which Espalier keeps its data.

    Attributes:
        worker_processes: How many processes examine large objects.
        object_deadline_seconds: How long each object may take there.
    """

    kubeconfig: str | None
    context: str | None
    operator_namespace: str = OPERATOR_NAMESPACE
    worker_processes: int = DEFAULT_PROCESSES
    object_deadline_seconds: float = DEFAULT_DEADLINE_SECONDS


def operator_homes(_definition: "Definition") -> tuple[str, ...]:
    """
    Return the namespaces in which an operator may run, besides the given one.
    """
    return (OPERATOR_NAMESPACE,)


def targeting(*, keeps: bool = True, also: str = "", examines: bool = False) -> Decorator:
    """
    Add ``--kubeconfig``, ``--context`` and ``--operator-namespace``; pass on a ``target``.

    Args:
        keeps: Whether the command uses the data in the operator's namespace.
        also: A second name for ``--operator-namespace``.
        examines: Whether it examines objects: adds ``--worker-processes`` and
            ``--object-deadline-seconds``.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(**given: object) -> None:
            texts = {
                name: str(given.pop(name)) if given.get(name) is not None else given.pop(name, None)
                for name in ("kubeconfig", "context", "operator_namespace")
                if name in given
            }
            limits = {name: given.pop(name) for name in _LIMITS if name in given}
            target = Target(**texts, **limits)  # type: ignore[arg-type]  # as the options have them
            command(target=target, **given)

        return with_options(wrapped, _targeting_options(keeps=keeps, also=also, examines=examines))

    return decorate


def _targeting_options(*, keeps: bool, also: str, examines: bool) -> list[Decorator]:
    added: list[Decorator] = [
        click.option("--kubeconfig", metavar="FILE", help="The kubeconfig file, as for kubectl."),
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
    if examines:
        added += _LIMITS.values()
    return added


_LIMITS: Mapping[str, Decorator] = MappingProxyType(
    {
        "worker_processes": click.option(
            "--worker-processes",
            type=click.IntRange(1, 64),
            default=DEFAULT_PROCESSES,
            show_default=True,
            help="The maximum number of processes that examine large objects.",
        ),
        "object_deadline_seconds": click.option(
            "--object-deadline-seconds",
            type=click.FloatRange(0.1, 3600),
            default=DEFAULT_DEADLINE_SECONDS,
            show_default=True,
            help="The CPU time that one object may take, or it is not judged.",
        ),
    }
)
