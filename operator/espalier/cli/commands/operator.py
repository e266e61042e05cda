"""
``espalier operator``: the operator, until it is told to stop.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType

import click

from espalier import cluster
from espalier.cli.event_loop import run
from espalier.handlers.logs import FORMATS, configure_logging
from espalier.handlers.settings import PREFIX, Settings, read_settings
from espalier.handlers.startup import run_operator

_HELP: Mapping[str, str] = MappingProxyType(
    {
        "namespace": "Where checkpoints, archives and leases are kept.",
        "settle_seconds": "So long is a definition unchanged before the pass that proves it.",
        "page_size": "The most objects in a page.",
        "max_in_flight": "The most rewrites at a time in one run.",
        "max_writes_per_second": "The most writes in one run; 0 for no bound of ours.",
        "max_runs": "The most runs at a time.",
        "lease_seconds": "How long the lease of a run lasts when its holder died.",
        "structural_grace_seconds": "How long the API server has to write NonStructuralSchema.",
        "progress_seconds": "The least time between two writes of mere progress.",
        "resync_seconds": "The time between two readings of all definitions.",
        "resurvey_seconds": "The time between two surveys of objects.",
        "archive_max_bytes": "The most bytes that the archives of removed data take together.",
        "probe_port": "Serves /healthz and /readyz; 0 serves nothing.",
        "read_only": "Forbid every write on objects and on stored versions.",
    }
)


@click.command()
@click.option("--kubeconfig", metavar="FILE", help="Which cluster; see below.")
@click.option("--context", metavar="NAME", help="Of the kubeconfig.  [default: its current one]")
@click.option(
    "--log-format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    envvar=f"{PREFIX}LOG_FORMAT",
    help="For people, or one JSON object a line.",
)
@click.option("--verbose", is_flag=True, help="Log each step of a run.")
def operator(
    *, kubeconfig: str | None, context: str | None, log_format: str, verbose: bool, **given: object
) -> None:
    """
    Run the operator, until it is told to stop.

    It keeps NonStructuralSchema, and works on the definitions that are labelled.

    It speaks to the API server of --kubeconfig, else of KUBECONFIG, else of the pod's service
    account, else of ~/.kube/config. Every setting may be given as a variable as well, its name in
    capitals after ESPALIER_, for instance ESPALIER_SETTLE_SECONDS; a flag wins. SIGTERM and Ctrl-C
    end it within seconds; whatever was under way goes on from its checkpoint.

    \b
    Exit codes:
      0  it was told to stop
      2  a setting or the kubeconfig makes no sense
      3  the API server could not be reached at the start
    """
    settings = read_settings(os.environ, given)
    configure_logging(sys.stderr, log_format=log_format, verbose=verbose)
    run(_operate(settings, kubeconfig, context))


async def _operate(settings: Settings, kubeconfig: str | None, context: str | None) -> None:
    async with cluster.connect(kubeconfig, context=context) as connected:
        await run_operator(settings, connected, stop_flag=asyncio.Event())


def _option_of(name: str, default: object) -> click.Option:
    flag = "--" + name.replace("_", "-")
    if isinstance(default, bool):
        # None where it is not given, so that the environment is asked.
        return click.Option([flag, name], is_flag=True, default=None, help=_HELP[name])
    shown = f"{default:g}" if isinstance(default, float) else str(default)
    text = f"{_HELP[name]}  [default: {shown}]"
    return click.Option([flag, name], type=type(default), help=text)


operator.params.extend(_option_of(known.name, known.default) for known in fields(Settings))
