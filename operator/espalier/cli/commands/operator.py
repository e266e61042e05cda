"""
``espalier operator``: run the operator.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType

import click

from espalier.cli.options import Target, targeting
from espalier.handlers.logs import FORMATS, configure_logging
from espalier.handlers.settings import PREFIX, Settings, read_settings

_HELP: Mapping[str, str] = MappingProxyType(
    {
        "namespace": "The namespace of checkpoints, archives and leases.",
        "settle_seconds": "How long a definition must be unchanged before the final check.",
        "page_size": "The maximum number of objects in a page.",
        "max_in_flight": "The maximum number of rewrites at the same time in one run.",
        "max_bytes_per_second": "The maximum number of bytes that all runs write in a second.",
        "max_writes_per_second": "The maximum write rate of all runs together; 0 sets no limit.",
        "max_runs": "The maximum number of runs at the same time.",
        "lease_seconds": "How long a lease lasts after its holder has died.",
        "buckets": "The number of parts of all definitions that replicas divide among them.",
        "structural": "Whether to write NonStructuralSchema where the API server does not.",
        "structural_grace_seconds": "How long to wait for the server to write NonStructuralSchema.",
        "progress_seconds": "The minimum time between two progress reports in a condition.",
        "resync_seconds": "The time between two full reads of all definitions.",
        "resurvey_seconds": "The minimum time between two surveys of a definition's objects.",
        "survey_percent": "The maximum share of the time that its surveys take; 100 sets no limit.",
        "archive_max_bytes": "The maximum size of all archives of pruned data together.",
        "worker_processes": "The maximum number of processes that examine large objects.",
        "object_deadline_seconds": "The CPU time that one object may take, or it is not judged.",
        "probe_port": "The port of /healthz and /readyz; 0 turns them off.",
        "metrics_port": "The port of /metrics, on all addresses; 0 turns it off.",
        "page_port": "The port of the status page, on 127.0.0.1 only; 0 turns it off.",
        "page_without_access_control": "Serve the page on all addresses, to anyone.",
        "page_messages": "Show messages of conditions on the page; they name objects.",
        "report": "Whether to keep a report in the ConfigMap espalier-report.",
        "report_messages": "Include messages of conditions in it; they name objects.",
        "read_only": "Write no object and no stored version.",
        "pause": "Write nothing at all, as while the ConfigMap espalier-pause exists.",
    }
)


@click.command()
@targeting(keeps=False)
@click.option(
    "--log-format",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    envvar=f"{PREFIX}LOG_FORMAT",
    help="Plain text, or one JSON object for each line.",
)
@click.option(
    "--log-level",
    "log_levels",
    multiple=True,
    metavar="LEVEL|MODULE=LEVEL",
    envvar=f"{PREFIX}LOG_LEVEL",
    help="What to log: debug, info, warning, error or critical, of all of Espalier or of one"
    " module, such as espalier.engine=debug. May be repeated.  [default: info]",
)
@click.option("--verbose", is_flag=True, help="The same as --log-level debug.")
def operator(
    *,
    target: Target,
    log_format: str,
    log_levels: tuple[str, ...],
    verbose: bool,
    **given: object,
) -> None:
    """
    Run the operator until it receives SIGTERM or Ctrl-C.

    The operator keeps the condition NonStructuralSchema of every definition up to date, and
    surveys or migrates the objects of definitions with the label espalier.dev/mode.

    It connects to the API server of --kubeconfig, else of the variable KUBECONFIG, else of the
    pod's service account, else of ~/.kube/config. Each setting has a variable too: --settle-seconds
    is ESPALIER_SETTLE_SECONDS. A flag takes precedence over its variable. The operator stops within
    seconds; a migration continues from its checkpoint at the next start.

    \b
    Examples:
      espalier operator
      espalier operator --kubeconfig ~/.kube/config --read-only --verbose
      espalier operator --log-level warning --log-level espalier.engine=debug
      ESPALIER_NAMESPACE=espalier espalier operator --log-format json

    \b
    Exit codes:
      0  it was stopped by a signal
      2  a setting or the kubeconfig is not valid
      3  the API server could not be reached at the start
    """
    import asyncio

    settings = read_settings(os.environ, given)
    levels = ("debug", *log_levels) if verbose else log_levels
    configure_logging(sys.stderr, log_format=log_format, levels=levels)
    # Not uvloop: after a connect that was cut short it may refuse a descriptor for ever.
    asyncio.run(_operate(settings, target))


async def _operate(settings: Settings, target: Target) -> None:
    import asyncio

    from espalier.handlers.lean_kopf import without_clients

    with without_clients():
        import kopf  # noqa: F401
    from espalier.handlers.startup import run_operator

    async with target.connect() as connected:
        await run_operator(settings, connected, stop_flag=asyncio.Event())


def _option_of(name: str, default: object) -> click.Option:
    flag = "--" + name.replace("_", "-")
    if default is True:
        shown = f"{_HELP[name]}  [default: on]"
        return click.Option([flag, name], type=click.BOOL, metavar="on|off", help=shown)
    if default is False:
        # None if the flag is not given, so that the variable counts.
        return click.Option([flag, name], is_flag=True, default=None, help=_HELP[name])
    shown = f"{default:g}" if isinstance(default, float) else str(default)
    text = f"{_HELP[name]}  [default: {shown}]"
    return click.Option([flag, name], type=type(default), help=text)


operator.params.extend(_option_of(known.name, known.default) for known in fields(Settings))
