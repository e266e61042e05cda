"""
The oracle: the API server's own packages, with one JSON line for each question and answer.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Self

import orjson

from espalier.paths import JSON

ReadLine = Callable[[], bytes]

SOURCE = Path(__file__).parent / "oracle"


def cache_folder() -> Path:
    """
    Return the folder for build results.
    """
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "espalier" / "oracle"


def has_go() -> bool:
    """
    Report whether the oracle can be built on this machine.
    """
    return shutil.which("go") is not None


def build() -> Path:
    """
    Build the oracle if necessary, and return the path of the program.
    """
    binary = cache_folder() / "oracle"
    binary.parent.mkdir(parents=True, exist_ok=True)
    # With Go's cache this takes a second if nothing has changed.
    subprocess.run(  # noqa: S603 - our own source, with the user's toolchain
        ["go", "build", "-trimpath", "-buildvcs=false", "-o", str(binary), "."],  # noqa: S607
        cwd=SOURCE,
        env={**os.environ, "CGO_ENABLED": "0"},
        check=True,
    )
    return binary


class Oracle:
    """
    The running oracle, a context manager.
    """

    def __init__(self, binary: Path | None = None) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - what was built above
            [str(binary or build())], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """
        End the oracle.
        """
        self._process.terminate()
        self._process.communicate()

    def ask(self, op: str, schema: JSON, value: JSON, **options: JSON) -> dict[str, JSON]:
        """
        Ask one question.

        Returns:
            The members of a vector's ``expected``; ``failure`` if the oracle itself failed.
        """
        question: JSON = {"op": op, "schema": schema, "input": value, "options": options}
        answer: dict[str, JSON] = orjson.loads(self.begin([question]).lines()[0])
        return answer

    def begin(self, questions: Sequence[JSON]) -> "Answering":
        """
        Send many questions at once, and return while they are answered.

        Wait for all answers before the next question is sent.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise BrokenPipeError
        answering = Answering(len(questions), stdout.readline)
        stdin.write(b"\n".join(map(orjson.dumps, questions)) + b"\n")
        stdin.flush()
        return answering


class Answering:
    """
    Read the answers in the background, since the buffer of a pipe is small.
    """

    def __init__(self, count: int, read: ReadLine) -> None:
        self._lines: list[bytes] = []
        self._thread = Thread(target=self._read, args=(count, read), daemon=True)
        self._thread.start()

    def lines(self) -> list[bytes]:
        """
        Wait for all answers, in the order of the questions.
        """
        self._thread.join()
        return self._lines

    def _read(self, count: int, read: ReadLine) -> None:
        self._lines += [read() for _ in range(count)]
