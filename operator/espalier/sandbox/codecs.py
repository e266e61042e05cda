"""
Codecs between stored bytes, objects at a version, and bodies of requests; one for each resource.

Custom objects are handled as in the API server. A read decodes the object at its stored version,
converts it (the apiVersion changes) and decodes it again at the requested version. A write decodes
it at the request's version, and then at the storage version if that differs. There is no validation
of values: an object with wrong types is stored, where an API server would respond with 422.
"""

import base64
from typing import Protocol

import orjson

from espalier import schema
from espalier.crd import Definition, structural_of
from espalier.errors import MalformedValueError, SchemaParseError
from espalier.paths import JSON, render_unknown
from espalier.sandbox.definitions import as_v1, refuse_malformed, with_defaults
from espalier.sandbox.kinds import CRDS, NAMESPACES, SECRETS, Kind
from espalier.sandbox.shapes import BUILTIN_SHAPES, OBJECT, SchemaShape, shape_of
from espalier.sandbox.store import Stored
from espalier.sandbox.wire import Object, bad_request, corrupt, encode
from espalier.schema import Profile, Structural
from espalier.schema.metadata.decoding import decode_metadata


class Codec(Protocol):
    """
    Read and write the objects of one resource at one version.
    """

    kind: Kind
    shape: SchemaShape

    def read(self, stored: Stored) -> Object:
        """
        Decode stored bytes; the resource version is set.

        Raises:
            Refusal: 500 if the bytes cannot be decoded.
        """

    def accept(self, body: Object) -> Object:
        """
        Decode the body of a request.

        Raises:
            Refusal: 400 if the body is malformed.
        """

    def store(self, obj: Object) -> bytes:
        """
        Encode an object for storage.
        """

    def default(self, obj: Object) -> Object:
        """
        Fill in the defaults of this version.
        """

    def undeclared(self, obj: Object) -> list[str]:
        """
        List the fields that the schema does not declare.
        """


def read_json(stored: Stored) -> Object:
    """
    Decode stored JSON.

    Raises:
        Refusal: 500 for a corrupt object, as in the API server.
    """
    try:
        value = orjson.loads(stored.value)
    except orjson.JSONDecodeError as error:
        raise _corrupt(stored, str(error)) from error
    if not isinstance(value, dict):
        raise _corrupt(stored, "couldn't get version/kind; json parse error")
    return value


def _corrupt(stored: Stored, text: str) -> Exception:
    return corrupt(stored.key.removeprefix("/registry"), stored.revision, text)


def _with_revision(obj: Object, revision: int) -> Object:
    metadata = obj.get("metadata")
    return {**obj, "metadata": {**(metadata or {}), "resourceVersion": str(revision)}}


def _without_revision(obj: Object) -> Object:
    metadata = {k: v for k, v in obj["metadata"].items() if k != "resourceVersion"}
    return {**obj, "metadata": metadata}


class BuiltinCodec:
    """
    The codec of built-in kinds, which are stored as they are served.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.shape = BUILTIN_SHAPES.get(kind.kind, OBJECT)

    def read(self, stored: Stored) -> Object:
        """
        Decode stored bytes; the resource version is set.
        """
        obj = read_json(stored)
        if self.kind is CRDS:
            obj = as_v1(obj)
        try:
            obj["metadata"] = _metadata(obj, drop_malformed=True)
        except MalformedValueError as error:
            raise _corrupt(stored, str(error)) from error
        return _with_revision(obj, stored.revision)

    def accept(self, body: Object) -> Object:
        """
        Decode the body of a request.
        """
        try:
            obj = {**body, "metadata": _metadata(body, drop_malformed=False)}
        except MalformedValueError as error:
            kind, version = self.kind.kind, self.kind.version
            text = f'{kind} in version "{version}" cannot be handled as a {kind}: {error}'
            raise bad_request(text) from error
        return self.default(obj)

    def store(self, obj: Object) -> bytes:
        """
        Encode an object for storage.
        """
        return encode(_without_revision(obj))

    def default(self, obj: Object) -> Object:
        """
        Fill in the defaults of this version.
        """
        if self.kind is CRDS:
            refuse_malformed(obj)
            return with_defaults(obj)
        if self.kind is SECRETS:
            return _secret(obj)
        if self.kind is NAMESPACES:
            return _namespace(obj)
        return obj

    def undeclared(self, obj: Object) -> list[str]:
        """
        List the fields that the schema does not declare.
        """
        del obj  # the fields of Go's types are not known here
        return []


def _metadata(obj: Object, *, drop_malformed: bool) -> Object:
    metadata = decode_metadata(obj.get("metadata"), drop_malformed=drop_malformed).value
    return metadata if isinstance(metadata, dict) else {}


def _secret(obj: Object) -> Object:
    plain = {
        key: base64.b64encode(text.encode()).decode()
        for key, text in (obj.get("stringData") or {}).items()
    }
    made = {key: value for key, value in obj.items() if key != "stringData"}
    if plain:
        made["data"] = {**(obj.get("data") or {}), **plain}
    return {**made, "type": obj.get("type") or "Opaque"}


def _namespace(obj: Object) -> Object:
    metadata = obj["metadata"]
    labels = {**metadata.get("labels", {}), "kubernetes.io/metadata.name": metadata.get("name")}
    return {
        **obj,
        "metadata": {**metadata, "labels": labels} if metadata.get("name") else metadata,
        "spec": {"finalizers": ["kubernetes"], **(obj.get("spec") or {})},
        "status": {"phase": "Active", **(obj.get("status") or {})},
    }


class CustomCodec:
    """
    The codec of custom objects at one version of their definition.
    """

    def __init__(self, kind: Kind, definition: Definition, versions: "Versions") -> None:
        self.kind = kind
        self._versions = versions
        self._storage = f"{definition.group}/{definition.storage.name}"
        self._own = versions[kind.api_version]
        self.shape = shape_of(None if definition.preserve_unknown_fields else self._own.structural)

    def read(self, stored: Stored) -> Object:
        """
        Decode stored bytes; the resource version is set.
        """
        obj = read_json(stored)
        api_version = obj.get("apiVersion")
        version = self._versions.get(api_version) if isinstance(api_version, str) else None
        if version is None:
            text = f"request to convert CR from an invalid group/version: {api_version}"
            raise _corrupt(stored, text)
        try:
            obj = version.decode(obj, drop_malformed_metadata=True)
        except MalformedValueError as error:
            raise _corrupt(stored, str(error)) from error
        metadata = obj.setdefault("metadata", {})
        # A missing generation is from an API server that had no generations yet.
        obj["metadata"] = {**metadata, "generation": metadata.get("generation") or 1}
        return _with_revision(self._own.convert(obj), stored.revision)

    def accept(self, body: Object) -> Object:
        """
        Decode the body of a request.
        """
        try:
            return self._own.decode(body, drop_malformed_metadata=False)
        except MalformedValueError as error:
            raise bad_request(str(error)) from error

    def store(self, obj: Object) -> bytes:
        """
        Encode an object for storage.
        """
        obj = _without_revision(obj)
        if self.kind.api_version != self._storage:
            obj = self._versions[self._storage].convert(obj)
        return encode(obj)

    def default(self, obj: Object) -> Object:
        """
        Fill in the defaults of this version.
        """
        return self.accept(obj)

    def undeclared(self, obj: Object) -> list[str]:
        """
        List the fields that the schema does not declare.
        """
        return self._own.undeclared(obj)


class DecodedVersion:
    """
    Decode and convert objects by the schema of one version.
    """

    def __init__(self, api_version: str, structural: Structural | None, *, prunes: bool) -> None:
        self.structural = structural
        self._api_version = api_version
        self._prunes = prunes
        self._normalize = schema.compile_normalizer(
            structural, profile=Profile.APISERVER, preserve_unknown_fields=not prunes
        )

    def decode(self, obj: Object, *, drop_malformed_metadata: bool) -> Object:
        """
        Prune, drop nulls, default, decode metadata.

        Raises:
            MalformedValueError: Metadata, kind or apiVersion cannot be decoded.
        """
        normal = self._normalize(obj, drop_malformed_metadata=drop_malformed_metadata).value
        return _object(normal)

    def undeclared(self, obj: Object) -> list[str]:
        """
        List the fields that would be pruned.
        """
        if not self._prunes:
            return []
        pruned = schema.prune(obj, self.structural, profile=Profile.APISERVER)
        return [render_unknown(path) for path in pruned.removed]

    def convert(self, obj: Object) -> Object:
        """
        Convert to this version with the strategy ``None``, without defaulting.
        """
        obj = {**obj, "apiVersion": self._api_version}
        if not self._prunes:
            return obj
        pruned = schema.prune(obj, self.structural, profile=Profile.APISERVER).value
        return _object(schema.drop_nulls(pruned, self.structural).value)


Versions = dict[str, DecodedVersion]


def _object(value: JSON) -> Object:
    return dict(value) if isinstance(value, dict) else {}


def versions_of(definition: Definition) -> Versions:
    """
    Return the decoders of all versions of a definition, by apiVersion.

    A schema that cannot be parsed counts as absent; an API server does not serve such a version.
    """
    prepared = {}
    for version in definition.versions:
        try:
            structural = structural_of(version)
        except SchemaParseError:
            structural = None
        api_version = f"{definition.group}/{version.name}"
        prepared[api_version] = DecodedVersion(
            api_version, structural, prunes=not definition.preserve_unknown_fields
        )
    return prepared
