"""
The options for the cluster that a command works on.
"""

import functools
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from espalier.cli.options.decoration import Command, Decorator, with_options
from espalier.cli.options.durations import Seconds
from espalier.cli.output.console import VERBOSITY
from espalier.names import ENVIRONMENT_PREFIX, OPERATOR_NAMESPACE
from espalier.workers import DEFAULT_DEADLINE_SECONDS, DEFAULT_PROCESSES

if TYPE_CHECKING:
    from espalier.cluster import Cluster
    from espalier.crd import Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """
    The cluster that a command works on, and the namespace in which Espalier keeps its data.

    Attributes:
        user: The user to act as; empty for oneself.
        groups: The groups to act as.
        uid: The UID to act as.
        request_seconds: The time limit of a request; None for the default one.
        worker_processes: How many processes examine large objects.
        object_deadline_seconds: How long each object may take there.
    """

    kubeconfig: str | None = None
    context: str | None = None
    user: str | None = None
    groups: tuple[str, ...] = ()
    uid: str | None = None
    request_seconds: float | None = None
    operator_namespace: str = OPERATOR_NAMESPACE
    worker_processes: int = DEFAULT_PROCESSES
    object_deadline_seconds: float = DEFAULT_DEADLINE_SECONDS

    def connect(self, *, dry_run: bool = False) -> "AbstractAsyncContextManager[Cluster]":
        """
        Connect to the cluster.

        Args:
            dry_run: Whether the server only tries each write, and keeps none.

        Raises:
            ConfigurationError: There is no usable kubeconfig or credential.
        """
        from espalier import cluster

        _start_log()
        return cluster.connect(
            self.kubeconfig,
            context=self.context,
            dry_run=dry_run,
            impersonation=cluster.Impersonation(
                user=self.user or "", uid=self.uid or "", groups=self.groups
            ),
            request_seconds=self.request_seconds or None,
        )


def _start_log() -> None:
    # Commands without the option -v have no such log; the operator sets up its own.
    context = click.get_current_context(silent=True)
    verbosity = None if context is None else context.find_root().meta.get(VERBOSITY)
    if verbosity is not None:
        from espalier.cli.options.log import start_log

        start_log(verbosity)


def operator_homes(_definition: "Definition") -> tuple[str, ...]:
    """
    Return the namespaces in which an operator may run, besides the given one.
    """
    return (OPERATOR_NAMESPACE,)


def targeting(*, keeps: bool = True, examines: bool = False) -> Decorator:
    """
    Add kubectl's options for the cluster, and ``--operator-namespace``; pass on a ``target``.

    Args:
        keeps: Whether the command uses the data in the operator's namespace.
        examines: Whether it examines objects: adds ``--worker-processes`` and
            ``--object-deadline-seconds``.
    """
    options = {
        **_CONNECTION,
        **(_DATA if keeps else {}),
        **(_LIMITS if examines else {}),
    }

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(**given: object) -> None:
            chosen = {name: given.pop(name) for name in options}
            target = Target(**chosen)  # type: ignore[arg-type]  # as the options have them
            command(target=target, **given)

        return with_options(wrapped, list(options.values()))

    return decorate


_CONNECTION: Mapping[str, Decorator] = MappingProxyType(
    {
        "kubeconfig": click.option(
            "--kubeconfig", metavar="FILE", help="The kubeconfig file, as for kubectl."
        ),
        "context": click.option(
            "--context", metavar="NAME", help="The context to use.  [default: the current one]"
        ),
        "user": click.option("--as", "user", metavar="USER", help="The user to act as."),
        "groups": click.option(
            "--as-group",
            "groups",
            multiple=True,
            metavar="GROUP",
            help="A group to act as; may be given more than once.",
        ),
        "uid": click.option("--as-uid", "uid", metavar="UID", help="The UID to act as."),
        "request_seconds": click.option(
            "--request-timeout",
            "request_seconds",
            type=Seconds(),
            metavar="DURATION",
            help="The time limit of each request: 30s, 2m; 0 for the default of 75s.",
        ),
    }
)
_DATA: Mapping[str, Decorator] = MappingProxyType(
    {
        "operator_namespace": click.option(
            "--operator-namespace",
            "operator_namespace",
            metavar="NAME",
            default=OPERATOR_NAMESPACE,
            show_default=True,
            envvar=f"{ENVIRONMENT_PREFIX}NAMESPACE",
            help="The namespace of checkpoints, archives and leases.",
        )
    }
)
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
