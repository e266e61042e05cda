"""
Find the schema for an object: definitions, by the kinds that they define.
"""

import functools
from collections.abc import Iterator, Sequence

from espalier import crd, schema
from espalier.cli.checks.documents import is_definition, line_of, problem_of
from espalier.cli.input.files import Document, expand, read_documents
from espalier.cli.result import Problem
from espalier.crd import Definition, Version
from espalier.errors import MalformedDefinitionError, SchemaParseError, SourceError
from espalier.paths import JSON
from espalier.plurals import counted
from espalier.schema import Profile, Resource, Structural
from espalier.schema.values import equal_json


class Defined:
    """
    The definition of an object, and the version that the object names.

    Its schema is read only once for each profile, so that rules and checks compiled from it are
    used for all objects.
    """

    def __init__(self, definition: Definition, version: Version) -> None:
        self.definition = definition
        self.version = version
        self._known: dict[Profile, Structural | None] = {}

    @functools.cached_property
    def resource(self) -> Resource:
        """
        The resource that the version serves.

        Raises:
            SchemaParseError: API servers refuse to read a part of the schema.
        """
        return crd.resource_of(self.definition, self.version)

    def structural(self, profile: Profile) -> Structural | None:
        """
        Return the schema, which is read only once; None if the version has none.

        Raises:
            SchemaParseError: The schema cannot be read, or is not structural.
        """
        if profile not in self._known:
            self._known[profile] = self._read(profile)
        return self._known[profile]

    def _read(self, profile: Profile) -> Structural | None:
        if profile is Profile.APISERVER:
            structural = self.resource.structural
        else:
            structural = schema.parse(self.version.schema, profile=profile)
        found = schema.check_structural(structural, profile=profile)
        if found:
            raise SchemaParseError(
                f"the schema of {self.definition.name}, version {self.version.name}, is not"
                f" structural ({counted(len(found), 'finding')}): see espalier check"
            )
        return structural


class DefinitionCatalogue:
    """
    The definitions that a command was given.

    Attributes:
        minor: The oldest minor version of API servers to answer for; None for the newest.
        problems: The definitions that could not be read.
    """

    def __init__(self, minor: int | None = None) -> None:
        self.minor = minor
        self.problems: list[Problem] = []
        self._defined: dict[tuple[str, str, str], Defined] = {}
        self._sources: dict[tuple[str, str, str], str] = {}
        self._manifests: dict[tuple[str, str, str], JSON] = {}

    def add_sources(self, sources: Sequence[str]) -> None:
        """
        Add the definitions in files, folders and patterns; other documents are ignored.
        """
        for named in sources:
            try:
                found = list(_definitions_in(named))
            except SourceError as error:
                self.problems.append(problem_of(error))
                continue
            if not found:
                text = "no CustomResourceDefinition in it"
                self.problems.append(Problem(source=named, message=text))
            for document in found:
                self.add(document.value, where=document.source, line=line_of(document))

    def add(self, manifest: JSON, *, where: str, line: int | None = None) -> None:
        """
        Add a definition.

        Args:
            where: The source of the definition, for messages.
            line: Its line there, from 1; None if it is not known.
        """
        if self.minor is not None:
            from espalier.crd.advice.server_versions import without_formats

            manifest = without_formats(manifest, self.minor)
        try:
            definition = crd.read_definition(manifest)
        except MalformedDefinitionError as error:
            self.problems.append(Problem(source=where, message=str(error), line=line))
            return
        for version in definition.versions:
            key = (definition.group, version.name, definition.kind)
            if key in self._defined and equal_json(self._manifests[key], manifest):
                # The same file in two folders, as charts have it.
                return
            if key in self._defined:
                text = f"{definition.name} is already defined in {self._sources[key]}"
                self.problems.append(Problem(source=where, message=text, line=line))
                return
            self._defined[key] = Defined(definition, version)
            self._sources[key] = where if line is None else f"{where}:{line}"
            self._manifests[key] = manifest

    def find(self, obj: JSON) -> Defined | None:
        """
        Return the definition and version of an object; None if there is none.
        """
        match obj:
            case {"apiVersion": str(api_version), "kind": str(kind)}:
                group, _, version = api_version.rpartition("/")
                return self._defined.get((group, version, kind))
            case _:
                return None

    def other_versions(self, obj: JSON) -> str:
        """
        Return the end of a message that lists the versions of an object's kind; may be empty.
        """
        known = [one.version.name for one in self.versions_of(obj)]
        return f"; its kind has only {', '.join(known)}" if known else ""

    def versions_of(self, obj: JSON) -> list[Defined]:
        """
        Return all versions of an object's kind; none if there is no definition of it.
        """
        match obj:
            case {"apiVersion": str(api_version), "kind": str(kind)}:
                group = api_version.rpartition("/")[0]
                named = (group, kind)
                return [one for key, one in self._defined.items() if (key[0], key[2]) == named]
            case _:
                return []


def display_name(obj: JSON) -> str:
    """
    Return the name of an object for people, such as ``Widget default/blue``.
    """
    match obj:
        case {"metadata": {"name": str(name), **metadata}}:
            namespace = metadata.get("namespace")
            full = f"{namespace}/{name}" if isinstance(namespace, str) and namespace else name
        case _:
            full = "without a name"
    match obj:
        case {"kind": str(kind)}:
            return f"{kind} {full}"
        case _:
            return full


def _definitions_in(named_source: str) -> Iterator[Document]:
    for source in expand([named_source]):
        yield from (document for document in read_documents(source) if is_definition(document))
