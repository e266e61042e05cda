"""
Tries cases in worker processes, and prints what went wrong: ``make fuzz``.
"""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import click

from tests.fuzz.running import Total, parts, run_part


@click.command(context_settings={"show_default": True})
@click.option("--seed", default=0, help="The number of the first case.")
@click.option("--cases", default=10_000, help="How many definitions, each with ten objects.")
@click.option("--processes", default=2, help="How many worker processes.")
@click.option(
    "--deadline", default=30, help="The CPU seconds of a case, for all commands together."
)
@click.option("--memory", default=2048, help="The MiB of address space of a worker process.")
def fuzz(*, seed: int, cases: int, processes: int, deadline: int, memory: int) -> None:
    """
    Try hostile definitions and objects. The cases are numbers, so each can be repeated.
    """
    total, lock = Total(), threading.Lock()

    def run(part: range) -> None:
        for done in run_part(part, deadline_seconds=deadline, memory_bytes=memory * 2**20):
            with lock:
                total.add(done)
                for finding in done.findings:
                    click.echo(f"seed {done.seed}: {finding}")
                if total.cases % 500 == 0:
                    click.echo(f"{total} so far", err=True)

    with ThreadPoolExecutor(processes) as pool:
        list(pool.map(run, parts(seed, cases, processes)))
    click.echo(f"seeds {seed} to {seed + cases - 1}: {total}")
    sys.exit(1 if total.findings else 0)


if __name__ == "__main__":
    fuzz()
