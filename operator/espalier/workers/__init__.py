"""
Worker processes: compute what takes long on one object, with a deadline, outside of the event loop.

``espalier.workers.pool`` implements the port ``espalier.engine.ports.workers``;
``espalier.workers.child`` is the program of a worker. A worker is a new process with one socket, so
it inherits neither threads, signal handlers nor event loops, and needs no semaphores and no files.
"""

DEFAULT_PROCESSES = 2
DEFAULT_DEADLINE_SECONDS = 5.0
