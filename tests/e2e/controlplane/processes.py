"""
Child processes that end with their parent and write their output to files.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

# 1 is PR_SET_PDEATHSIG. The parent may have died before the call.
_DIE_WITH_THE_PARENT = """\
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execvp(sys.argv[2], sys.argv[2:])
"""


class Child:
    """
    One running process, in a session of its own, so that Ctrl-C reaches only its parent.

    On Linux, the kernel kills it when its parent ends for any reason.
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
                [*_dying_with(os.getpid()), *(str(part) for part in command)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=None if environment is None else dict(environment),
                start_new_session=True,
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
        Return the last lines of the output.
        """
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def pause(self) -> None:
        """
        Pause the process with SIGSTOP.
        """
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """
        Continue a paused process.
        """
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """
        End the process at once with SIGKILL.
        """
        self._process.kill()
        self._process.wait()

    def terminate(self) -> None:
        """
        Send SIGTERM, and continue the process if it is paused.
        """
        self._process.terminate()
        self._process.send_signal(signal.SIGCONT)

    def stop(self, *, grace_seconds: float = 3.0) -> int:
        """
        End the process with SIGTERM, and with SIGKILL if it does not end in time.

        Returns:
            The exit code, negative for a signal.
        """
        self.terminate()
        try:
            return self._process.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def _dying_with(parent: int) -> list[str]:
    """
    Return what runs a command so that the kernel kills it when its parent dies.

    An interpreter that becomes the command, since code between fork and exec is not safe in a
    process that has threads.
    """
    if sys.platform != "linux":
        return []
    return [sys.executable, "-I", "-S", "-c", _DIE_WITH_THE_PARENT, str(parent)]
