"""
What the rewrite of one object takes from what a served version shows of it: exactly, by reading.

The object is read at the storage version and at the other one. What the server would show at the
other one after the rewrite is made of the first: pruned by the other version's schema, with its
defaults filled in. What is shown today and not then is lost.
"""

from collections.abc import Mapping, Sequence

from espalier.crd import Definition
from espalier.crd.structural import structural_of
from espalier.engine.conversion.comparison import lost_paths
from espalier.engine.ports import Endpoint, StoredMetadata
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.records import identity_of, resource_of
from espalier.engine.status.path_counts import general
from espalier.errors import ConflictError, MalformedValueError
from espalier.paths import JSON
from espalier.schema import Normalizer, Profile, compile_normalizer


class ExactComparison:
    """
    Compares the objects of a definition whose versions are converted by strategy ``None``.
    """

    def __init__(self, definition: Definition, objects: Objects) -> None:
        self._definition = definition
        self._objects = objects
        self._storage = resource_of(definition, definition.storage)
        self._normalizers: dict[str, Normalizer] = {}

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
            items.update(name + _dotted(path) for path in self._lost(name, shown, kept))
        return frozenset(items)

    async def _read(self, resource: Endpoint, metadata: StoredMetadata) -> dict[str, JSON]:
        obj = await self._objects.get_object(resource, metadata.key)
        if identity_of(obj) != (metadata.uid, metadata.resource_version):
            raise ConflictError(
                verb="get",
                resource=f"{resource} {metadata.key}",
                status=409,
                reason="Conflict",
                detail="the object was written meanwhile",
            )
        return obj

    def _lost(self, name: str, shown: Mapping[str, JSON], kept: Mapping[str, JSON]) -> list[str]:
        normalizer = self._normalizers.get(name)
        if normalizer is None:
            structural = structural_of(self._definition.version(name))
            normalizer = compile_normalizer(structural, profile=Profile.APISERVER)
            self._normalizers[name] = normalizer
        as_before = {**kept, "apiVersion": shown.get("apiVersion")}
        try:
            after = normalizer(as_before).value
        except MalformedValueError:
            after = as_before
        left = after if isinstance(after, dict) else {}
        return sorted(map(general, lost_paths(dict(shown), left)))


def _dotted(path: str) -> str:
    return path if path.startswith("[") else f".{path}"
