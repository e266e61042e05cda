"""
May a version be dropped from a definition? Everything that speaks against it, with a remedy.
"""

from collections.abc import Iterator

from espalier.cli.checks.definition import findings_as_update
from espalier.cli.input.files import Document
from espalier.cli.result import Finding, Level, Subject
from espalier.crd import Definition
from espalier.engine import VersionUse, enumerated
from espalier.errors import UnknownVersionError
from espalier.names import STORED_OBJECTS_CURRENT
from espalier.paths import JSON
from espalier.plurals import counted

_STORED_VERSIONS = "status.storedVersions"


def drop_findings(
    definition: Definition, manifest: JSON, version: str, use: VersionUse
) -> Iterator[Finding]:
    """
    Yield what speaks against dropping a version: errors forbid it, warnings are doubts.

    Args:
        manifest: The definition as the API server returns it.

    Raises:
        UnknownVersionError: The definition does not have the version, and nothing names it.
    """
    known = {one.name: one for one in definition.versions}
    subject = Subject(name=definition.name)
    if version in known:
        yield from _refusals(definition, manifest, version)
        if version != definition.storage.name:
            yield from _of_serving(definition, version, subject, is_served=known[version].served)
    elif version in definition.stored_versions:
        text = f"{_STORED_VERSIONS} names {version}, which is not in spec.versions any more"
        hint = f"put {version} back with served: false, and run: espalier migrate {definition.name}"
        yield _finding(subject, "stored", text, hint)
    elif not use.managers.objects:
        raise UnknownVersionError(definition.name, version, tuple(known))
    yield from _of_objects(definition, version, use, subject)


def _refusals(definition: Definition, manifest: JSON, version: str) -> Iterator[Finding]:
    if not isinstance(manifest, dict) or not isinstance(manifest.get("spec"), dict):
        return
    spec: dict[str, JSON] = manifest["spec"]  # type: ignore[assignment]  # it was just checked
    listed = spec.get("versions")
    left: list[JSON] = [
        one
        for one in (listed if isinstance(listed, list) else [])
        if not (isinstance(one, dict) and one.get("name") == version)
    ]
    if not left:
        text = "it is the only version"
        hint = "delete the definition if its objects are to go, too"
        yield _finding(Subject(name=definition.name), "only", text, hint)
        return
    changed = Document(source="", number=0, value={**manifest, "spec": {**spec, "versions": left}})
    for found in findings_as_update(changed, manifest)[0]:
        stored = found.path.startswith(_STORED_VERSIONS)
        hint = f"run: espalier migrate {definition.name}" if stored else found.hint
        if version == definition.storage.name and not stored:
            hint = "make another version the storage version, and migrate"
        subject = Subject(name=definition.name)
        yield Finding(
            level=Level.ERROR,
            rule="drop/refused",
            subject=subject,
            message=found.message,
            path=found.path,
            hint=hint,
        )


def _of_serving(
    definition: Definition, version: str, subject: Subject, *, is_served: bool
) -> Iterator[Finding]:
    if is_served:
        text = f"{version} is served: clients may read and write by it"
        hint = "set served: false first, and see that no client fails"
        yield _finding(subject, "served", text, hint, level=Level.WARNING)
    if definition.conversion != "None":
        others = [one.name for one in definition.versions if one.name != version]
        if len(others) == 1:
            text = f"{others[0]} is left alone: the conversion webhook is not called any more"
            yield _finding(subject, "conversion", text, level=Level.NOTE)


def _of_objects(
    definition: Definition, version: str, use: VersionUse, subject: Subject
) -> Iterator[Finding]:
    if use.undecodable:
        number = counted(len(use.undecodable), "object")
        text = f"{number} that the server cannot read: {enumerated(use.undecodable)}"
        hint = f"run: espalier migrate {definition.name}, and do what it says"
        yield _finding(subject, "unreadable", text, hint)
    for one in use.managers.paths:
        named = enumerated((str(key) for key in one.first), total=one.objects)
        text = (
            f"managedFields of {counted(one.objects, 'object')} name {version}, written by"
            f" {one.path}: {named}. Once the server does not know the version, it refuses"
            " server-side apply to them"
        )
        hint = (
            "have the client write another version, set served: false, and run:"
            f" espalier migrate {definition.name}"
        )
        yield _finding(subject, "managed-fields", text, hint)
    is_stored = version in definition.stored_versions or version == definition.storage.name
    if use.objects and not is_stored and not _is_proved(definition):
        text = (
            f"{_STORED_VERSIONS} does not name {version}, but no condition shows that this was"
            " proved: if the list was trimmed by hand, objects may be stored at it. A migration by"
            " the command line writes no condition"
        )
        hint = (
            f"run: espalier migrate {definition.name}, which proves it, or ends at once if that is"
            " done already"
        )
        yield _finding(subject, "unproved", text, hint, level=Level.WARNING)


def _is_proved(definition: Definition) -> bool:
    condition = definition.condition(STORED_OBJECTS_CURRENT)
    return condition is not None and condition.status == "True"


def _finding(
    subject: Subject, rule: str, text: str, hint: str = "", *, level: Level = Level.ERROR
) -> Finding:
    return Finding(level=level, rule=f"drop/{rule}", subject=subject, message=text, hint=hint)
