"""
Child processes that do not outlive their parent, with their output in files.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


class Child:
    """
    One running process, in a session of its own so that Ctrl-C reaches only its parent.

    On Linux the kernel kills it when its parent dies, however that comes about.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        log: Path,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=None if environment is None else dict(environment),
                start_new_session=True,
                preexec_fn=_die_with_the_parent(os.getpid()),  # noqa: PLW1509  # no threads yet
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """
        The exit code, negative for a signal; None while the process runs.
        """
        return self._process.poll()

    def tail(self, lines: int = 30) -> str:
        """
        Read the last lines of the output.
        """
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def pause(self) -> None:
        """
        Stop the process where it is, by SIGSTOP.
        """
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """
        Let a paused process go on.
        """
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """
        End the process at once, by SIGKILL.
        """
        self._process.kill()
        self._process.wait()

    def stop(self, *, grace_seconds: float = 3.0) -> int:
        """
        End the process by SIGTERM, and by SIGKILL if it is still there afterwards.

        Returns:
            The exit code, negative for a signal.
        """
        self._process.terminate()
        self._process.send_signal(signal.SIGCONT)
        try:
            return self._process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def _die_with_the_parent(parent: int) -> Callable[[], None] | None:
    if _LIBC is None:
        return None
    libc = _LIBC

    def ask_the_kernel() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the call
            os._exit(1)

    return ask_the_kernel
