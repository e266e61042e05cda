"""
A worker process: it tries cases, and prints a line of JSON before and after each.

It is ended by the kernel where a case takes too long or too much memory: so it is even while native
code runs.
"""

import json
import resource
import signal
import sys
import time

from tests.fuzz.making import case
from tests.fuzz.playground import playground


def work(first: int, last: int, *, deadline_seconds: float, memory_bytes: int) -> None:
    """
    Try the cases from the first to the one before the last.

    Args:
        deadline_seconds: The CPU time of one case; more ends the process by SIGPROF.
        memory_bytes: The address space of the process.
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    with playground() as place:
        for seed in range(first, last):
            _print(seed=seed)
            made = case(seed)
            signal.setitimer(signal.ITIMER_PROF, deadline_seconds)
            began = time.process_time()
            findings = list(place.try_case(made))
            signal.setitimer(signal.ITIMER_PROF, 0)
            _print(
                seed=seed,
                objects=len(made.objects),
                seconds=time.process_time() - began,
                peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                findings=findings,
            )


def _print(**values: object) -> None:
    sys.stdout.write(f"{json.dumps(values)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    begin, end, seconds, size = map(int, sys.argv[1:])
    work(begin, end, deadline_seconds=seconds, memory_bytes=size)
