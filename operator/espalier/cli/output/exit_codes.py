"""
The exit codes of the command line.
"""

import enum


class Exit(enum.IntEnum):
    """
    The exit codes.
    """

    CLEAN = 0
    """The command did its work, and there is nothing to report."""

    FINDINGS = 1
    """The command did its work, and there are findings."""

    USAGE = 2
    """The command line, a setting or the kubeconfig is not valid."""

    UNREADABLE = 3
    """The cluster or a file could not be read."""

    INCOMPLETE = 4
    """The command stopped before its work was done."""
