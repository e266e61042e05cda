"""
How large tests are, and how long they wait: as CI runs them, or as ``make e2e-large`` does.
"""

import os
from typing import Final

IS_LARGE: Final = os.environ.get("ESPALIER_E2E_SIZE") == "large"
"""Whether time does not matter."""


def sized(in_ci: int, large: int) -> int:
    """
    Return the size for this run.
    """
    return large if IS_LARGE else in_ci
