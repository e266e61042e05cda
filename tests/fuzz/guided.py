"""
Fuzzing that is guided by coverage: ``make fuzz-coverage``.

libFuzzer changes bytes; each decision that makes a case takes four of them. Cases that reach more
of Espalier are kept and changed again. A case that finds something ends the run, and its bytes are
in ``build/fuzz``: ``make fuzz-coverage FLAGS=build/fuzz/crash-...`` repeats it.
"""

import sys
import traceback

import atheris

with atheris.instrument_imports(include=["espalier"]):
    from tests.differential.dice import Dice
    from tests.fuzz.making import case_by
    from tests.fuzz.playground import Playground, playground

_BYTES = 4


class Bytes:
    """
    Decisions from bytes; those that come after the last byte are 0, which leads to what is simple.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def random(self) -> float:
        """
        Return a number from 0 to below 1.
        """
        taken = self._data[self._place : self._place + _BYTES].ljust(_BYTES, b"\0")
        self._place += _BYTES
        return int.from_bytes(taken) / float(256**_BYTES)


def try_bytes(place: Playground, data: bytes) -> None:
    """
    Try the case of some bytes.

    Raises:
        AssertionError: Something went wrong with it.
    """
    findings = list(place.try_case(case_by(Dice(Bytes(data)))))
    assert not findings, findings


def main() -> None:
    """
    Run libFuzzer with the arguments of the command line.
    """
    # Commands import what only they need, so that the hook must stay.
    with atheris.instrument_imports(include=["espalier"]), playground() as place:

        def try_one(data: bytes) -> None:
            try:
                try_bytes(place, data)
            except AssertionError:
                traceback.print_exc()
                raise

        atheris.Setup(sys.argv, try_one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
