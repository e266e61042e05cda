"""
Lists of objects at one version, of a namespace or of all.
"""

from dataclasses import dataclass

from espalier.engine.ports import Endpoint, MetadataPage, ObjectPage
from espalier.engine.ports.objects import Objects


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataListing:
    """
    Lists metadata only; see ``espalier.engine.listing.pages.Listing``.
    """

    objects: Objects
    resource: Endpoint
    page_size: int
    namespace: str = ""

    async def fetch(self, token: str | None, *, page_size: int) -> MetadataPage:
        """
        List one page by its token.
        """
        return await self.objects.list_metadata(
            self.resource, page_size=page_size, continue_token=token, namespace=self.namespace
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectListing:
    """
    Lists whole objects; see ``espalier.engine.listing.pages.Listing``.
    """

    objects: Objects
    resource: Endpoint
    page_size: int
    namespace: str = ""

    async def fetch(self, token: str | None, *, page_size: int) -> ObjectPage:
        """
        List one page by its token.
        """
        return await self.objects.list_objects(
            self.resource, page_size=page_size, continue_token=token, namespace=self.namespace
        )
