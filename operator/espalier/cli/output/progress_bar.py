"""
A progress bar on standard error.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from espalier.cli.output.console import printable
from espalier.cli.progress import Advance

_BAR_DELAY_SECONDS = 0.4


@contextmanager
def progress_bar(text: str, *, total: int | None, is_colourless: bool) -> Iterator[Advance]:
    """
    Show a progress bar while the block runs.
    """
    console = Console(stderr=True, highlight=False, color_system=None if is_colourless else "auto")
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task(printable(text), total=total)
    begun = time.monotonic()

    def advance(done: int, *, total: int | None = None, text: str = "") -> None:
        described = printable(text) or None
        bar.update(task, completed=done, total=total, description=described)
        # Work that ends quickly shows no bar, so that nothing flickers.
        if time.monotonic() - begun > _BAR_DELAY_SECONDS:
            bar.start()

    try:
        yield advance
    finally:
        bar.stop()
