"""
What is to be done for a definition: a pure decision on its labels, versions and schemas.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import TypeAlias

from espalier import crd, names
from espalier.crd import Definition, Version
from espalier.engine.policy.labels import Mode, Policy
from espalier.engine.ports import Endpoint
from espalier.engine.ports.records import resource_of
from espalier.engine.status.conditions import Reason
from espalier.engine.status.text import enumerated
from espalier.errors import NoStorageVersionError, SchemaParseError
from espalier.golang.printing import go_json
from espalier.paths import JSON
from espalier.plurals import counted

# Every object has these; a schema with no other property does not describe its objects.
_OWN_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPruned:
    """
    The API server prunes and defaults: a rewrite that changes nothing does it all.
    """

    definition: Definition
    policy: Policy
    resource: Endpoint
    key: str

    @property
    def rewrites(self) -> bool:
        """
        Whether objects are written for more than annotations.
        """
        return self.policy.does("migrate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Legacy:
    """
    The API server preserves unknown fields: Espalier prunes, and archives what it removes.
    """

    definition: Definition
    policy: Policy
    resource: Endpoint
    key: str

    @property
    def rewrites(self) -> bool:
        """
        Whether objects are written for more than annotations.
        """
        return self.policy.does("migrate") or self.policy.does("prune")


REWRITING_STEPS = ("prune", "default", "migrate")
"""The steps that have a part in rewriting; the others follow it."""

Plan: TypeAlias = ServerPruned | Legacy


@dataclass(frozen=True, slots=True)
class Stop:
    """
    Nothing is done, and why.
    """

    reason: Reason
    message: str


def plan(definition: Definition, policy: Policy) -> Plan | Stop:
    """
    Decide what a run does, before anything is read or written.
    """
    stop = _stop_by_state(definition) or _stop_by_policy(policy) or _stop_by_versions(definition)
    if stop is not None:
        return stop
    storage = definition.storage
    stop = _stop_by_schemas(definition, storage, prunes=policy.does("prune"))
    if stop is not None:
        return stop
    kind = Legacy if definition.preserve_unknown_fields else ServerPruned
    return kind(
        definition=definition,
        policy=policy,
        resource=resource_of(definition, storage),
        key=run_key(definition, policy),
    )


def is_migrated_by_others(definition: Definition) -> bool:
    """
    Report whether the API server's own migration is at work on the objects.
    """
    condition = definition.condition(names.STORAGE_MIGRATING)
    return condition is not None and condition.status == "True"


def run_key(definition: Definition, policy: Policy) -> str:
    """
    Return a digest of what a run is for; when it changes, the run stops and starts over.

    Schemas count wholly, printer columns and a webhook's certificates do not count. Whether loss
    is accepted, whether and when writing is allowed, and what follows the proof are no part of it:
    to change those neither costs what was proved nor restarts the settle time. So a run that was
    paused by mode ``observe`` goes on where it was.
    """
    document: dict[str, JSON] = {
        "names": [definition.group, definition.kind, definition.plural, definition.namespaced],
        "versions": [
            [v.name, v.served, v.storage, v.has_status, v.schema] for v in definition.versions
        ],
        "conversion": definition.conversion,
        "preserveUnknownFields": definition.preserve_unknown_fields,
        "steps": [
            *(step for step in REWRITING_STEPS if not policy.does(step)),
            *(["skip-owned"] if policy.skips_owned else []),
            *policy.namespaces,
        ],
    }
    if policy.rerun_at:
        document["rerunAt"] = policy.rerun_at
    try:
        canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        # A schema may have a default, or an enum, that nests deeper than the encoder can write.
        canonical = go_json(document)
    return "sha256:" + hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _stop_by_state(definition: Definition) -> Stop | None:
    if definition.deleting:
        return Stop(Reason.PENDING, "the definition is being deleted; nothing is done")
    if not definition.established:
        return Stop(Reason.PENDING, "the definition is not established yet")
    if is_migrated_by_others(definition):
        return Stop(
            Reason.OTHER_MIGRATION,
            f"the condition {names.STORAGE_MIGRATING} says that a StorageVersionMigration is"
            " running; this run waits for its end",
        )
    return None


def _stop_by_policy(policy: Policy) -> Stop | None:
    if policy.mistakes:
        return Stop(Reason.FAILED, f"{'; '.join(policy.mistakes)}; nothing is done until then")
    if policy.mode is not Mode.ENFORCE:
        return Stop(
            Reason.OBSERVED,
            f"nothing is written in this mode; {names.MODE}=enforce has objects rewritten",
        )
    return None


def _stop_by_versions(definition: Definition) -> Stop | None:
    try:
        storage = definition.storage
    except NoStorageVersionError as error:
        return Stop(Reason.FAILED, str(error))
    if not storage.served:
        return Stop(
            Reason.STORAGE_VERSION_NOT_SERVED,
            f"objects are rewritten through the storage version {storage.name} only,"
            " and it is not served: set served: true",
        )
    return None


def _stop_by_schemas(definition: Definition, storage: Version, *, prunes: bool) -> Stop | None:
    legacy = definition.preserve_unknown_fields
    if legacy and not prunes:
        # Neither server nor Espalier prunes: by no schema does a rewrite remove anything.
        return None
    bare = [
        version.name
        for version in (definition.versions if legacy else (storage,))
        if not version.schema or (legacy and not _specifies_content(version.schema))
    ]
    if bare:
        lack = "has no schema with properties at its root" if legacy else "has no schema"
        return Stop(Reason.NO_SCHEMA, f"version {enumerated(bare)} {lack}; nothing is pruned")
    try:
        findings = [
            finding
            for finding in crd.structural_findings(definition)
            if finding.path != ("spec", "preserveUnknownFields")
        ]
    except SchemaParseError as error:
        return Stop(Reason.NON_STRUCTURAL, f"{error}; nothing is done")
    if not findings:
        return None
    return Stop(
        Reason.NON_STRUCTURAL,
        f"{counted(len(findings), 'violation')} of the rules for structural schemas,"
        f" see the condition {names.NON_STRUCTURAL_SCHEMA}; nothing is done",
    )


def _specifies_content(schema: dict[str, JSON]) -> bool:
    properties = schema.get("properties")
    return isinstance(properties, dict) and bool(properties.keys() - _OWN_FIELDS)
