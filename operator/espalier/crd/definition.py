"""
One CustomResourceDefinition, as Espalier reads it.

Kubernetes' camelCase names are converted here. Schemas stay decoded JSON: ``espalier.schema``
parses them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from espalier.crd.api_versions import is_beta
from espalier.errors import MalformedDefinitionError, NoStorageVersionError, UnknownVersionError
from espalier.names import ESTABLISHED, RECORD_FIELD_MANAGER
from espalier.paths import JSON, Key, Path
from espalier.schema import ScalePaths

_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """
    One status condition.

    Attributes:
        type: For example ``NonStructuralSchema``.
        status: ``True``, ``False`` or ``Unknown``.
        reason: A CamelCase word for programs.
        message: A text for people.
        last_transition_time: RFC 3339; empty if it is not known yet.
        observed_generation: The definition's generation that the condition is about; 0 if that is
            not written.
    """

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: str = ""
    observed_generation: int = 0

    def manifest(self) -> dict[str, JSON]:
        """
        Return it as an API server takes it.
        """
        made: dict[str, JSON] = {
            "type": self.type,
            "status": self.status,
            "reason": self.reason,
            "message": self.message,
        }
        if self.last_transition_time:
            made["lastTransitionTime"] = self.last_transition_time
        if self.observed_generation:
            made["observedGeneration"] = self.observed_generation
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """
    One entry of ``spec.versions``.

    Attributes:
        schema: The decoded ``openAPIV3Schema``; None if the version has none.
        has_status: Whether the ``status`` subresource is on.
        scale: The paths of the ``scale`` subresource; None if that is off.
    """

    name: str
    served: bool
    storage: bool
    schema: dict[str, JSON] | None = field(default=None, hash=False)
    has_status: bool = False
    scale: ScalePaths | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """
    A CustomResourceDefinition.

    Attributes:
        versions: In the order of ``spec.versions``.
        stored_versions: ``status.storedVersions``, in the server's order.
        singular: ``spec.names.singular``; the kind in lower case if that is not set.
        short_names: ``spec.names.shortNames``.
        conversion: The name of the strategy: ``None`` or ``Webhook``.
        preserve_unknown_fields: True for legacy definitions, which the server does not prune.
        spec_written_at: The latest time, RFC 3339, at which the spec was written, by
            ``managedFields``. Versions and conversion did not change later; whether unknown fields
            are preserved may have. Empty if they do not show it.
        record_written_at: The time at which ``espalier.dev/Record`` was written last, likewise.
        created_at: ``metadata.creationTimestamp``; empty if it is not there.
    """

    name: str
    uid: str
    resource_version: str
    generation: int
    group: str
    kind: str
    plural: str
    namespaced: bool
    versions: tuple[Version, ...]
    stored_versions: tuple[str, ...]
    preserve_unknown_fields: bool
    conversion: str
    established: bool
    deleting: bool
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING, hash=False)
    annotations: Mapping[str, str] = field(default_factory=lambda: _NOTHING, hash=False)
    conditions: tuple[Condition, ...] = ()
    spec_written_at: str = ""
    record_written_at: str = ""
    created_at: str = ""
    singular: str = ""
    short_names: tuple[str, ...] = ()

    @property
    def storage(self) -> Version:
        """
        The storage version.

        Raises:
            NoStorageVersionError: There is not exactly one version with ``storage: true``.
        """
        marked = [version for version in self.versions if version.storage]
        if len(marked) != 1:
            raise NoStorageVersionError(self.name, tuple(version.name for version in marked))
        return marked[0]

    def version(self, name: str) -> Version:
        """
        Return the version of a name.

        Raises:
            UnknownVersionError: There is no such version.
        """
        for version in self.versions:
            if version.name == name:
                return version
        raise UnknownVersionError(self.name, name, tuple(v.name for v in self.versions))

    def condition(self, type_: str) -> Condition | None:
        """
        Return the condition of a type; None if there is none.
        """
        return next((found for found in self.conditions if found.type == type_), None)


def read_definition(manifest: JSON) -> Definition:
    """
    Read a CustomResourceDefinition of ``apiextensions.k8s.io/v1`` or ``v1beta1``.

    A v1beta1 definition is read as the API server converts it: the top-level ``validation``,
    ``version`` and ``subresources`` go to the versions, and ``preserveUnknownFields`` is true by
    default.

    Args:
        manifest: Decoded JSON; never changed.

    Raises:
        MalformedDefinitionError: The manifest is not a CustomResourceDefinition, or a field has the
            wrong JSON type.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/v1beta1/conversion.go`` and
        ``defaults.go``.
    """
    root = _mapping(manifest, ())
    beta = is_beta(root.get("apiVersion"), root.get("kind"))
    metadata = _mapping(root.get("metadata"), ("metadata",))
    spec = _mapping(root.get("spec"), ("spec",))
    names = _mapping(spec.get("names"), ("spec", "names"))
    status = _optional_mapping(root.get("status"), ("status",))
    conditions = _conditions(status)
    return Definition(
        name=_text(metadata, "name", ("metadata",)),
        uid=_text(metadata, "uid", ("metadata",), default=""),
        resource_version=_text(metadata, "resourceVersion", ("metadata",), default=""),
        generation=_number(metadata, "generation", ("metadata",)),
        group=_text(spec, "group", ("spec",)),
        kind=_text(names, "kind", ("spec", "names")),
        plural=_text(names, "plural", ("spec", "names")),
        namespaced=_text(spec, "scope", ("spec",), default="Namespaced") != "Cluster",
        versions=_versions(spec, beta=beta),
        stored_versions=_texts(status, "storedVersions", ("status",)),
        preserve_unknown_fields=_flag(spec, "preserveUnknownFields", ("spec",), default=beta),
        conversion=_conversion(spec),
        established=any(c.type == ESTABLISHED and c.status == "True" for c in conditions),
        deleting="deletionTimestamp" in metadata,
        labels=_text_map(metadata, "labels"),
        annotations=_text_map(metadata, "annotations"),
        conditions=conditions,
        spec_written_at=_spec_written_at(metadata),
        record_written_at=_record_written_at(metadata),
        created_at=_text(metadata, "creationTimestamp", ("metadata",), default=""),
        singular=_singular(names),
        short_names=_short_names(names),
    )


def _conversion(spec: dict[str, JSON]) -> str:
    path = ("spec", "conversion")
    return _text(_optional_mapping(spec.get("conversion"), path), "strategy", path, default="None")


def _singular(names: dict[str, JSON]) -> str:
    match names:
        case {"singular": str(singular)} if singular:
            return singular
        case {"kind": str(kind)}:
            return kind.lower()
        case _:
            return ""


def _short_names(names: dict[str, JSON]) -> tuple[str, ...]:
    listed = names.get("shortNames")
    return tuple(str(one) for one in listed) if isinstance(listed, list) else ()


def _spec_written_at(metadata: dict[str, JSON]) -> str:
    # The server sets an entry's time whenever a write of its manager adds or changes a field that
    # the entry names; versions are a list that is owned as a whole. A field that is only removed
    # sets none: so does preserveUnknownFields, whose false is not stored. Writes of the status
    # change no spec.
    times = []
    for entry in _managed_fields(metadata):
        match entry:
            case {"time": str(time), "fieldsV1": {"f:spec": _}}:
                times.append(time)
            case {"fieldsV1": {"f:spec": _}}:
                # Written at an unknown time.
                return ""
            case _:
                continue
    # All of one form, by which the later one is the greater text.
    return max(times, default="")


def _record_written_at(metadata: dict[str, JSON]) -> str:
    times = []
    for entry in _managed_fields(metadata):
        match entry:
            case {"manager": manager, "time": str(time)} if manager == RECORD_FIELD_MANAGER:
                times.append(time)
            case _:
                continue
    return max(times, default="")


def _managed_fields(metadata: dict[str, JSON]) -> list[JSON]:
    entries = metadata.get("managedFields")
    return entries if isinstance(entries, list) else []


def _versions(spec: dict[str, JSON], *, beta: bool) -> tuple[Version, ...]:
    listed = spec.get("versions")
    if beta and not listed:
        name = _text(spec, "version", ("spec",))
        listed = [{"name": name, "served": True, "storage": True}]
    if not isinstance(listed, list) or not listed:
        raise MalformedDefinitionError(("spec", "versions"), "must be a list with a version in it")
    read = []
    for index, item in enumerate(listed):
        path = ("spec", "versions", index)
        entry = _mapping(item, path)
        read.append(_version(entry, spec if beta else {}, path))
    return tuple(read)


def _version(entry: dict[str, JSON], shared: dict[str, JSON], path: Path) -> Version:
    holder, key = (entry, "schema") if entry.get("schema") is not None else (shared, "validation")
    validation = _optional_mapping(holder.get(key), (*path, key))
    schema = validation.get("openAPIV3Schema")
    own = entry.get("subresources")
    subresources = _optional_mapping(
        shared.get("subresources") if own is None else own, (*path, "subresources")
    )
    return Version(
        name=_text(entry, "name", path),
        served=_flag(entry, "served", path, default=False),
        storage=_flag(entry, "storage", path, default=False),
        schema=None if schema is None else _mapping(schema, (*path, key, "openAPIV3Schema")),
        has_status=subresources.get("status") is not None,
        scale=_scale(subresources, (*path, "subresources")),
    )


def _scale(subresources: dict[str, JSON], path: Path) -> ScalePaths | None:
    below = (*path, "scale")
    scale = _optional_mapping(subresources.get("scale"), below)
    if not scale:
        return None
    return ScalePaths(
        spec_replicas_path=_text(scale, "specReplicasPath", below, default=""),
        status_replicas_path=_text(scale, "statusReplicasPath", below, default=""),
        label_selector_path=_text(scale, "labelSelectorPath", below, default=""),
    )


def _conditions(status: dict[str, JSON]) -> tuple[Condition, ...]:
    listed = status.get("conditions") or []
    if not isinstance(listed, list):
        raise MalformedDefinitionError(("status", "conditions"), "must be a list")
    read = []
    for index, item in enumerate(listed):
        path = ("status", "conditions", index)
        entry = _mapping(item, path)
        read.append(
            Condition(
                type=_text(entry, "type", path),
                status=_text(entry, "status", path),
                reason=_text(entry, "reason", path, default=""),
                message=_text(entry, "message", path, default=""),
                last_transition_time=_text(entry, "lastTransitionTime", path, default=""),
                observed_generation=_observed_generation(entry),
            )
        )
    return tuple(read)


def _observed_generation(entry: dict[str, JSON]) -> int:
    found = entry.get("observedGeneration")
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def _mapping(value: JSON, path: Path) -> dict[str, JSON]:
    if not isinstance(value, dict):
        raise MalformedDefinitionError(path, "must be an object")
    return value


def _optional_mapping(value: JSON, path: Path) -> dict[str, JSON]:
    return {} if value is None else _mapping(value, path)


def _text(holder: dict[str, JSON], key: str, path: Path, *, default: str | None = None) -> str:
    value = holder.get(key)
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise MalformedDefinitionError((*path, key), "must be a string")
    return value


def _texts(holder: dict[str, JSON], key: str, path: Path) -> tuple[str, ...]:
    value = holder.get(key) or []
    if not isinstance(value, list):
        raise MalformedDefinitionError((*path, key), "must be a list of strings")
    texts = tuple(item for item in value if isinstance(item, str))
    if len(texts) != len(value):
        raise MalformedDefinitionError((*path, key), "must be a list of strings")
    return texts


def _text_map(metadata: dict[str, JSON], key: str) -> Mapping[str, str]:
    value = _optional_mapping(metadata.get(key), ("metadata", key))
    read = {}
    for name, text in value.items():
        if not isinstance(text, str):
            raise MalformedDefinitionError(("metadata", key, Key(name)), "must be a string")
        read[name] = text
    return MappingProxyType(read)


def _number(holder: dict[str, JSON], key: str, path: Path) -> int:
    value = holder.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool):
        raise MalformedDefinitionError((*path, key), "must be an integer")
    return value


def _flag(holder: dict[str, JSON], key: str, path: Path, *, default: bool) -> bool:
    value = holder.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise MalformedDefinitionError((*path, key), "must be true or false")
    return value
