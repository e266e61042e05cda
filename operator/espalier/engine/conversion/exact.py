"""
What the rewrite of one object takes from what a served version shows of it: exactly, by reading.

The object is read at the storage version and at the other one. What the server would show at the
other one after the rewrite is made of the first: pruned by the other version's schema, with its
defaults filled in. What is shown today and not then is lost.
"""

from collections.abc import Sequence

from espalier.crd import Definition
from espalier.engine.conversion.lost_paths import PathComparer, rewrite_comparison_of
from espalier.engine.policy.evidence import MORE_ITEMS, TAKES_LONG
from espalier.engine.ports import Endpoint, NotComputed, StoredMetadata, Workers
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import identity_of, resource_of
from espalier.errors import ConflictError
from espalier.paths import JSON


class ExactComparison:
    """
    Compares the objects of a definition whose versions are converted by strategy ``None``.

    Args:
        workers: Compare large objects; None to do all in the event loop.
    """

    def __init__(
        self, definition: Definition, objects: Objects, *, workers: Workers | None = None
    ) -> None:
        self._workers = workers
        self._definition = definition
        self._objects = objects
        self._storage = resource_of(definition, definition.storage)
        self._comparers: dict[str, PathComparer] = {}

    async def items(self, metadata: StoredMetadata, versions: Sequence[str]) -> frozenset[str]:
        """
        Name what a rewrite would take from what each version shows: ``v1alpha1.spec.color``.

        Raises:
            ConflictError: The object has changed since it was read.
            ClusterError: It cannot be read at a version.
        """
        kept = await self._read(self._storage, metadata)
        items: set[str] = set()
        for name in versions:
            shown = await self._read(
                resource_of(self._definition, self._definition.version(name)), metadata
            )
            lost = await self._comparer(name).lost(shown, kept)
            if isinstance(lost, NotComputed):
                items.add(TAKES_LONG)
                continue
            items.update(name + _dotted(path) for path in lost.paths)
            items.update([MORE_ITEMS] * lost.is_cut)
        return frozenset(items)

    async def _read(self, resource: Endpoint, metadata: StoredMetadata) -> dict[str, JSON]:
        obj = await self._objects.get_object(resource, metadata.key)
        check_unchanged(obj, metadata, resource)
        return obj

    def _comparer(self, name: str) -> PathComparer:
        comparer = self._comparers.get(name)
        if comparer is None:
            computation = rewrite_comparison_of(self._definition.version(name))
            comparer = self._comparers[name] = PathComparer(computation, self._workers)
        return comparer


def check_unchanged(obj: dict[str, JSON], metadata: StoredMetadata, resource: Endpoint) -> None:
    """
    Check that an object was read in the state that is judged.

    Raises:
        ConflictError: It has changed since.
    """
    if identity_of(obj) != (metadata.uid, metadata.resource_version):
        raise ConflictError(
            verb="get",
            resource=f"{resource} {metadata.key}",
            status=409,
            reason="Conflict",
            detail="the object was written meanwhile",
        )


def _dotted(path: str) -> str:
    return path if path.startswith("[") else f".{path}"
