"""
The command ``espalier demo``.
"""

import logging
import os
import sys
from typing import TYPE_CHECKING

import click

from espalier.errors import ConfigurationError

if TYPE_CHECKING:
    from espalier.cli.demo.director import RealCluster

ETCD_VARIABLE = "ESPALIER_DEMO_ETCD"
"""The variable with the URL of the API server's etcd; only a test control plane exposes it."""


@click.command()
@click.option("--keep", is_flag=True, help="Keep running afterwards, for kubectl, until Ctrl-C.")
@click.option("--verbose", is_flag=True, help="Print the operator's log to standard error.")
@click.option("--kubeconfig-from-env", is_flag=True, hidden=True)
def demo(*, keep: bool, verbose: bool, kubeconfig_from_env: bool) -> None:
    """
    Show Espalier at work, without a cluster.

    Starts an API server in memory and the real operator. Creates four definitions with problems
    and shows what the operator does: a version that cannot be dropped, a schema that would lose
    data, a definition from v1beta1, and a schema that is not structural. Takes about 10 seconds.

    \b
    Examples:
      espalier demo
      espalier demo --keep      look at the result with kubectl afterwards

    \b
    Exit codes:
      0  every chapter ended as expected
      2  the command line is not valid
      3  the API server could not be reached
      4  a chapter did not end as expected
    """
    import asyncio

    from espalier.cli.demo.director import direct
    from espalier.cli.demo.screen import Screen
    from espalier.handlers.logs import configure_logging

    configure_logging(sys.stderr, log_format="text", levels=["debug"] if verbose else [])
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


def _real_cluster() -> "RealCluster":
    from espalier.cli.demo.director import RealCluster

    kubeconfig, etcd = os.environ.get("KUBECONFIG"), os.environ.get(ETCD_VARIABLE)
    if not kubeconfig or not etcd:
        raise ConfigurationError(
            f"KUBECONFIG and {ETCD_VARIABLE} must name a test control plane: use make demo-real"
        )
    return RealCluster(kubeconfig=kubeconfig, etcd=etcd)
