"""
Pages of the objects of one part of a definition.

The server is asked for these objects alone. Nothing in its answer shows whether it has understood
that, so the pages are filtered here in any case.
"""

from dataclasses import replace

from espalier.engine.ports import Endpoint, HashRange, MetadataPage
from espalier.engine.ports.objects import Objects


class ShardedPages:
    """
    Lists pages as ``Objects.list_metadata`` does, without the objects of other parts.
    """

    def __init__(self, objects: Objects, shard: HashRange) -> None:
        self._objects = objects
        self._shard = shard

    async def __call__(
        self,
        resource: Endpoint,
        *,
        page_size: int,
        continue_token: str | None,
        namespace: str = "",
    ) -> MetadataPage:
        """
        List one page. How many objects of the part follow is not known.
        """
        page = await self._objects.list_metadata(
            resource,
            page_size=page_size,
            continue_token=continue_token,
            namespace=namespace,
            shard=self._shard,
        )
        objects = tuple(one for one in page.objects if self._shard.holds(one.uid))
        return replace(page, objects=objects, remaining=None)
