"""
The options for commands that read several clusters.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import click

from espalier.cli.options.clusters import Target
from espalier.cli.options.decoration import Command, with_options
from espalier.cli.options.durations import Seconds

_AT_A_TIME = 8
_CLUSTER_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """
    Which clusters a command reads, instead of one.

    Attributes:
        patterns: Names of contexts, in which ``*`` stands for anything.
        every: Whether all contexts of the kubeconfig are meant.
        at_a_time: How many clusters are read at the same time.
        seconds: How long each of them may take; 0 for any time.
    """

    patterns: tuple[str, ...] = ()
    every: bool = False
    at_a_time: int = _AT_A_TIME
    seconds: float = _CLUSTER_SECONDS

    @property
    def is_asked(self) -> bool:
        """
        Whether there are several clusters to read.
        """
        return self.every or bool(self.patterns)

    def targets(self, target: Target) -> Mapping[str, Target]:
        """
        Return the clusters by the names of their contexts.

        Raises:
            UsageError: A context does not exist, or one is named in another way too.
            ConfigurationError: There is no usable kubeconfig.
        """
        from espalier.cluster import list_contexts

        if target.context is not None:
            raise click.UsageError("Use --context for one cluster, or --contexts for several.")
        if self.every and self.patterns:
            raise click.UsageError("Use --contexts or --all-contexts, not both.")
        known = list_contexts(target.kubeconfig)
        if not known:
            raise click.UsageError("The kubeconfig has no contexts.")
        chosen: dict[str, Target] = {}
        for pattern in self.patterns or ("*",):
            # A name that exists is that name, whatever is in it.
            found = [pattern] if pattern in known else [n for n in known if fnmatchcase(n, pattern)]
            if not found:
                raise click.UsageError(
                    f"There is no context {pattern}; there are: {', '.join(known)}."
                )
            chosen |= {name: replace(target, context=name) for name in found}
        return chosen


def fleeting(command: Command) -> Command:
    """
    Add ``--contexts``, ``--all-contexts``, ``--parallel`` and ``--cluster-timeout``.
    """

    @functools.wraps(command)
    def wrapped(**given: object) -> None:
        texts = given.pop("contexts")
        parts = (part for text in texts for part in text.split(","))  # type: ignore[attr-defined]
        seconds = given.pop("cluster_seconds")
        fleet = Fleet(
            patterns=tuple(dict.fromkeys(part.strip() for part in parts if part.strip())),
            every=bool(given.pop("all_contexts")),
            at_a_time=int(str(given.pop("parallel"))),
            seconds=float(str(seconds)),
        )
        command(fleet=fleet, **given)

    return with_options(
        wrapped,
        [
            click.option(
                "--contexts",
                multiple=True,
                metavar="NAME,...",
                help="Read these clusters: contexts of the kubeconfig, such as a,b or 'prod-*'; may"
                " be given more than once.",
            ),
            click.option("--all-contexts", is_flag=True, help="Read the clusters of all contexts."),
            click.option(
                "--parallel",
                type=click.IntRange(1, 64),
                default=_AT_A_TIME,
                show_default=True,
                help="How many clusters to read at the same time.",
            ),
            click.option(
                "--cluster-timeout",
                "cluster_seconds",
                type=Seconds(),
                default="60s",
                show_default=True,
                metavar="DURATION",
                help="How long each of several clusters may take; 0 sets no limit.",
            ),
        ],
    )
