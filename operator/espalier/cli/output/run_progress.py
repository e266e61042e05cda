"""
Show the progress of a migration run.
"""

from collections.abc import Sequence
from textwrap import shorten

from espalier.cli.output.terminal import Terminal
from espalier.cli.progress import Advance
from espalier.crd import Condition, Definition
from espalier.engine.ports import PassProgress

_LINE_CHARACTERS = 60
"""How much of a line a text takes at most; the bar needs the rest of eighty columns."""


class RunProgress:
    """
    Implement the port ``espalier.engine.ports.reporter.Reporter`` with a progress bar.

    No condition is written: only the operator writes conditions, and only on labelled definitions.

    Args:
        is_dry: Whether the writes are tried and not kept. The run's own words claim more.
    """

    def __init__(self, advance: Advance, terminal: Terminal, *, is_dry: bool = False) -> None:
        self._advance = advance
        self._terminal = terminal
        self._is_dry = is_dry
        self._last_message = ""
        self._done = 0

    async def report(
        self,
        definition: Definition,
        conditions: Sequence[Condition],
        progress: PassProgress | None = None,
    ) -> None:
        """
        Move the bar; with ``-v``, print each new message.
        """
        current = conditions[0]
        name = f"{definition.name}, dry run" if self._is_dry else definition.name
        if progress is None:
            said = current.reason if self._is_dry or current.status == "True" else current.message
            room = max(_LINE_CHARACTERS - len(name) - 2, len(current.reason))
            self._advance(self._done, text=f"{name}: {shorten(said, room, placeholder=' ...')}")
        else:
            self._done = progress.done
            text = f"{name}: {_progress_text(progress)}"
            self._advance(progress.done, total=progress.total, text=text)
        if self._terminal.verbosity and current.message != self._last_message:
            self._terminal.print_notice(f"{definition.name}: {current.reason}: {current.message}")
        self._last_message = current.message


def _progress_text(progress: PassProgress) -> str:
    if progress.objects_per_second is None:
        return str(progress)
    return f"{progress}, {progress.objects_per_second:.0f}/s"
