"""
The command ``espalier demo``.
"""

import asyncio
import logging
import os
import sys

import click

from espalier.cli.demo.director import RealCluster, direct
from espalier.cli.demo.screen import Screen
from espalier.errors import ConfigurationError
from espalier.handlers.logs import configure_logging

ETCD_VARIABLE = "ESPALIER_DEMO_ETCD"
"""The URL of the etcd behind the API server; only a control plane for tests has one to give."""


@click.command()
@click.option("--keep", is_flag=True, help="Stay up afterwards, for kubectl, until Ctrl-C.")
@click.option("--verbose", is_flag=True, help="Show the operator's own log, on standard error.")
@click.option("--kubeconfig-from-env", is_flag=True, hidden=True)
def demo(*, keep: bool, verbose: bool, kubeconfig_from_env: bool) -> None:
    """
    See Espalier at work, without a cluster.

    Starts an API server in memory and the real operator, puts four definitions into trouble, and
    shows what becomes of them: a version that cannot be dropped, a schema that would lose data, a
    definition from the days of v1beta1, a schema that is not structural. Takes some 20 seconds.

    \b
    Exit codes:
      0  everything happened as promised
      3  the API server could not be reached
      4  a chapter did not end as promised
    """
    configure_logging(sys.stderr, log_format="text", verbose=verbose)
    if not verbose:
        logging.getLogger().setLevel(logging.ERROR)
        logging.getLogger("espalier").setLevel(logging.ERROR)
        logging.getLogger("kopf").setLevel(logging.ERROR)
    real = _real_cluster() if kubeconfig_from_env else None
    try:
        asyncio.run(direct(Screen.on_stdout(), real=real, keep=keep))
    except KeyboardInterrupt:
        if not keep:
            raise
        click.echo("Ended.")


def _real_cluster() -> RealCluster:
    kubeconfig, etcd = os.environ.get("KUBECONFIG"), os.environ.get(ETCD_VARIABLE)
    if not kubeconfig or not etcd:
        raise ConfigurationError(
            f"KUBECONFIG and {ETCD_VARIABLE} must name a control plane for tests: make demo-real"
        )
    return RealCluster(kubeconfig=kubeconfig, etcd=etcd)
