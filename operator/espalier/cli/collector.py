"""
How often Python searches for cycles while a command works on files.
"""

import gc

_OBJECTS = 200_000


def collect_seldom() -> None:
    """
    Let Python search for cycles less often, until the process ends.

    Schemas and manifests are large and have no cycles; with Python's default threshold, the search
    takes a twentieth of the time, and frees next to nothing.
    """
    gc.set_threshold(_OBJECTS)
