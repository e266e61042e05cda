"""
How much of an archive one holder may fill: a definition of the cap, a namespace of that.

The cap is cut into ``SHARES`` equal shares, and two limits hold for what a holder has after a
page:

- Beyond one share, it may take only what stays free after a share for each of ``HOLDERS - 1``
  others is set aside: the rest of their share for those that hold something, a whole one for each
  that may still come. So any ``HOLDERS`` holders have a share each, in whatever order they come.
- It may never hold more than stays free. So there is room for the next holder at any time, also
  where there are many of them.

Alone, a holder therefore has half of the cap.
"""

from collections.abc import Hashable, Mapping
from typing import TypeVar

SHARES = 16
"""In how many parts the cap is cut."""

HOLDERS = 8
"""To how many holders a share each is guaranteed; the other shares are for who needs more."""


_Holder = TypeVar("_Holder", bound=Hashable)


def room(cap_bytes: int, held: Mapping[_Holder, int], holder: _Holder) -> int:
    """
    Compute how many bytes a holder may add.

    Args:
        cap_bytes: Of all holders together.
        held: What each holds now, in bytes.

    Returns:
        0 or more.
    """
    own = held.get(holder, 0)
    free = cap_bytes - sum(held.values())
    share = cap_bytes // SHARES
    rests = sorted(max(0, share - size) for name, size in held.items() if name != holder)
    others = HOLDERS - 1
    set_aside = sum(rests[-others:]) + share * max(0, others - len(rests))
    most = (free - own) // 2
    return max(0, min(most, share - own), min(most, free - set_aside))
