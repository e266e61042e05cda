"""
Runs a file of test vectors against ``espalier``: ``python -m tests.vectors [FILE] [--ops a,b]``.

A vector says what one operation makes of one input. Operations and options that are not built count
as failed.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from espalier import crd, schema
from espalier.errors import MalformedValueError, SchemaParseError
from espalier.paths import JSON, Step
from espalier.schema import Nulls, Profile, Structural
from espalier.schema.structural.invariants import render_structural
from espalier.schema.validation.default_values import default_judge
from espalier.schema.validation.defaults import check_defaults
from espalier.schema.validation.walk import check_value, render_validation
from espalier.schema.values import copy_json, equal_json
from tests.differential import readers

DEFAULT_FILE = Path(__file__).parent / "data" / "vectors.json"
FOUND_FILE = DEFAULT_FILE.with_name("found.json")
"""What was found by comparing with the API server's packages."""

_REQUIRED = frozenset({"id", "op", "profile", "schema", "input", "expected"})


class NotUnderstoodError(Exception):
    """
    A file, a vector or an option makes no sense to this runner.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Vector:
    """
    One vector as read.
    """

    id: str
    op: str
    profile: Profile
    schema: JSON
    input: JSON
    options: dict[str, JSON]
    expected: dict[str, JSON]
    errors_ordered: bool
    needs: frozenset[str]

    def option(self, name: str, *, default: JSON) -> JSON:
        return self.options.get(name, default)


def read_vectors(path: Path) -> Iterator[Vector | str]:
    """
    Read all vectors of a file.

    Yields:
        The vectors; for one that is malformed, what is wrong with it.

    Raises:
        NotUnderstoodError: It is no list of vectors.
    """
    try:
        listed = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise NotUnderstoodError(f"{path}: {error}") from error
    if not isinstance(listed, list) or not listed:
        raise NotUnderstoodError(f"{path}: not a list of vectors")
    seen: set[str] = set()
    for index, raw in enumerate(listed):
        where = f"vector {index}"
        try:
            vector = _read_vector(raw, where)
        except NotUnderstoodError as error:
            yield str(error)
            continue
        yield f"{where}: a second {vector.id}" if vector.id in seen else vector
        seen.add(vector.id)


def _read_vector(raw: JSON, where: str) -> Vector:
    if not isinstance(raw, dict):
        raise NotUnderstoodError(f"{where}: not an object")
    missing = sorted(_REQUIRED - raw.keys())
    if missing:
        raise NotUnderstoodError(f"{where}: without {', '.join(missing)}")
    id_, op, options, expected = raw["id"], raw["op"], raw.get("options") or {}, raw["expected"]
    if not (isinstance(id_, str) and isinstance(op, str)):
        raise NotUnderstoodError(f"{where}: id and op must be strings")
    if not (isinstance(options, dict) and isinstance(expected, dict) and expected):
        raise NotUnderstoodError(f"{where}: options and expected must be objects")
    try:
        profile = Profile(raw["profile"])
    except ValueError as error:
        raise NotUnderstoodError(f"{where}: {error}") from error
    return Vector(
        id=id_,
        op=op,
        profile=profile,
        schema=raw["schema"],
        input=raw["input"],
        options=options,
        expected=expected,
        errors_ordered=raw.get("errors_ordered") is not False,
        needs=_read_needs(raw.get("needs")),
    )


def _read_needs(raw: JSON) -> frozenset[str]:
    listed = raw or []
    if not isinstance(listed, list) or not all(isinstance(need, str) for need in listed):
        raise NotUnderstoodError("needs must be a list of strings")
    return frozenset(map(str, listed))


def run(vector: Vector) -> dict[str, JSON]:
    """
    Do what a vector asks for.

    Returns:
        What was got, in the form of ``expected``.

    Raises:
        NotUnderstoodError: Its operation is not built, or one of its options is unknown.
    """
    if vector.op not in OPS:
        raise NotUnderstoodError(f"the operation {vector.op} is not built")
    known, operation = OPS[vector.op]
    unknown = sorted(vector.options.keys() - known)
    if unknown:
        raise NotUnderstoodError(f"unknown options: {', '.join(unknown)}")
    before = copy_json(vector.input)
    try:
        got = operation(vector)
    except SchemaParseError as error:
        got = {"parse_error": str(error)}
    except MalformedValueError as error:
        got = {"error": str(error)}
    if not equal_json(before, vector.input):
        raise AssertionError("the input was changed")
    return got


def agrees(vector: Vector, got: dict[str, JSON]) -> bool:
    """
    Tell whether what was got is what was expected.
    """
    expected: JSON = vector.expected
    if not vector.errors_ordered:
        expected, got = _unordered(vector.expected), _unordered(got)
    return equal_json(expected, got)


def _unordered(result: dict[str, JSON]) -> dict[str, JSON]:
    return {
        key: sorted(value, key=str) if isinstance(value, list) else value
        for key, value in result.items()
    }


def _structural(vector: Vector) -> dict[str, JSON]:
    path = _path_of(vector.option("path", default=""))
    parsed = schema.parse(vector.schema, profile=vector.profile)
    errors = schema.check_structural(parsed, profile=vector.profile, path=path)
    texts = [render_structural(e, profile=vector.profile, path=path) for e in errors]
    return {"errors": list(texts)}


def _path_of(text: JSON) -> tuple[Step, ...]:
    # Rendered paths of schemas have indexes, but no keys in brackets.
    if not isinstance(text, str):
        raise NotUnderstoodError("options.path must be a string")
    steps: list[Step] = []
    for part in text.split(".") if text else ():
        name, _, index = part.rstrip("]").partition("[")
        steps.append(name)
        if index:
            steps.append(int(index))
    return tuple(steps)


def _condition(vector: Vector) -> dict[str, JSON]:
    made = crd.nonstructural_condition(crd.read_definition(vector.input))
    if made is None:
        return {"condition": None}
    return {
        "condition": {
            "type": made.type,
            "status": made.status,
            "reason": made.reason,
            "message": made.message,
        }
    }


def _prune(vector: Vector) -> dict[str, JSON]:
    pruned = schema.prune(
        vector.input,
        _parsed(vector),
        profile=vector.profile,
        is_resource=vector.option("resourceRoot", default=True) is True,
        strict_types=vector.option("strictTypes", default=False) is True,
    )
    if vector.profile is Profile.KEP:
        return {"object": pruned.value}
    return {"object": pruned.value, "unknown": list(pruned.unknown())}


def _nulls(vector: Vector) -> dict[str, JSON]:
    return {"object": schema.drop_nulls(vector.input, _parsed(vector)).value}


def _default(vector: Vector) -> dict[str, JSON]:
    defaulted = schema.default(
        vector.input, _parsed(vector), profile=vector.profile, nulls=_nulls_of(vector)
    )
    return {"object": defaulted.value}


def _normalize(vector: Vector) -> dict[str, JSON]:
    metadata = vector.option("metadata", default="strict")
    if metadata not in ("strict", "drop"):
        raise NotUnderstoodError("options.metadata must be strict or drop")
    normalized = schema.normalize(
        vector.input,
        _parsed(vector),
        profile=vector.profile,
        nulls=_nulls_of(vector),
        drop_malformed_metadata=metadata == "drop",
        preserve_unknown_fields=vector.option("preserveUnknownFields", default=False) is True,
    )
    return {"object": normalized.value}


def _unfold(vector: Vector) -> dict[str, JSON]:
    return _published(vector, lambda parsed: schema.unfold(parsed, profile=vector.profile))


def _strip(vector: Vector) -> dict[str, JSON]:
    return _published(vector, schema.strip)


def _publish_v2(vector: Vector) -> dict[str, JSON]:
    return _published(vector, schema.convert_to_v2)


def _published(vector: Vector, change: Callable[[Structural], Structural]) -> dict[str, JSON]:
    parsed = _parsed(vector)
    if parsed is None:
        return {"schema": None}
    return {"schema": schema.render(change(parsed), profile=vector.profile)}


def _defaults_check(vector: Vector) -> dict[str, JSON]:
    path = _path_of(vector.option("path", default=""))
    judge = default_judge(profile=vector.profile)
    errors = check_defaults(_parsed(vector), profile=vector.profile, judge=judge, path=path)
    texts = [render_structural(e, profile=vector.profile, path=path) for e in errors]
    return {"errors": list(texts)}


def _crd_check(vector: Vector) -> dict[str, JSON]:
    rejections = crd.check_definition(vector.input, vector.option("old", default=None))
    return {"errors": [str(rejection) for rejection in rejections]}


def _validate(vector: Vector) -> dict[str, JSON]:
    root = vector.option("root", default="")
    if not isinstance(root, str):
        raise NotUnderstoodError("options.root must be a string")
    structural = _parsed(vector)
    if vector.profile is Profile.KEP:
        findings = schema.validate(vector.input, structural, profile=vector.profile, root=root)
    else:
        answer = check_value(vector.input, structural, old=vector.option("old", default=None))
        findings = (*answer.errors, *answer.unchecked)
    return {"errors": [render_validation(one, profile=vector.profile) for one in findings]}


def _parsed(vector: Vector) -> Structural | None:
    return schema.parse(vector.schema, profile=vector.profile)


def _nulls_of(vector: Vector) -> Nulls:
    try:
        return Nulls(vector.option("nulls", default="normalize"))
    except ValueError as error:
        raise NotUnderstoodError(f"options.nulls: {error}") from error


_READERS = (
    *("url.Parse", "url.ParseRequestURI", "time.Parse", "time.ParseDuration"),
    *("strfmt.ParseDuration", "strfmt.ParseDateTime"),
)


def _reading(op: str) -> Callable[[Vector], dict[str, JSON]]:
    return lambda vector: readers.read(op, vector.input, vector.options)


OPS: dict[str, tuple[frozenset[str], Callable[[Vector], dict[str, JSON]]]] = {
    "structural": (frozenset({"path"}), _structural),
    "condition": (frozenset(), _condition),
    "prune": (frozenset({"resourceRoot", "strictTypes"}), _prune),
    "nulls": (frozenset(), _nulls),
    "default": (frozenset({"nulls"}), _default),
    "normalize": (frozenset({"nulls", "metadata", "preserveUnknownFields"}), _normalize),
    "unfold": (frozenset(), _unfold),
    "strip": (frozenset(), _strip),
    "publish-v2": (frozenset(), _publish_v2),
    "defaults-check": (frozenset({"path"}), _defaults_check),
    "crd-check": (frozenset({"old"}), _crd_check),
    "validate": (frozenset({"root", "old"}), _validate),
    **{op: (frozenset({"layout"}), _reading(op)) for op in _READERS},
}
"""The operations that are built, and the options that each understands."""


def main(arguments: Sequence[str]) -> int:
    """
    Run vectors as the command line asks for; return the exit code.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.vectors", description="Run vectors.")
    parser.add_argument("file", nargs="?", type=Path, default=DEFAULT_FILE)
    parser.add_argument("--ops", default="", help="only these, with commas between them")
    options = parser.parse_args(arguments)
    asked = frozenset(filter(None, options.ops.split(",")))
    try:
        return _run_file(options.file, asked)
    except NotUnderstoodError as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _run_file(path: Path, asked: frozenset[str]) -> int:
    unknown = sorted(asked - OPS.keys())
    if unknown:
        raise NotUnderstoodError(f"no such operations: {', '.join(unknown)}")
    passed, failed = Counter[str](), Counter[str]()
    for vector in read_vectors(path):
        if isinstance(vector, str):
            _say(f"FAILED {vector}")
            failed["malformed"] += 1
        elif not asked or vector.op in asked:
            (passed if _passes(vector) else failed)[vector.op] += 1
    for op in sorted(passed | failed):
        _say(f"{op}: {passed[op]} passed, {failed[op]} failed")
    missing = sorted(asked - passed.keys() - failed.keys())
    for op in missing:
        _say(f"{op}: no vectors in {path}")
    _say(f"{passed.total()} passed, {failed.total()} failed")
    return 1 if failed or missing or not passed else 0


def _passes(vector: Vector) -> bool:
    try:
        got = run(vector)
    except NotUnderstoodError as error:
        _say(f"FAILED {vector.id}: not understood: {error}")
        return False
    except Exception as error:  # noqa: BLE001 - a crash fails its vector, and the others still run
        _say(f"FAILED {vector.id}: {type(error).__name__}: {error}")
        return False
    if agrees(vector, got):
        return True
    _say(f"FAILED {vector.id}")
    _say(f"  expected {orjson.dumps(vector.expected).decode()}")
    _say(f"  got      {orjson.dumps(got).decode()}")
    return False


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
