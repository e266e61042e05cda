"""
Check one CustomResourceDefinition: its structure, what an API server refuses, and warnings.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from msgspec import Struct

from espalier import crd, schema
from espalier.cli.checks.shared_faults import reported_once
from espalier.cli.input.files import Document
from espalier.cli.result import Finding, Level, Subject
from espalier.crd import Condition, Definition, Version
from espalier.crd.advice.warnings import warnings_of
from espalier.crd.changes.change import ChangePolicy, Severity
from espalier.crd.changes.definitions import definition_changes
from espalier.crd.internal.definition import Internal, read_internal
from espalier.crd.internal.parsed_schema import ParsedSchema
from espalier.crd.manifest_paths import path_in_manifest
from espalier.crd.validation.definition import rejections
from espalier.errors import MalformedDefinitionError, SchemaParseError, SourceError
from espalier.paths import JSON, Path, render_path
from espalier.plurals import counted
from espalier.schema import Profile
from espalier.schema.structural.hints import fix_hint
from espalier.schema.structural.invariants import render_structural


class DefinitionVerdict(Struct, frozen=True, kw_only=True):
    """
    The findings on one definition; small enough to be sent between processes.

    Attributes:
        structural: The number of structural findings under each profile.
        refusals: The number of reasons for which an API server would refuse it.
        is_update: Whether it was checked as an update of an older definition.
        findings: All findings, in the order of their positions in the file.
        unchecked: The names of the versions without a schema.
        condition: ``NonStructuralSchema`` as a server would write it; None if it is structural.
    """

    subject: Subject
    structural: Mapping[Profile, int]
    refusals: int
    is_update: bool
    findings: tuple[Finding, ...]
    unchecked: tuple[str, ...]
    condition: Condition | None

    @property
    def profiles_differ(self) -> bool:
        """
        Whether the definition is structural under one profile only.
        """
        return len({bool(number) for number in self.structural.values()}) > 1

    def is_structural(self, profile: Profile) -> bool:
        """
        Report whether the definition is structural under a profile.
        """
        return not self.structural[profile]


def judge(
    document: Document,
    *,
    profile: Profile,
    old: JSON = None,
    policy: ChangePolicy | None = None,
    minor: int | None = None,
) -> DefinitionVerdict:
    """
    Check a definition.

    Args:
        profile: The profile whose structural findings are reported.
        old: The definition that it replaces; None checks it as a new one.
        policy: What the changes from the old definition count as; None does not report them.
        minor: The oldest minor version of API servers to answer for; None for the newest.

    Raises:
        SourceError: The definition is malformed; the error has the line.
    """
    try:
        definition = crd.read_definition(document.value)
        judged = _DefinitionJudge(document, definition, old)
        found = {known: tuple(judged.structural(known)) for known in Profile}
        structural = {known: tuple(reported_once(each)) for known, each in found.items()}
        refusals = tuple(judged.refusals())
        others = [*judged.warnings(), *judged.lints(), *judged.notes(profile, structural)]
        if policy is not None:
            others += judged.changes(policy)
        if minor is not None:
            others += judged.needs(minor)
    except MalformedDefinitionError as error:
        raise _malformed(document, error) from error
    reported = set(map(_fault_of, found[profile]))
    fresh = [one for one in refusals if _fault_of(one) not in reported]
    return DefinitionVerdict(
        subject=judged.subject,
        structural={known: len(each) for known, each in structural.items()},
        refusals=len(refusals),
        is_update=old is not None,
        findings=_in_order((*structural[profile], *fresh, *reported_once(others))),
        unchecked=tuple(v.name for v in definition.versions if v.schema is None),
        # A server writes the condition only on a definition that is not structural.
        condition=crd.nonstructural_condition(definition)
        if structural[Profile.APISERVER]
        else None,
    )


def findings_as_update(document: Document, old: JSON) -> tuple[list[Finding], list[Finding]]:
    """
    Return what an API server has against a definition, and what it and Espalier remark on it.

    Args:
        old: The definition that it replaces; None checks it as a new one.

    Returns:
        The refusals, and the warnings.

    Raises:
        MalformedDefinitionError: The definition is malformed.
    """
    judged = _DefinitionJudge(document, crd.read_definition(document.value), old)
    return list(judged.refusals()), [*judged.warnings(), *judged.lints()]


def _fault_of(finding: Finding) -> tuple[object, ...]:
    # By the text that has it: the paths of v1beta1, and of an alias, may be others.
    subject = finding.subject
    place = finding.path if subject.line is None else (subject.line, subject.column)
    return place, finding.rule.partition("/")[2]


def _malformed(document: Document, error: MalformedDefinitionError) -> SourceError:
    mark = document.mark(error.path)
    detail = str(error) if mark else f"document {document.number}: {error}"
    return SourceError(document.source, detail, mark.line if mark else None)


def _in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda one: (one.subject.line or 0, one.subject.column or 0)))


class _DefinitionJudge:
    """
    Run all checks on one definition, which is parsed only once.
    """

    def __init__(self, document: Document, definition: Definition, old: JSON) -> None:
        self.document = document
        self.definition = definition
        self.old = old

    @cached_property
    def parsed(self) -> tuple[ParsedSchema, ...]:
        return tuple(ParsedSchema(version.schema) for version in self.definition.versions)

    @cached_property
    def internal(self) -> tuple[Internal, Internal | None]:
        before = None if self.old is None else read_internal(self.old)
        return read_internal(self.document.value), before

    @property
    def subject(self) -> Subject:
        return self.document.subject(self.definition.name)

    def structural(self, profile: Profile) -> Iterator[Finding]:
        # Only the API server's rules count preserveUnknownFields as not structural.
        if self.definition.preserve_unknown_fields and profile is Profile.APISERVER:
            path: Path = ("spec", "preserveUnknownFields")
            text = f"{render_path(path)}: Invalid value: true: must be false"
            yield self._finding("structural/preserveUnknownFields", path, text)
        for index, version in enumerate(self.definition.versions):
            yield from self._version(version, index, profile)

    def _version(self, version: Version, index: int, profile: Profile) -> Iterator[Finding]:
        path = ("spec", "versions", index, "schema", "openAPIV3Schema")
        try:
            structural = self.parsed[index].under(profile)
        except SchemaParseError as error:
            text = f"{render_path(path)}: {error}"
            yield self._finding("structural/parse", path, text, version=version.name)
            return
        for found in schema.check_structural(structural, profile=profile, path=path):
            text = render_structural(found, profile=profile).removeprefix(".")
            hint = fix_hint(found, version.schema, path=path)
            rule = f"structural/{found.origin}"
            made = self._finding(rule, found.path, text, version=version.name)
            yield replace(made, hint=hint)

    def refusals(self) -> Iterator[Finding]:
        act = "create" if self.old is None else "update"
        for found in rejections(*self.internal):
            text = f"the API server refuses to {act} it: {found}"
            made = self._finding(f"{act}/{found.error.origin or 'rule'}", found.manifest_path, text)
            yield replace(made, hint=crd.hint_for(found, self.document.value))

    def warnings(self) -> Iterator[Finding]:
        for warned in warnings_of(self.document.value, *self.internal):
            text = f"the API server warns: {warned.text}"
            rule = f"server/{warned.rule}"
            made = self._finding(rule, warned.path, text, level=Level.WARNING)
            yield replace(made, hint=crd.hint_for(warned))

    def lints(self) -> Iterator[Finding]:
        for lint in crd.lint(self.definition, parsed=self.parsed):
            text = f"{render_path(lint.path)}: {lint.detail}"
            made = self._finding(f"lint/{lint.rule}", lint.path, text, level=Level.WARNING)
            yield replace(made, hint=crd.hint_for(lint))

    def needs(self, minor: int) -> Iterator[Finding]:
        from espalier.crd.advice.server_versions import needs

        for need in needs(self.definition, self.document.value, minor):
            level = Level.ERROR if need.is_refused else Level.WARNING
            text = f"{render_path(need.path)}: {need.detail}"
            yield self._finding("version/needs", need.path, text, level=level)

    def changes(self, policy: ChangePolicy) -> Iterator[Finding]:
        if self.old is None:
            return
        for change in definition_changes(crd.read_definition(self.old), self.definition):
            severity = policy.severity_of(change)
            if severity is not Severity.ALLOWED:
                effect = f": {change.effect}" if change.effect else ""
                text = f"{render_path(change.path)}: {change.detail}{effect}"
                level = Level.ERROR if severity is Severity.ERROR else Level.WARNING
                rule, version = f"change/{change.kind}", change.version
                yield self._finding(rule, change.path, text, level=level, version=version)

    def notes(
        self, profile: Profile, structural: Mapping[Profile, Sequence[Finding]]
    ) -> Iterator[Finding]:
        for index, version in enumerate(self.definition.versions):
            path: Path = ("spec", "versions", index)
            if version.schema is None:
                text = f"version {version.name} has no schema, so there is nothing to check"
                yield self._note("no-schema", path, text, version)
        other = next(known for known in Profile if known is not profile)
        if bool(structural[profile]) != bool(structural[other]):
            results = {known: _structural_text(len(structural[known])) for known in Profile}
            text = (
                f"the profiles differ: {results[profile]} under {profile.value},"
                f" {results[other]} under {other.value}; see --profile {other.value}"
            )
            yield self._finding("note/profiles-differ", (), text, level=Level.NOTE)

    def _note(self, rule: str, path: Path, text: str, version: Version) -> Finding:
        return self._finding(f"note/{rule}", path, text, level=Level.NOTE, version=version.name)

    def _finding(
        self,
        rule: str,
        path: Path,
        text: str,
        *,
        level: Level = Level.ERROR,
        version: str = "",
    ) -> Finding:
        written = path_in_manifest(path, self.document.value)
        return Finding(
            level=level,
            rule=rule,
            subject=self.document.subject(self.definition.name, written),
            message=text,
            path=render_path(path) if path else "",
            version=version or self._version_of(path),
        )

    def _version_of(self, path: Path) -> str:
        match path:
            case ("spec", "versions", int(index), *_) if index < len(self.definition.versions):
                return self.definition.versions[index].name
            case _:
                return ""


def _structural_text(findings: int) -> str:
    return f"not structural ({counted(findings, 'finding')})" if findings else "structural"
