"""
The served resources: built-in ones, and those of established definitions.
"""

import functools
from collections.abc import Iterator, Sequence

from espalier.crd import Definition, Version, read_definition
from espalier.errors import DefinitionError
from espalier.sandbox.codecs import BuiltinCodec, Codec, CustomCodec, versions_of
from espalier.sandbox.kinds import BUILTINS, CRDS, Kind
from espalier.sandbox.store import Store, Stored
from espalier.sandbox.wire import Object, RequestRefusal

_CUSTOM_VERBS = (
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
)


class CodecCatalogue:
    """
    Find codecs by group, version and plural.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._builtins: dict[tuple[str, str, str], Codec] = {
            (kind.group, kind.version, kind.plural): BuiltinCodec(kind) for kind in BUILTINS
        }
        self.definitions = self._builtins[CRDS.group, CRDS.version, CRDS.plural]
        self._read_cached = functools.lru_cache(maxsize=512)(self._read)
        self._kinds: dict[str, tuple[Stored, Sequence[Kind]]] = {}

    def find(self, group: str, version: str, plural: str) -> Codec | None:
        """
        Return the codec of a resource; None if the resource is not served.
        """
        builtin = self._builtins.get((group, version, plural))
        if builtin is not None:
            return builtin
        stored = self._store.get(CRDS.key("", f"{plural}.{group}"))
        return None if stored is None else self._read_cached(stored).get(version)

    def kinds(self) -> Iterator[Kind]:
        """
        Yield all served kinds: built-in ones, then those of definitions by name.
        """
        for codec in self._builtins.values():
            yield codec.kind
        for stored in self._store.scan(CRDS.prefix):
            yield from self._kinds_of(stored)

    def definition(self, name: str) -> Object | None:
        """
        Return a definition; None if there is none.
        """
        stored = self._store.get(CRDS.key("", name))
        return None if stored is None else self.definitions.read(stored)

    def _kinds_of(self, stored: Stored) -> Sequence[Kind]:
        # With thousands of definitions, discovery must not compile each of their schemas.
        known = self._kinds.get(stored.key)
        if known is None or known[0] != stored:
            found = self._established(stored)
            kinds = (
                [] if found is None else [_kind(*found, version) for version in _served(found[1])]
            )
            known = self._kinds[stored.key] = (stored, kinds)
        return known[1]

    def _read(self, stored: Stored) -> dict[str, Codec]:
        found = self._established(stored)
        if found is None:
            return {}
        obj, definition = found
        versions = versions_of(definition)
        return {
            version.name: CustomCodec(_kind(obj, definition, version), definition, versions)
            for version in _served(definition)
        }

    def _established(self, stored: Stored) -> tuple[Object, Definition] | None:
        try:
            obj = self.definitions.read(stored)
            definition = read_definition(obj)
        except (RequestRefusal, DefinitionError):
            return None
        return (obj, definition) if definition.established else None


def _served(definition: Definition) -> list[Version]:
    return [version for version in definition.versions if version.served]


def _kind(obj: Object, definition: Definition, version: Version) -> Kind:
    names = obj["spec"]["names"]
    return Kind(
        group=definition.group,
        version=version.name,
        plural=definition.plural,
        singular=names["singular"],
        kind=definition.kind,
        list_kind=names["listKind"],
        namespaced=definition.namespaced,
        has_status=version.has_status,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=_CUSTOM_VERBS,
        typed=False,
    )
