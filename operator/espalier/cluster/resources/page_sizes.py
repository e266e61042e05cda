"""
How many objects of a resource fit on a page, as learned from the pages that came.

A page is bounded by its bytes, but can only be asked for by a number of objects. Where a page was
too large, the number that fitted is kept, so that the next page is not asked for in vain again.
"""

from espalier.engine.ports import Endpoint

SHRINKING = 4


class PageSizes:
    """
    Keeps the page size of each resource whose objects are large.

    Args:
        target_bytes: What a page is to have at most, as far as the objects before it show.
    """

    def __init__(self, target_bytes: int) -> None:
        self._target_bytes = target_bytes
        self._objects: dict[Endpoint, int] = {}

    def limit(self, resource: Endpoint, page_size: int) -> int:
        """
        Return how many objects to ask for, at most ``page_size``.
        """
        return min(page_size, self._objects.get(resource, page_size))

    def too_large(self, resource: Endpoint, limit: int) -> None:
        """
        Record that a page of so many objects was too large.
        """
        self._objects[resource] = max(1, limit // SHRINKING)

    def fitted(self, resource: Endpoint, limit: int, *, objects: int, size_bytes: int) -> None:
        """
        Record a page that was read, and how many objects were asked for.

        The number shrinks at once, and grows by at most a half with each page.
        """
        if not objects:
            return
        fitting = max(1, self._target_bytes * objects // max(size_bytes, 1))
        known = self._objects.get(resource)
        if size_bytes > self._target_bytes:
            self._objects[resource] = fitting
        elif known is not None and limit >= known:
            self._objects[resource] = min(max(fitting, known), known + max(1, known // 2))
