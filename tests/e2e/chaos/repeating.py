"""
Something that is done again and again beside the test.
"""

import threading
import time


class Repeating:
    """
    A thread that takes one step after another, until it is stopped or a step fails.

    Args:
        pause_seconds: Between two steps.

    Attributes:
        turn: Held during each step; whoever holds it, no step is taken.
        failure: What ended the thread before it was stopped.
    """

    def __init__(self, *, pause_seconds: float) -> None:
        self._pause_seconds = pause_seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.turn = threading.Lock()
        self.failure: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """
        Take no more steps, and raise what has ended the thread.
        """
        self._stopping.set()
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                with self.turn:
                    self._step()
                time.sleep(self._pause_seconds)
        except BaseException as error:  # noqa: BLE001 - raised again when the thread is stopped
            self.failure = error

    def _step(self) -> None:
        raise NotImplementedError
