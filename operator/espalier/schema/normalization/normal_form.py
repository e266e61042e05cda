"""
Bring an object into its normal form: prune, drop nulls, default, in the order of a profile.

One pass over the object does all steps. Three passes are needed only if the schema embeds resources
or has defaults within the root's own metadata: then the order of the server's steps matters.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from espalier.errors import MalformedValueError
from espalier.golang.printing import go_text
from espalier.paths import JSON, Path, render_unknown
from espalier.schema.metadata.canonical import is_canonical
from espalier.schema.metadata.decoding import Decoded, decode_metadata
from espalier.schema.model import Structural
from espalier.schema.normalization.closures import IDLE, Act, Note, includes, paths_of
from espalier.schema.normalization.compiler import OWN_FIELDS, Compiler, Steps
from espalier.schema.normalization.defaulting import fill_root, filling_steps
from espalier.schema.normalization.embedded_resources import EmbeddedResources
from espalier.schema.normalization.pruned_defaults import pruned_defaults
from espalier.schema.profile import Nulls, Profile
from espalier.schema.values import equal_json, type_of

# The size of the cache: the versions of the definitions that are worked on at one time.
_COMPILED_SCHEMAS = 256


class Decoding(NamedTuple):
    """
    The unknown metadata fields that decoding dropped: those of the root, and embedded ones.
    """

    of_root: tuple[Path, ...]
    embedded: tuple[Path, ...]


_NOTHING_DROPPED = Decoding((), ())
_NOTHING_DONE: Note = []
_ABSENT: Any = object()


class Normalized:
    """
    A value in its normal form, and the paths that changed.

    The paths are computed when they are first read.

    Attributes:
        value: The same object if nothing changed.
    """

    def __init__(self, value: JSON, note: Note, decoding: Decoding | None) -> None:
        self.value = value
        self._note = note
        self._decoding = decoding

    @property
    def removed(self) -> tuple[Path, ...]:
        """
        The removed unknown fields.

        They are in the order of the server's report: first those of the metadata, then others, then
        those of the metadata of embedded resources, each group sorted. In the profile ``KEP`` they
        are in document order.
        """
        # Most objects lose nothing, and many get defaults, whose paths are not asked for.
        pruned = self._paths[Act.PRUNED] if includes(self._note, Act.PRUNED) else ()
        if self._decoding is None:
            return pruned
        metadata, embedded = self._decoding
        return (*metadata, *sorted(pruned, key=render_unknown), *embedded)

    @property
    def dropped(self) -> tuple[Path, ...]:
        """
        The dropped nulls: those that are not nullable and have no default.
        """
        return self._paths[Act.NULL_DROPPED]

    @property
    def filled(self) -> tuple[Path, ...]:
        """
        The filled-in defaults.
        """
        return self._paths[Act.FILLED]

    @functools.cached_property
    def _paths(self) -> Mapping[Act, tuple[Path, ...]]:
        return paths_of(self._note)


class Normalizer(Protocol):
    """
    Bring objects of one schema into their normal form; see ``normalize``.
    """

    def __call__(self, value: JSON, *, drop_malformed_metadata: bool = False) -> Normalized:
        """
        Bring one object into its normal form.

        Raises:
            MalformedValueError: The API server could not decode the object; with its message.
        """

    def is_normal(self, value: JSON) -> bool:
        """
        Report whether an object is already in its normal form.

        An object that cannot be decoded is not.
        """


def normalize(
    value: JSON,
    structural: Structural | None,
    *,
    profile: Profile,
    nulls: Nulls = Nulls.NORMALIZE,
    drop_malformed_metadata: bool = False,
    preserve_unknown_fields: bool = False,
) -> Normalized:
    """
    Bring an object into its normal form by the rules of a profile.

    Args:
        value: A whole object; never changed, and the same one comes back where nothing changes.
        structural: The schema of the version in the object's apiVersion.
        nulls: How the profile ``KEP`` treats nulls.
        drop_malformed_metadata: Drop malformed fields of metadata instead of raising, as the API
            server does when it reads from storage.
        preserve_unknown_fields: ``spec.preserveUnknownFields`` of the definition: if true, neither
            prune nor drop nulls.

    Raises:
        MalformedValueError: The API server could not decode the object; with its message.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/customresource_handler.go``,
        ``unstructuredSchemaCoercer.apply``.
    """
    normalizer = compile_normalizer(
        structural, profile=profile, nulls=nulls, preserve_unknown_fields=preserve_unknown_fields
    )
    return normalizer(value, drop_malformed_metadata=drop_malformed_metadata)


@functools.lru_cache(maxsize=_COMPILED_SCHEMAS)
def compile_normalizer(
    structural: Structural | None,
    *,
    profile: Profile,
    nulls: Nulls = Nulls.NORMALIZE,
    preserve_unknown_fields: bool = False,
) -> Normalizer:
    """
    Compile a schema into a ``Normalizer``; the arguments are those of ``normalize``.

    Recently compiled schemas are cached.
    """
    if profile is Profile.KEP:
        return _Proposed(structural, nulls, prunes=not preserve_unknown_fields)
    return _Server(structural, prunes=not preserve_unknown_fields)


class _Proposed:
    """
    Normalize objects by the rules of the enhancement proposals.
    """

    def __init__(self, structural: Structural | None, nulls: Nulls, *, prunes: bool) -> None:
        self._structural = structural
        self._steps = filling_steps(Profile.KEP, nulls)
        steps = self._steps.but(prune=prunes)
        self._change = Compiler(steps, {}).root(structural, is_resource=True)

    def __call__(self, value: JSON, *, drop_malformed_metadata: bool = False) -> Normalized:
        del drop_malformed_metadata  # this profile checks only names
        filled, at_root = fill_root(value, self._structural, self._steps)
        changed, below = self._change.within(filled)
        return Normalized(changed, [((), at_root), ((), below)], None)

    def is_normal(self, value: JSON) -> bool:
        return self(value).value is value


class _Server:
    """
    Normalize objects as the API server does.
    """

    def __init__(self, structural: Structural | None, *, prunes: bool) -> None:
        defaults = pruned_defaults(structural) if prunes else {}
        filling = filling_steps(Profile.APISERVER, Nulls.NORMALIZE)
        cleaning = Steps(profile=Profile.APISERVER, prune=prunes, drop_nulls=prunes)
        self._resources = EmbeddedResources(structural)
        self._in_one_pass = not self._resources.exist() and not _own_fields_have(
            structural, lambda node: node.default is not None
        )
        first = filling.but(prune=prunes, drop_nulls=prunes) if self._in_one_pass else cleaning
        # Nulls in the own fields matter only for resources embedded in them.
        leaves = not _own_fields_have(structural, lambda node: node.embedded_resource)
        change = Compiler(first, defaults).root(
            structural, is_resource=True, leaves_own_fields=leaves
        )
        # The value is an object here; calling the closure directly saves time on small objects.
        self._on_object = change.on_object
        self._filling = IDLE
        if not self._in_one_pass:
            self._filling = Compiler(filling, defaults).root(structural, is_resource=True)

    def __call__(self, value: JSON, *, drop_malformed_metadata: bool = False) -> Normalized:
        metadata = _decode_own_fields(value, drop_malformed=drop_malformed_metadata)
        done = None if self._on_object is None else self._on_object(value)
        changed, note = (value, _NOTHING_DONE) if done is None else done
        if not self._in_one_pass:
            coerced = self._resources.coerce(changed, drop_malformed=drop_malformed_metadata)
            whole = _with_metadata(coerced.value, metadata or _metadata_as_is(value))
            changed, filled = self._filling.within(whole)
            decoding = Decoding(_below_metadata(metadata), coerced.unknown)
            return Normalized(changed, [((), note), ((), filled)], decoding)
        if metadata is None:
            return Normalized(changed, note, _NOTHING_DROPPED)
        decoding = Decoding(_below_metadata(metadata), ())
        return Normalized(_with_metadata(changed, metadata), note, decoding)

    def is_normal(self, value: JSON) -> bool:
        try:
            return self(value).value is value
        except MalformedValueError:
            return False


def _own_fields_have(structural: Structural | None, kind: Callable[[Structural], bool]) -> bool:
    if structural is None:
        return False
    own = filter(None, map(structural.child, OWN_FIELDS))
    return any(kind(node) for child in own for node in child.nodes())


def _decode_own_fields(value: JSON, *, drop_malformed: bool) -> Decoded | None:
    # Return None if metadata stays unchanged.
    if not isinstance(value, dict):
        found = type_of(value)
        raise MalformedValueError(
            f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        )
    kind, api_version = value.get("kind", ""), value.get("apiVersion", "")
    if not isinstance(kind, str):
        raise MalformedValueError(_not_a_string("kind", kind))
    if not isinstance(api_version, str):
        raise MalformedValueError(_not_a_string("apiVersion", api_version))
    metadata = value.get("metadata", _ABSENT)
    decoded = None
    if metadata is not _ABSENT and not is_canonical(metadata):
        decoded = decode_metadata(metadata, drop_malformed=drop_malformed)
    if api_version.count("/") > 1:
        raise MalformedValueError(f"unexpected GroupVersion string: {api_version}")
    return decoded


_GO_TYPES = {
    "null": "<nil>",
    "boolean": "bool",
    "integer": "int64",
    "number": "float64",
    "array": "[]interface {}",
    "object": "map[string]interface {}",
}


def _not_a_string(name: str, value: JSON) -> str:
    go_type = _GO_TYPES[type_of(value)]
    return f".{name} accessor error: {go_text(value)} is of the type {go_type}, expected string"


def _metadata_as_is(value: JSON) -> Decoded | None:
    return Decoded(value["metadata"]) if isinstance(value, dict) and "metadata" in value else None


def _with_metadata(value: JSON, metadata: Decoded | None) -> JSON:
    if metadata is None or not isinstance(value, dict):
        return value
    raw = value.get("metadata")
    if raw is metadata.value or equal_json(raw, metadata.value):
        return value
    return value | {"metadata": metadata.value}


def _below_metadata(metadata: Decoded | None) -> tuple[Path, ...]:
    if metadata is None or not metadata.unknown:
        return ()
    return tuple(("metadata", *path) for path in metadata.unknown)
