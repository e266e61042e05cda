"""
Shows how a run goes.
"""

from collections.abc import Sequence
from textwrap import shorten

from espalier.cli.output.terminal import Advance, Terminal
from espalier.crd import Condition, Definition
from espalier.engine.ports.progress import PassProgress

_TEXT_CHARACTERS = 60


class OnScreen:
    """
    Implements ``espalier.engine.ports.reporter.Reporter``.

    Conditions are the operator's to write: a definition that nobody labelled gets none.
    """

    def __init__(self, advance: Advance, terminal: Terminal) -> None:
        self._advance = advance
        self._terminal = terminal
        self._told = ""
        self._done = 0

    async def report(
        self,
        definition: Definition,
        conditions: Sequence[Condition],
        progress: PassProgress | None = None,
    ) -> None:
        """
        Move the bar, and with ``-v`` tell what is new.
        """
        current = conditions[0]
        if progress is None:
            text = shorten(current.message, _TEXT_CHARACTERS, placeholder=" ...")
            self._advance(self._done, text=f"{definition.name}: {text}")
        else:
            self._done = progress.done
            text = f"{definition.name}: {_words_of(progress)}"
            self._advance(progress.done, total=progress.total, text=text)
        if self._terminal.verbosity and current.message != self._told:
            self._terminal.tell(f"{definition.name}: {current.reason}: {current.message}")
        self._told = current.message


def _words_of(progress: PassProgress) -> str:
    if progress.objects_per_second is None:
        return str(progress)
    return f"{progress}, {progress.objects_per_second:.0f}/s"
