"""
The structural verdict on one CustomResourceDefinition of a file, under both profiles.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from espalier import crd, schema
from espalier.cli.documents import Mark
from espalier.cli.reading import Document
from espalier.crd import Definition, Version
from espalier.errors import MalformedDefinitionError, SchemaParseError, SourceError
from espalier.findings import FieldError
from espalier.paths import JSON, Path, render_path
from espalier.schema import Profile

_GROUP = "apiextensions.k8s.io/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """
    What is wrong at one place.

    Attributes:
        version: The version whose schema it is in; empty for the definition as a whole.
        where: File, line and column, or as much as is known of them.
        text: Path and message, in the words of the profile.
        error: None where the schema cannot even be parsed.
        hint: What to do about it, in a few words; may be empty.
    """

    version: str
    path: Path
    where: str
    mark: Mark | None
    text: str
    error: FieldError | None
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """
    The findings on one definition, under each profile.

    Attributes:
        unchecked: The versions without a schema.
    """

    document: Document
    definition: Definition
    findings: Mapping[Profile, tuple[Finding, ...]] = field(hash=False)
    unchecked: tuple[str, ...]

    def is_structural(self, profile: Profile) -> bool:
        """
        Whether the definition is structural under a profile.
        """
        return not self.findings[profile]


def is_definition(document: Document) -> bool:
    """
    Whether a document says that it is a CustomResourceDefinition, of whatever version.
    """
    match document.value:
        case {"kind": "CustomResourceDefinition", "apiVersion": str(api_version)}:
            return api_version.startswith(_GROUP)
        case _:
            return False


def judge(document: Document) -> Verdict:
    """
    Check the schemas of a definition.

    Raises:
        SourceError: It is malformed; says where.
    """
    try:
        definition = crd.read_definition(document.value)
    except MalformedDefinitionError as error:
        mark = document.mark(error.path)
        detail = str(error) if mark else f"document {document.number}: {error}"
        raise SourceError(document.source, detail, mark.line if mark else None) from error
    return Verdict(
        document=document,
        definition=definition,
        findings={profile: tuple(_findings(document, definition, profile)) for profile in Profile},
        unchecked=tuple(v.name for v in definition.versions if v.schema is None),
    )


def _findings(document: Document, definition: Definition, profile: Profile) -> Iterator[Finding]:
    # Only API servers hold preserveUnknownFields against the structure of a definition.
    if definition.preserve_unknown_fields and profile is Profile.APISERVER:
        path: Path = ("spec", "preserveUnknownFields")
        yield _finding(
            document, "", path, f"{render_path(path)}: Invalid value: true: must be false"
        )
    for index, version in enumerate(definition.versions):
        yield from _version_findings(document, version, index, profile)


def _version_findings(
    document: Document, version: Version, index: int, profile: Profile
) -> Iterator[Finding]:
    path = ("spec", "versions", index, "schema", "openAPIV3Schema")
    try:
        structural = schema.parse(version.schema, profile=profile)
    except SchemaParseError as error:
        yield _finding(document, version.name, path, f"{render_path(path)}: {error}")
        return
    for found in schema.check_structural(structural, profile=profile, path=path):
        text = schema.render_structural(found, profile=profile).removeprefix(".")
        hint = schema.fix_hint(found, version.schema, path=path)
        yield replace(_finding(document, version.name, found.path, text, found), hint=hint)


def _finding(
    document: Document, version: str, path: Path, text: str, error: FieldError | None = None
) -> Finding:
    written = _path_in(document.value, path)
    return Finding(
        version=version,
        path=path,
        where=document.where(written),
        mark=document.mark(written),
        text=text,
        error=error,
    )


def _path_in(manifest: JSON, path: Path) -> Path:
    # A v1beta1 definition may have one schema for all versions, above them.
    match manifest, path:
        case (
            {"spec": {"validation": dict(), **spec}},
            ("spec", "versions", int(index), "schema", *below),
        ):
            if not _has_own_schema(spec.get("versions"), index):
                return ("spec", "validation", *below)
        case _:
            pass
    return path


def _has_own_schema(versions: object, index: int) -> bool:
    match versions[index] if isinstance(versions, list) and index < len(versions) else None:
        case {"schema": dict()}:
            return True
        case _:
            return False
