"""
Runs a folder of cases against ``espalier``: ``python -m tests.cases [FOLDER]``.

A case is a folder: a definition (``crd.yaml``), objects, and ``expect.yaml``, what an API server
was seen to make of them.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from espalier import crd, schema
from espalier.cli.input.files import read_documents
from espalier.crd import Definition
from espalier.errors import EspalierError, MalformedValueError
from espalier.paths import JSON, render_path, render_unknown
from espalier.schema import Normalized, Profile
from espalier.schema.requests.creation import prepare_creation
from espalier.schema.values import equal_json

DEFAULT_FOLDER = Path(__file__).parent / "data" / "cases"


class MismatchError(Exception):
    """
    Espalier says something else than the API server did.
    """


def only_document(path: Path) -> dict[str, JSON]:
    """
    Read the one document of a file.
    """
    (document,) = read_documents(str(path))
    if not isinstance(document.value, dict):
        raise MismatchError(f"{path.name}: not an object")
    return document.value


def messages(listed: JSON) -> list[str]:
    """
    Give the texts of expected findings, which are written as texts or as objects; sorted.
    """
    found = listed if isinstance(listed, list) else []
    return sorted(str(one["message"] if isinstance(one, dict) else one) for one in found)


def decode(definition: Definition, obj: dict[str, JSON]) -> Normalized:
    """
    Decode an object as the API server does.

    Raises:
        MalformedValueError: The API server could not.
    """
    named = str(obj["apiVersion"]).rpartition("/")[2]
    # A version that there is not specifies nothing.
    schemas = {version.name: crd.structural_of(version) for version in definition.versions}
    return schema.normalize(
        obj,
        schemas.get(named),
        profile=Profile.APISERVER,
        preserve_unknown_fields=definition.preserve_unknown_fields,
    )


def verdict(manifest: JSON) -> tuple[str | None, list[str], str]:
    """
    Give the reason of the condition, its findings (sorted), and the message if it has none.
    """
    definition = crd.read_definition(manifest)
    made = crd.nonstructural_condition(definition)
    if made is None:
        return None, [], ""
    if made.reason == "StructuralError":
        return made.reason, [], made.message
    findings = crd.structural_findings(definition)
    return made.reason, sorted(str(found) for found in findings), ""


def check_verdict(manifest: JSON, expected: JSON, message: JSON) -> None:
    """
    Compare the verdict on the structure with the expected one.

    Raises:
        MismatchError: They differ.
    """
    wanted = expected if isinstance(expected, dict) else {}
    reason, violations, told = verdict(manifest)
    if (reason, violations) != (wanted.get("reason"), messages(wanted.get("violations"))):
        raise MismatchError(f"got {reason} {violations}, expected {wanted}")
    # Which of several unreadable keywords the server meets first is up to its map order.
    unreadable = re.compile(r"failed to check validation schema for version \w+: OpenAPIV3Schema '")
    if told != (message or "") and not (unreadable.match(told) and unreadable.match(str(message))):
        raise MismatchError(f"got {told}, expected {message}")


def check_case(case: Path) -> Iterator[tuple[str, Exception | None]]:
    """
    Check one case.

    Yields:
        The name of each check, and why it failed; None if it did not.
    """
    expect = only_document(case / "expect.yaml")
    manifest = only_document(case / "crd.yaml")
    told = expect.get("crd")
    structure = told.get("nonStructuralSchema") if isinstance(told, dict) else None
    message = structure.get("message") if isinstance(structure, dict) else None
    yield "crd.yaml", _failure_of_verdict(manifest, structure, message)
    if isinstance(told, dict) and "createRejections" in told:
        yield "rejections", _failure_of_rejections(manifest, messages(told["createRejections"]))
    if isinstance(told, dict) and "lints" in told:
        yield "lints", _failure_of_lints(manifest, messages(told["lints"]))
    objects = expect.get("objects")
    for name, wanted in (objects if isinstance(objects, dict) else {}).items():
        if isinstance(wanted, dict) and {"result", "decodeError"} & wanted.keys():
            obj = only_document(case / name)
            yield name, _failure_of_object(manifest, obj, wanted)
            if "errors" in wanted:
                errors = wanted.get("errorsInNewerReference", wanted["errors"])
                yield f"{name}: errors", _failure_of_errors(manifest, obj, messages(errors))
        created = wanted.get("created") if isinstance(wanted, dict) else None
        if isinstance(created, dict):
            obj = only_document(case / name)
            yield f"{name}: created", _failure_of_creation(manifest, obj, created)


def _failure_of_verdict(manifest: JSON, expected: JSON, message: JSON) -> Exception | None:
    try:
        check_verdict(manifest, expected, message)
    except (EspalierError, MismatchError) as error:
        return error
    return None


def _failure_of_rejections(manifest: JSON, expected: list[str]) -> Exception | None:
    try:
        got = sorted(str(rejection) for rejection in crd.check_definition(manifest))
    except EspalierError as error:
        return error
    extra = [text for text in got if text not in expected]
    missing = [text for text in expected if text not in got]
    if extra or missing:
        return MismatchError(f"refused for {extra} too, but not for {missing}")
    return None


def _failure_of_lints(manifest: JSON, expected: list[str]) -> Exception | None:
    linted = crd.lint(crd.read_definition(manifest))
    got = sorted(f"{render_path(one.path)} {one.rule}" for one in linted)
    return None if got == expected else MismatchError(f"got {got}, expected {expected}")


def _failure_of_object(
    manifest: JSON, obj: dict[str, JSON], wanted: dict[str, JSON]
) -> Exception | None:
    try:
        decoded = decode(crd.read_definition(manifest), obj)
    except MalformedValueError as error:
        same = str(error) == wanted.get("decodeError")
        return None if same else error
    except EspalierError as error:
        return error
    if "result" not in wanted:
        return MismatchError(f"expected the error {wanted.get('decodeError')}")
    removed = sorted(map(render_unknown, decoded.removed))
    if removed != wanted.get("prunedPaths"):
        return MismatchError(f"removed {removed}, expected {wanted.get('prunedPaths')}")
    if not equal_json(decoded.value, wanted["result"]):
        return MismatchError(f"got {decoded.value}, expected {wanted['result']}")
    return None


# As servers before 1.37 say it.
_OLDER = {
    'metadata.ownerReferences.uid: Invalid value: "": must not be empty': (
        "metadata.ownerReferences[0].uid: Required value: must not be empty"
    )
}
# A quotient that is slightly below an integer passes since 1.37.
_PASSES_NOW = ("spec.cents: Invalid value: 4.35: spec.cents in body should be a multiple of 0.01",)


def _failure_of_errors(
    manifest: JSON, obj: dict[str, JSON], expected: list[str]
) -> Exception | None:
    definition = crd.read_definition(manifest)
    decoded = decode(definition, obj).value
    named = str(obj["apiVersion"]).rpartition("/")[2]
    if not isinstance(decoded, dict) or named not in {one.name for one in definition.versions}:
        return None
    resource = crd.resource_of(definition, definition.version(named))
    answer = schema.check_creation(_placed(decoded, definition), resource)
    got = sorted(str(error) for error in (*answer.errors, *answer.unchecked))
    wanted = sorted(_OLDER.get(text, text) for text in expected if text not in _PASSES_NOW)
    return None if got == wanted else MismatchError(f"got {got}, expected {wanted}")


def _failure_of_creation(
    manifest: JSON, obj: dict[str, JSON], expected: dict[str, JSON]
) -> Exception | None:
    definition = crd.read_definition(manifest)
    resource = crd.resource_of(
        definition, definition.version(str(obj["apiVersion"]).rpartition("/")[2])
    )
    decoded = decode(definition, obj).value
    created = prepare_creation(
        decoded if isinstance(decoded, dict) else {},
        is_namespaced=resource.is_namespaced,
        has_status=resource.has_status,
        namespace="default",
    )
    got = sorted(str(error) for error in schema.check_creation(created, resource).errors)
    if got != messages(expected["errors"]):
        return MismatchError(f"got {got}, expected {expected['errors']}")
    if not equal_json(created, expected["stored"]):
        return MismatchError(f"stored {created}, expected {expected['stored']}")
    return None


def _placed(obj: dict[str, JSON], definition: Definition) -> dict[str, JSON]:
    # The namespace is that of the request.
    metadata = obj.get("metadata") or {}
    if not definition.namespaced or not isinstance(metadata, dict):
        return obj
    return {**obj, "metadata": {"namespace": "default", **metadata}}


def report(results: Iterator[tuple[str, Exception | None]]) -> int:
    """
    Print the failures and the counts; return the exit code.
    """
    passed = failed = 0
    for name, failure in results:
        if failure is None:
            passed += 1
        else:
            failed += 1
            sys.stdout.write(f"FAILED {name}: {failure}\n")
    sys.stdout.write(f"{passed} passed, {failed} failed\n")
    return 0 if passed and not failed else 1


def _run(folder: Path) -> Iterator[tuple[str, Exception | None]]:
    for case in sorted(path.parent for path in folder.glob("*/expect.yaml")):
        try:
            for name, failure in check_case(case):
                yield f"{case.name}/{name}", failure
        except (EspalierError, MismatchError, OSError, ValueError) as error:
            yield case.name, error


def main(arguments: Sequence[str]) -> int:
    """
    Run as the command line asks for; return the exit code.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.cases", description="Run cases.")
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT_FOLDER)
    return report(_run(parser.parse_args(arguments).folder))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
