"""
The API server's own packages, asked over a pipe: a JSON line for a JSON line.
"""

import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

from espalier.paths import JSON

SOURCE = Path(__file__).parent / "oracle"


def cache_folder() -> Path:
    """
    Name the folder for what is built and can be built again.
    """
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "espalier" / "oracle"


def has_go() -> bool:
    """
    Tell whether the oracle can be built here.
    """
    return shutil.which("go") is not None


class Oracle:
    """
    The running oracle, a context manager.
    """

    def __init__(self) -> None:
        binary = cache_folder() / "oracle"
        binary.parent.mkdir(parents=True, exist_ok=True)
        # Go's own cache makes this a matter of a second when nothing changed.
        subprocess.run(  # noqa: S603 - our own source, by the toolchain of whoever runs this
            ["go", "build", "-trimpath", "-buildvcs=false", "-o", str(binary), "."],  # noqa: S607
            cwd=SOURCE,
            env={**os.environ, "CGO_ENABLED": "0"},
            check=True,
        )
        self._process = subprocess.Popen(  # noqa: S603 - as above
            [str(binary)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.communicate()

    def ask(self, op: str, schema: JSON, value: JSON, **options: JSON) -> dict[str, JSON]:
        """
        Ask one question.

        Returns:
            The members of a vector's ``expected``; ``failure`` where the oracle itself failed.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise BrokenPipeError
        question = {"op": op, "schema": schema, "input": value, "options": options}
        stdin.write(orjson.dumps(question) + b"\n")
        stdin.flush()
        answer: dict[str, JSON] = orjson.loads(stdout.readline())
        return answer
