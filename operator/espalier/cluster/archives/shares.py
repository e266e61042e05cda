"""
How much of an archive one holder may use: a definition of the cap, a namespace of its definition.

The cap is divided into ``SHARES`` equal shares. Two limits apply to what a holder has after a page:

- Beyond one share, a holder may use only what is free after one share is reserved for each of
  ``HOLDERS - 1`` others: the rest of the share of each present holder, and a whole share for each
  possible further holder. So any ``HOLDERS`` holders get a share each, in any order.
- A holder may never have more than what remains free. So there is always room for the next holder,
  even if there are many.

A single holder can therefore use half of the cap.
"""

from collections.abc import Hashable, Mapping
from typing import TypeVar

SHARES = 16
"""The number of shares of the cap."""

HOLDERS = 8
"""The number of holders with a guaranteed share; any holder may use the other shares."""


_Holder = TypeVar("_Holder", bound=Hashable)


def room(cap_bytes: int, held: Mapping[_Holder, int], holder: _Holder) -> int:
    """
    Return the number of bytes that a holder may add.

    Args:
        cap_bytes: The limit for all holders together.
        held: The bytes that each holder has now.

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
