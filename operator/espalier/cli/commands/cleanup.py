"""
``espalier cleanup``: remove Espalier's labels, annotations and conditions.
"""

import click

from espalier.cli.options import Target, chosen, reporting, selecting, targeting
from espalier.cli.output.formats import TABULAR
from espalier.cli.output.terminal import Terminal


@click.command()
@click.argument("names", nargs=-1, metavar="[CRD...]")
@click.option("--dry-run", is_flag=True, help="List what would be removed; remove nothing.")
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--record",
    "is_record",
    is_flag=True,
    help="Only give up the record of the named definitions; see above.",
)
@click.option(
    "--data",
    "is_data",
    is_flag=True,
    help="Also delete archives, checkpoints and leases: all data of all definitions.",
)
@selecting
@targeting()
@reporting(formats=TABULAR, fails=False)
def cleanup(  # noqa: PLR0913 - one argument an option
    *,
    terminal: Terminal,
    target: Target,
    names: tuple[str, ...],
    selector: str,
    dry_run: bool,
    is_confirmed: bool,
    is_record: bool,
    is_data: bool,
) -> None:
    """
    Remove Espalier's labels, annotations and conditions.

    Use this to uninstall Espalier. It reads the named definitions, or all of them, and all of their
    objects, lists what it has found, and asks for confirmation. Stop the operator first; otherwise
    it writes its conditions again. Data in the operator's namespace is kept: export the archive,
    then delete it with --data, which does so only after all the rest was removed.

    The condition espalier.dev/Record stays while objects would lose data. --record gives the record
    up, and nothing else: if it is gone, damaged, or another operator's. The next run then leaves
    every object alone of which it cannot prove that nothing would be lost.

    \b
    Examples:
      espalier cleanup --dry-run
      espalier archive export ./archive && espalier cleanup --yes
      espalier cleanup widgets.example.com
      espalier cleanup --record widgets.example.com
      espalier cleanup --data --yes

    \b
    Exit codes:
      0  everything was removed, or there was nothing to remove
      2  the command line or the kubeconfig is not valid
      3  the cluster could not be read
      4  not everything was removed, or it was not confirmed
    """
    from espalier.cli.operations.cleanup import clean

    result = clean(
        terminal,
        target,
        chosen(names, selector),
        is_record=is_record,
        is_data=is_data,
        dry_run=dry_run,
        is_confirmed=is_confirmed,
    )
    terminal.finish(result)
