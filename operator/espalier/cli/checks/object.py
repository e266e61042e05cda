"""
Would an API server take an object? One object, one answer, with the places of all violations.

The only place of the command line that asks; what is not known is never called valid.
"""

import enum
import time
from dataclasses import dataclass, replace

from espalier import crd, schema
from espalier.cli.checks.catalogue import Defined, DefinitionCatalogue, named
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
    What is known of an object.
    """

    VALID = "valid"
    INVALID = "invalid"
    NOT_CHECKED = "notChecked"
    NO_SCHEMA = "noSchema"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validated:
    """
    One object, and what was found.

    Attributes:
        version: Of the definition that it was held to; empty without one.
        rules_not_checked: How many validation rules nobody knows whether it keeps.
    """

    subject: Subject
    status: ObjectStatus
    version: str = ""
    findings: tuple[Finding, ...] = ()
    rules_not_checked: int = 0

    @property
    def violations(self) -> int:
        """
        Count what an API server would refuse it for.
        """
        return sum(finding.level is Level.ERROR for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """
    What objects are held to.

    Attributes:
        profile: The proposals' looks at the values alone, in their words; rules, metadata and
            what an update forgives are the API server's.
        namespace: Where an object is meant to be that does not say so.
    """

    catalogue: DefinitionCatalogue
    profile: Profile
    namespace: str


def validate_document(document: Document, question: Question, *, old: JSON = None) -> Validated:
    """
    Hold an object to the schema of the version that it names, as it would be stored.

    Args:
        old: The object that it replaces: what was wrong before may stay. None creates it.
    """
    subject = document.subject(named(document.value))
    catalogue = question.catalogue
    defined = catalogue.defined(document.value)
    if defined is None:
        text = f"there is no schema for it{catalogue.near(document.value)}"
        return _without_schema(document, subject, text)
    version = defined.version.name
    if defined.version.schema is None:
        text = f"version {version} of {defined.definition.name} has no schema"
        return replace(_without_schema(document, subject, text), version=version)
    try:
        answer, unknown = _ask(document.value, defined, question, old)
    except MalformedValueError as error:
        path = error.finding.path if error.finding is not None else ()
        answer, unknown = Answer(), ()
        found = [_finding(document, path, "decode", str(error))]
    except SchemaParseError as error:
        return replace(_without_schema(document, subject, str(error)), version=version)
    else:
        found = [_violation(document, one, question.profile) for one in answer.errors]
    status = ObjectStatus.INVALID if found else ObjectStatus.VALID
    for one in answer.unchecked:
        text = f"{render_path(one.path)}: a validation rule was not checked: {one.detail}"
        found.append(_finding(document, one.path, "rule-not-checked", text, Level.WARNING))
    found += [
        _finding(
            document, one.path, "forgiven", f"forgiven, since it was so before: {one}", Level.NOTE
        )
        for one in answer.forgiven
    ]
    found += [_unknown(document, path, defined) for path in unknown]
    if answer.unchecked and status is ObjectStatus.VALID:
        status = ObjectStatus.NOT_CHECKED
    return Validated(
        subject=subject,
        status=status,
        version=version,
        findings=tuple(found),
        rules_not_checked=len(answer.unchecked),
    )


def _ask(
    value: JSON, defined: Defined, question: Question, old: JSON
) -> tuple[Answer, tuple[Path, ...]]:
    profile = question.profile
    structural = defined.structural(profile)
    obj, removed = _normal(value, defined, profile)
    if profile is Profile.KEP:
        return Answer(schema.validate(obj, structural, profile=profile)), removed
    resource = crd.resource_of(defined.definition, defined.version)
    namespace = question.namespace if resource.is_namespaced else ""
    obj = _placed(obj, namespace)
    if old is not None:
        before = _versioned(_placed(_normal(old, defined, profile)[0], namespace))
        answer = schema.check_update(_versioned(obj), before, resource, rules=_RULES)
        # It says twice what is wrong with metadata.
        return answer._replace(errors=tuple({str(e): e for e in answer.errors}.values())), removed
    return schema.check_creation(obj, resource, rules=_RULES), removed


def _placed(obj: dict[str, JSON], namespace: str) -> dict[str, JSON]:
    # What kubectl adds to a manifest, and the server to a name that it makes.
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return obj
    placed = {"namespace": namespace, **metadata} if namespace else dict(metadata)
    generate = metadata.get("generateName")
    if isinstance(generate, str) and generate and not metadata.get("name"):
        placed["name"] = f"{generate}xxxxx"
    return {**obj, "metadata": placed}


def _versioned(obj: dict[str, JSON]) -> dict[str, JSON]:
    # Whoever sends an update has read the object before; a file need not say so.
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
    # What names its kind is an object before and after.
    return (normal.value if isinstance(normal.value, dict) else {}), normal.removed


def _without_schema(document: Document, subject: Subject, text: str) -> Validated:
    finding = _finding(document, (), "no-schema", text, Level.WARNING)
    return Validated(subject=subject, status=ObjectStatus.NO_SCHEMA, findings=(finding,))


def _violation(document: Document, error: FieldError, profile: Profile) -> Finding:
    text = render_validation(error, profile=profile)
    return _finding(document, error.path, error.origin or "rule", text)


def _unknown(document: Document, path: Path, defined: Defined) -> Finding:
    what = "an API server drops it"
    if defined.definition.preserve_unknown_fields:
        what = "an API server drops it from metadata"
    text = f"{render_unknown(path)}: unknown field: {what}"
    return _finding(document, path, "unknown-field", text, Level.WARNING)


def _finding(
    document: Document, path: Path, rule: str, text: str, level: Level = Level.ERROR
) -> Finding:
    return Finding(
        level=level,
        rule=f"validate/{rule}",
        subject=document.subject(named(document.value), path),
        message=text,
        path=render_path(path) if path else "",
    )
