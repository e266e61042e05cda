"""
Check whether an API server would accept one object, and return the position of each violation.

An object is reported as valid only if every rule was evaluated.
"""

import enum
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from msgspec import Struct, structs

from espalier import schema
from espalier.cli.checks.catalogue import Defined, DefinitionCatalogue, display_name
from espalier.cli.input.files import Document
from espalier.cli.result import Finding, Level, Subject
from espalier.errors import MalformedValueError, SchemaParseError
from espalier.findings import FieldError
from espalier.names import RATCHETING_MINOR
from espalier.paths import JSON, Path, render_path, render_unknown
from espalier.schema import Answer, Profile
from espalier.schema.requests.creation import drop_unstored, place, prepare_creation
from espalier.schema.rules.judge import CelJudge
from espalier.schema.validation.walk import render_validation

_RULES = CelJudge(monotonic_seconds=time.monotonic)


class FieldValidation(enum.StrEnum):
    """
    What an API server does about unknown and duplicate fields: the query ``fieldValidation``.
    """

    IGNORE = "ignore"
    WARN = "warn"
    STRICT = "strict"


_LEVELS = MappingProxyType(
    {FieldValidation.WARN: Level.WARNING, FieldValidation.STRICT: Level.ERROR}
)


class ObjectStatus(enum.StrEnum):
    """
    The verdict on an object.
    """

    VALID = "valid"
    INVALID = "invalid"
    NOT_CHECKED = "notChecked"
    NO_SCHEMA = "noSchema"


class ObjectVerdict(Struct, frozen=True, kw_only=True):
    """
    The verdict on one object, with its findings.

    Attributes:
        version: The version whose schema was used; empty if there is no definition.
        rules_not_checked: The number of validation rules that could not be evaluated.
        lacks_old: Whether it was validated as a new object, since the one to update is missing.
    """

    subject: Subject
    status: ObjectStatus
    version: str = ""
    findings: tuple[Finding, ...] = ()
    rules_not_checked: int = 0
    lacks_old: bool = False

    @property
    def violations(self) -> int:
        """
        The number of reasons for which an API server would refuse the object.
        """
        return sum(finding.level is Level.ERROR for finding in self.findings)


class ValidationContext(Struct, frozen=True, kw_only=True):
    """
    How objects are validated.

    Attributes:
        catalogue: The definitions.
        profile: ``kep`` checks values only, with the proposals' messages; ``apiserver`` checks
            rules (CEL) and metadata too, and tolerates on update what was invalid before.
        namespace: The namespace of objects that name none.
        field_validation: What becomes of unknown and duplicate fields.
        of_status: Validate a write through the ``status`` subresource.
        minor: The oldest minor version of API servers to answer for; None for the newest.
    """

    catalogue: DefinitionCatalogue
    profile: Profile
    namespace: str
    field_validation: FieldValidation = FieldValidation.STRICT
    of_status: bool = False
    minor: int | None = None


def validate_document(
    document: Document, context: ValidationContext, *, old: JSON = None
) -> ObjectVerdict:
    """
    Validate an object, after pruning and defaulting, by the version that it names.

    Args:
        old: The object that it replaces; None validates it as a new object. On update, API servers
            tolerate violations in values that do not change.
    """
    subject = document.subject(display_name(document.value))
    catalogue = context.catalogue
    defined = catalogue.find(document.value)
    versions = catalogue.versions_of(document.value)
    if not versions:
        return _without_schema(document, subject, "there is no schema for it")
    refusal = _not_served(defined, versions, of_status=context.of_status)
    if defined is None or refusal:
        finding = _finding(document, (), "not-served", refusal)
        return ObjectVerdict(
            subject=subject,
            status=ObjectStatus.INVALID,
            version="" if defined is None else defined.version.name,
            findings=(finding,),
        )
    version = defined.version.name
    if defined.version.schema is None:
        text = f"version {version} of {defined.definition.name} has no schema"
        return structs.replace(_without_schema(document, subject, text), version=version)
    try:
        answer, notes = _Request(document, defined, context, old).handle()
    except MalformedValueError as error:
        path = error.finding.path if error.finding is not None else ()
        answer, notes = Answer(), ()
        found = [_finding(document, path, "decode", str(error))]
    except SchemaParseError as error:
        return structs.replace(_without_schema(document, subject, str(error)), version=version)
    else:
        found = [_violation(document, one, context.profile) for one in answer.errors]
    found += [*_unchecked_and_tolerated(document, answer), *notes]
    status = ObjectStatus.NOT_CHECKED if answer.unchecked else ObjectStatus.VALID
    if any(one.level is Level.ERROR for one in found):
        status = ObjectStatus.INVALID
    return ObjectVerdict(
        subject=subject,
        status=status,
        version=version,
        findings=tuple(found),
        rules_not_checked=len(answer.unchecked),
    )


def _not_served(defined: Defined | None, versions: list[Defined], *, of_status: bool) -> str:
    # Return why an API server has no such resource; empty if it has one.
    name = versions[0].definition.name
    if defined is None or not defined.version.served:
        served = ", ".join(one.version.name for one in versions if one.version.served)
        return f"an API server refuses it (404): {name} serves only {served or 'no version'}"
    if of_status and not defined.version.has_status:
        version = defined.version.name
        return f"an API server refuses it (404): {version} of {name} has no status subresource"
    return ""


def _unchecked_and_tolerated(document: Document, answer: Answer) -> Iterator[Finding]:
    for one in answer.unchecked:
        text = f"{render_path(one.path)}: a validation rule was not checked: {one.detail}"
        yield _finding(document, one.path, "rule-not-checked", text, Level.WARNING)
    for one in answer.forgiven:
        text = f"tolerated, since it was invalid before: {one}"
        yield _finding(document, one.path, "forgiven", text, Level.NOTE)


class _Request(Struct, frozen=True):
    """
    A create or update request with one object.
    """

    document: Document
    defined: Defined
    context: ValidationContext
    old: JSON

    def handle(self) -> tuple[Answer, tuple[Finding, ...]]:
        """
        Return the answer of an API server, and what it does to fields besides.

        Raises:
            MalformedValueError: An API server could not decode an object.
            SchemaParseError: The schema cannot be used.
        """
        obj, unknown = self._decode(self.document.value)
        notes = [*self._strict(unknown)]
        if self.old is None and not self.context.of_status:
            notes += self._unstored(obj)
        answer = self._answer(obj)
        if self.context.minor is not None:
            from espalier.crd.advice.server_versions import without_ranges

            answer = answer._replace(errors=without_ranges(answer.errors, self.context.minor))
        return answer, tuple(notes)

    def _answer(self, obj: dict[str, JSON]) -> Answer:
        created = self._prepare(obj)
        if self.context.profile is Profile.KEP:
            structural = self.defined.structural(Profile.KEP)
            new = created if self.old is None else obj
            return Answer(schema.validate(new, structural, profile=Profile.KEP))
        resource = self.defined.resource
        if self.old is None and not self.context.of_status:
            return schema.check_creation(created, resource, rules=_RULES)
        before = created if self.old is None else self._place(self._decode(self.old)[0])
        new = self._place(obj)
        check = schema.check_status_update if self.context.of_status else schema.check_update
        answer = check(_versioned(new), _versioned(before), resource, rules=_RULES)
        if self.context.minor is not None and self.context.minor < RATCHETING_MINOR:
            answer = answer._replace(errors=(*answer.errors, *self._untolerated(new, before)))
        # An update reports each violation in metadata twice.
        return answer._replace(errors=tuple({str(e): e for e in answer.errors}.values()))

    def _untolerated(self, new: dict[str, JSON], before: dict[str, JSON]) -> tuple[FieldError, ...]:
        # Before ratcheting, an update is validated as a whole, and a status update as its status.
        resource, of_status = self.defined.resource, self.context.of_status
        base, other = (before, new) if of_status else (new, before)
        whole = {name: member for name, member in base.items() if name != "status"}
        if resource.has_status and "status" in other:
            whole["status"] = other["status"]
        elif not resource.has_status and "status" in new:
            whole["status"] = new["status"]
        found = schema.check_creation(whole, resource, rules=_RULES).errors
        return tuple(one for one in found if not of_status or one.path[:1] == ("status",))

    def _place(self, obj: dict[str, JSON]) -> dict[str, JSON]:
        return place(
            obj,
            is_namespaced=self.defined.definition.namespaced,
            namespace=self.context.namespace,
        )

    def _prepare(self, obj: dict[str, JSON]) -> dict[str, JSON]:
        return prepare_creation(
            obj,
            is_namespaced=self.defined.definition.namespaced,
            has_status=self.defined.version.has_status,
            namespace=self.context.namespace,
        )

    def _decode(self, value: JSON) -> tuple[dict[str, JSON], tuple[Path, ...]]:
        normal = schema.normalize(
            value,
            self.defined.structural(self.context.profile),
            profile=self.context.profile,
            preserve_unknown_fields=self.defined.definition.preserve_unknown_fields,
        )
        # The value has a kind, so it is an object before and after.
        return (normal.value if isinstance(normal.value, dict) else {}), normal.removed

    def _strict(self, unknown: tuple[Path, ...]) -> Iterator[Finding]:
        level = _LEVELS.get(self.context.field_validation)
        if level is None:
            return
        for one in self.document.duplicates:
            effect = "refuses it" if level is Level.ERROR else "takes the last one"
            text = f"{render_unknown(one.path)}: duplicate field: an API server {effect}"
            finding = _finding(self.document, one.path, "duplicate-field", text, level)
            if one.mark is not None:
                placed = replace(finding.subject, line=one.mark.line, column=one.mark.column)
                finding = replace(finding, subject=placed)
            yield finding
        drops = "drops it"
        if self.defined.definition.preserve_unknown_fields:
            drops = "drops it from metadata"
        for path in unknown:
            effect = "refuses it" if level is Level.ERROR else drops
            text = f"{render_unknown(path)}: unknown field: an API server {effect}"
            yield _finding(self.document, path, "unknown-field", text, level)

    def _unstored(self, obj: dict[str, JSON]) -> Iterator[Finding]:
        unstored = drop_unstored(
            obj,
            is_namespaced=self.defined.definition.namespaced,
            has_status=self.defined.version.has_status,
        )
        for path in unstored.removed:
            text = f"{render_path(path)}: not stored: {_WHY_UNSTORED[path]}"
            if path != ("status",) or obj["status"]:
                yield _finding(self.document, path, "not-stored", text, Level.NOTE)


_WHY_UNSTORED: Mapping[Path, str] = MappingProxyType(
    {
        ("status",): "on create, an API server drops the status; see --subresource",
        ("metadata", "namespace"): "an API server clears it, since the kind is cluster-scoped",
    }
)


def _versioned(obj: dict[str, JSON]) -> dict[str, JSON]:
    # An update must carry the resource version of the object; manifests in files have none.
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return obj
    return {**obj, "metadata": {**metadata, "resourceVersion": "1"}}


def without_old(document: Document, verdict: ObjectVerdict) -> ObjectVerdict:
    """
    Add to the verdict on an object that it was no update, since nothing was there to update.
    """
    text = "there is no such object to update, so it was validated as a new one"
    finding = _finding(document, (), "no-old-object", text, Level.WARNING)
    return structs.replace(verdict, findings=(*verdict.findings, finding), lacks_old=True)


def _without_schema(document: Document, subject: Subject, text: str) -> ObjectVerdict:
    finding = _finding(document, (), "no-schema", text, Level.WARNING)
    return ObjectVerdict(subject=subject, status=ObjectStatus.NO_SCHEMA, findings=(finding,))


def _violation(document: Document, error: FieldError, profile: Profile) -> Finding:
    text = render_validation(error, profile=profile)
    return _finding(document, error.path, error.origin or "rule", text)


def _finding(
    document: Document, path: Path, rule: str, text: str, level: Level = Level.ERROR
) -> Finding:
    return Finding(
        level=level,
        rule=f"validate/{rule}",
        subject=document.subject(display_name(document.value), path),
        message=text,
        path=render_path(path) if path else "",
    )
