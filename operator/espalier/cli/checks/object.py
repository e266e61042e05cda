"""
Check whether an API server would accept one object, and return the position of each violation.

An object is reported as valid only if every rule was evaluated.
"""

import enum
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

from espalier import schema
from espalier.cli.checks.catalogue import Defined, DefinitionCatalogue, display_name
from espalier.cli.input.files import Document
from espalier.cli.result import Finding, Level, Subject
from espalier.errors import MalformedValueError, SchemaParseError
from espalier.findings import FieldError
from espalier.paths import JSON, Path, render_path, render_unknown
from espalier.schema import Answer, Profile
from espalier.schema.rules.evaluation import CelJudge
from espalier.schema.validation.walk import render_validation

_RULES = CelJudge(monotonic_seconds=time.monotonic)


class ObjectStatus(enum.StrEnum):
    """
    The verdict on an object.
    """

    VALID = "valid"
    INVALID = "invalid"
    NOT_CHECKED = "notChecked"
    NO_SCHEMA = "noSchema"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectVerdict:
    """
    The verdict on one object, with its findings.

    Attributes:
        version: The version whose schema was used; empty if there is no definition.
        rules_not_checked: The number of validation rules that could not be evaluated.
    """

    subject: Subject
    status: ObjectStatus
    version: str = ""
    findings: tuple[Finding, ...] = ()
    rules_not_checked: int = 0

    @property
    def violations(self) -> int:
        """
        The number of reasons for which an API server would refuse the object.
        """
        return sum(finding.level is Level.ERROR for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationContext:
    """
    How objects are validated.

    Attributes:
        catalogue: The definitions.
        profile: ``kep`` checks values only, with the proposals' messages; ``apiserver`` checks
            rules (CEL) and metadata too, and tolerates on update what was invalid before.
        namespace: The namespace of objects that name none.
    """

    catalogue: DefinitionCatalogue
    profile: Profile
    namespace: str


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
    if defined is None:
        text = f"there is no schema for it{catalogue.other_versions(document.value)}"
        return _without_schema(document, subject, text)
    version = defined.version.name
    if defined.version.schema is None:
        text = f"version {version} of {defined.definition.name} has no schema"
        return replace(_without_schema(document, subject, text), version=version)
    try:
        answer, unknown = _validate(document.value, defined, context, old)
    except MalformedValueError as error:
        path = error.finding.path if error.finding is not None else ()
        answer, unknown = Answer(), ()
        found = [_finding(document, path, "decode", str(error))]
    except SchemaParseError as error:
        return replace(_without_schema(document, subject, str(error)), version=version)
    else:
        found = [_violation(document, one, context.profile) for one in answer.errors]
    status = ObjectStatus.INVALID if found else ObjectStatus.VALID
    found += _unchecked_and_tolerated(document, answer)
    found += [_unknown(document, path, defined) for path in unknown]
    if answer.unchecked and status is ObjectStatus.VALID:
        status = ObjectStatus.NOT_CHECKED
    return ObjectVerdict(
        subject=subject,
        status=status,
        version=version,
        findings=tuple(found),
        rules_not_checked=len(answer.unchecked),
    )


def _unchecked_and_tolerated(document: Document, answer: Answer) -> Iterator[Finding]:
    for one in answer.unchecked:
        text = f"{render_path(one.path)}: a validation rule was not checked: {one.detail}"
        yield _finding(document, one.path, "rule-not-checked", text, Level.WARNING)
    for one in answer.forgiven:
        text = f"tolerated, since it was invalid before: {one}"
        yield _finding(document, one.path, "forgiven", text, Level.NOTE)


def _validate(
    value: JSON, defined: Defined, context: ValidationContext, old: JSON
) -> tuple[Answer, tuple[Path, ...]]:
    profile = context.profile
    structural = defined.structural(profile)
    obj, removed = _normal(value, defined, profile)
    if profile is Profile.KEP:
        return Answer(schema.validate(obj, structural, profile=profile)), removed
    resource = defined.resource
    namespace = context.namespace if resource.is_namespaced else ""
    obj = _placed(obj, namespace)
    if old is not None:
        before = _versioned(_placed(_normal(old, defined, profile)[0], namespace))
        answer = schema.check_update(_versioned(obj), before, resource, rules=_RULES)
        # An update reports each violation in metadata twice.
        return answer._replace(errors=tuple({str(e): e for e in answer.errors}.values())), removed
    return schema.check_creation(obj, resource, rules=_RULES), removed


def _placed(obj: dict[str, JSON], namespace: str) -> dict[str, JSON]:
    # kubectl adds the namespace, and the server adds a suffix of five characters to generateName.
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return obj
    placed = {"namespace": namespace, **metadata} if namespace else dict(metadata)
    generate = metadata.get("generateName")
    if isinstance(generate, str) and generate and not metadata.get("name"):
        placed["name"] = f"{generate}xxxxx"
    return {**obj, "metadata": placed}


def _versioned(obj: dict[str, JSON]) -> dict[str, JSON]:
    # An update must carry the resource version of the object; manifests in files have none.
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return obj
    return {**obj, "metadata": {**metadata, "resourceVersion": "1"}}


def _normal(
    value: JSON, defined: Defined, profile: Profile
) -> tuple[dict[str, JSON], tuple[Path, ...]]:
    normal = schema.normalize(
        value,
        defined.structural(profile),
        profile=profile,
        preserve_unknown_fields=defined.definition.preserve_unknown_fields,
    )
    # The value has a kind, so it is an object before and after.
    return (normal.value if isinstance(normal.value, dict) else {}), normal.removed


def _without_schema(document: Document, subject: Subject, text: str) -> ObjectVerdict:
    finding = _finding(document, (), "no-schema", text, Level.WARNING)
    return ObjectVerdict(subject=subject, status=ObjectStatus.NO_SCHEMA, findings=(finding,))


def _violation(document: Document, error: FieldError, profile: Profile) -> Finding:
    text = render_validation(error, profile=profile)
    return _finding(document, error.path, error.origin or "rule", text)


def _unknown(document: Document, path: Path, defined: Defined) -> Finding:
    effect = "an API server drops it"
    if defined.definition.preserve_unknown_fields:
        effect = "an API server drops it from metadata"
    text = f"{render_unknown(path)}: unknown field: {effect}"
    return _finding(document, path, "unknown-field", text, Level.WARNING)


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
