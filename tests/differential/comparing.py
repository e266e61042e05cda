"""
What Espalier answers to a question that the oracle was asked, in the same form.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from types import MappingProxyType

from espalier import schema
from espalier.errors import MalformedValueError, SchemaParseError
from espalier.findings import go_json
from espalier.paths import JSON, render_path
from espalier.schema import Profile, Structural
from tests.differential.oracle import Oracle

SERVER = Profile.APISERVER
PATH = "spec"

Answer = dict[str, JSON]


def _structural(structural: Structural | None, value: JSON) -> Answer:
    _ = value
    findings = schema.check_structural(structural, profile=SERVER, path=(PATH,))
    return {"errors": [str(finding) for finding in findings]}


def _prune(structural: Structural | None, value: JSON) -> Answer:
    pruned = schema.prune(value, structural, profile=SERVER)
    unknown: list[JSON] = [render_path(path) for path in pruned.removed]
    return {"object": pruned.value, "unknown": sorted(unknown, key=str)}


def _nulls(structural: Structural | None, value: JSON) -> Answer:
    return {"object": schema.drop_nulls(value, structural).value}


def _default(structural: Structural | None, value: JSON) -> Answer:
    return {"object": schema.default(value, structural, profile=SERVER).value}


def _normalize_strictly(structural: Structural | None, value: JSON) -> Answer:
    return {"object": schema.normalize(value, structural, profile=SERVER).value}


def _normalize_stored(structural: Structural | None, value: JSON) -> Answer:
    normalized = schema.normalize(value, structural, profile=SERVER, drop_malformed_metadata=True)
    return {"object": normalized.value}


def _normalize_legacy(structural: Structural | None, value: JSON) -> Answer:
    normalized = schema.normalize(value, structural, profile=SERVER, preserve_unknown_fields=True)
    return {"object": normalized.value}


OPS: Mapping[str, tuple[str, dict[str, JSON], Callable[[Structural | None, JSON], Answer]]] = (
    MappingProxyType(
        {
            "structural": ("structural", {"path": PATH}, _structural),
            "prune": ("prune", {}, _prune),
            "nulls": ("nulls", {}, _nulls),
            "default": ("default", {}, _default),
            "normalize": ("normalize", {"metadata": "strict"}, _normalize_strictly),
            "normalize-stored": ("normalize", {"metadata": "drop"}, _normalize_stored),
            "normalize-legacy": (
                "normalize",
                {"metadata": "strict", "preserveUnknownFields": True},
                _normalize_legacy,
            ),
        }
    )
)
"""By name: the oracle's op, its options, and Espalier's answer."""


def compare(oracle: Oracle, op: str, raw: JSON, value: JSON) -> None:
    """
    Ask both, and fail where they differ.

    Where both refuse a schema or an object their words are compared only as far as the server's
    do not depend on the order of a map: see ``_words``.
    """
    asked, options, answer_of = OPS[op]
    theirs = oracle.ask(asked, raw, value, **options)
    assert "failure" not in theirs, theirs
    if str(theirs.get("error", "")).startswith("failed to prune default value"):
        # No server serves such a definition: it refuses the default when it is created.
        return
    before = deepcopy(value)
    ours = _answer(answer_of, raw, value)
    assert go_json(value) == go_json(before), "the input was changed"
    if isinstance(theirs.get("unknown"), list):
        theirs["unknown"] = sorted(theirs["unknown"], key=str)  # type: ignore[arg-type]  # a list of texts
    assert go_json(_words(ours)) == go_json(_words(theirs))


def _answer(answer_of: Callable[[Structural | None, JSON], Answer], raw: JSON, v: JSON) -> Answer:
    try:
        structural = schema.parse(raw, profile=SERVER)
    except SchemaParseError as error:
        return {"parse_error": str(error)}
    try:
        return answer_of(structural, v)
    except MalformedValueError as error:
        return {"error": str(error)}


def _words(answer: Answer) -> Answer:
    # Several faults in one object or schema: the server reports what its map order meets first.
    return {key: "*" if key in ("parse_error", "error") else v for key, v in answer.items()}
