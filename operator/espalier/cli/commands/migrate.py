"""
``espalier migrate``: rewrite stored objects from the command line, without the operator.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from espalier.cli.options import Target, chosen, namespaced, reporting, selecting, targeting
from espalier.cli.output.terminal import Terminal
from espalier.handlers.settings import Settings

if TYPE_CHECKING:
    from espalier.engine.ports import Part


def _check_digest(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    from espalier.engine import is_digest

    if value is not None and not is_digest(value):
        raise click.BadParameter(
            "give the digest that the message WouldLoseData shows, of 16 hexadecimal digits"
        )
    return value


def _check_part(_: click.Context, __: click.Parameter, value: str | None) -> "Part | None":
    from espalier.engine.ports import MAX_PARTS, read_part

    if value is None:
        return None
    try:
        return read_part(value)
    except ValueError:
        raise click.BadParameter(
            f"give the number of the part, from 0 on, and how many there are, at most {MAX_PARTS}:"
            " 0/8"
        ) from None


@click.command()
@click.argument("names", nargs=-1, metavar="CRD...")
@selecting
@click.option(
    "--dry-run",
    is_flag=True,
    help="Report what would stop the migration: the server tries each write, and keeps none.",
)
@click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--again",
    is_flag=True,
    help="Rewrite also what is proved already, as after the rotation of an encryption key.",
)
@click.option(
    "--only-failed",
    is_flag=True,
    help="Rewrite only objects that failed in the last run; storedVersions stays.",
)
@click.option(
    "--part",
    metavar="I/N",
    callback=_check_part,
    help="Rewrite only part I of N, from 0 on; storedVersions stays.",
)
@click.option(
    "--finish",
    is_flag=True,
    help="Once all parts are done: check all objects, and trim storedVersions.",
)
@click.option(
    "--accept-loss",
    metavar="DIGEST",
    callback=_check_digest,
    help="Consent to the loss that was shown under this digest.",
)
@namespaced("Rewrite only objects in this namespace; storedVersions stays.")
@click.option(
    "--settle-seconds",
    type=click.FloatRange(0, 3600),
    default=Settings().settle_seconds,
    show_default=True,
    help="How long a definition must be unchanged before the final check.",
)
@click.option(
    "--archive-folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Archive pruned data in this folder, not in Secrets of the cluster.",
)
@click.option(
    "--archive-max-bytes",
    type=click.IntRange(1024, 1024**3),
    default=Settings().archive_max_bytes,
    show_default=True,
    help="The maximum size of all archives of pruned data together.",
)
@click.option(
    "--max-bytes-per-second",
    type=click.IntRange(1024, 1024**3),
    default=Settings().max_bytes_per_second,
    show_default=True,
    help="The maximum number of bytes written in a second, for all CRDs together.",
)
@click.option(
    "--max-writes-per-second",
    type=click.FloatRange(0, 100_000),
    default=Settings().max_writes_per_second,
    show_default=True,
    help="The maximum write rate; 0 sets no limit.",
)
@click.option(
    "--max-in-flight",
    type=click.IntRange(1, 256),
    default=Settings().max_in_flight,
    show_default=True,
    help="The maximum number of rewrites at the same time.",
)
@targeting(examines=True)
@reporting()
def migrate(
    *,
    terminal: Terminal,
    target: Target,
    names: tuple[str, ...],
    selector: str,
    dry_run: bool,
    is_confirmed: bool,
    **arguments: Any,
) -> None:
    """
    Rewrite stored objects, check that all are current, and trim storedVersions.

    Does what the operator does for a definition with the label espalier.dev/mode=enforce, but with
    your own permissions. Every stored object is rewritten at the storage version. No label and no
    condition is written. If stored data would be lost, the migration stops before its first write.
    With --dry-run the API server tries each write and keeps none: what that reports, the migration
    does, as long as nothing changes meanwhile.

    The operator and this command use the same lease, so that only one of them works on a
    definition at a time; the command waits for a lease that a killed process has left. To stop it,
    press Ctrl-C, or change the label espalier.dev/mode. The same command continues a stopped run.
    One huge definition can be divided: run --part 0/N to --part N-1/N, as in an Indexed Job, and
    then --finish, which alone proves and trims, and does so only if all parts are done.

    \b
    Examples:
      espalier migrate widgets.example.com --dry-run
      espalier migrate widgets.example.com --only-failed --yes
      espalier migrate widgets.example.com --again
      espalier migrate -l team=web --dry-run
      espalier migrate widgets.example.com --part 0/8 --yes

    \b
    Exit codes:
      0  all objects are proved to be current, or the chosen ones are rewritten;
         with --dry-run: nothing would stop the migration
      1  with --dry-run: something would stop it; with --part: data would be lost
      2  the command line or the kubeconfig is not valid
      3  the cluster could not be read
      4  the migration stopped, or another process holds the lease, as shown;
         with --dry-run: objects could not be read, or writes could not be tried
    """
    from espalier.cli.operations.migrate import MigrateRequest
    from espalier.cli.operations.migrate import migrate as rewrite

    choice = chosen(names, selector, is_required=True)
    request = MigrateRequest(**arguments)
    result = rewrite(terminal, target, choice, request, dry_run=dry_run, is_confirmed=is_confirmed)
    terminal.finish(result)
