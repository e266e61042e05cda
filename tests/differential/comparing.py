"""
What Espalier answers to a question that the oracle was asked, in the same form.
"""

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from types import MappingProxyType

from espalier import crd, schema
from espalier.errors import MalformedValueError, SchemaParseError
from espalier.findings import go_json
from espalier.paths import JSON, render_path
from espalier.schema import Profile, Structural
from tests.differential.oracle import Oracle

SERVER = Profile.APISERVER
PATH = "spec"
ATTEMPTS = 64
"""
How often the server is asked where its answer may depend on the order of a map. Few will not do:
Go begins a small map with the same entry most of the time.
"""

Answer = dict[str, JSON]


@dataclass(frozen=True, slots=True)
class Question:
    """
    What both are asked.

    Attributes:
        oracle: Asked by Espalier's side, too, for what is not built: the values of defaults.
    """

    oracle: Oracle
    raw: JSON
    value: JSON
    options: dict[str, JSON]

    def structural(self) -> Structural | None:
        """
        Parse the schema.
        """
        return schema.parse(self.raw, profile=SERVER)


def _structural(asked: Question) -> Answer:
    findings = schema.check_structural(asked.structural(), profile=SERVER, path=(PATH,))
    return {"errors": [str(finding) for finding in findings]}


def _prune(asked: Question) -> Answer:
    pruned = schema.prune(asked.value, asked.structural(), profile=SERVER)
    return {"object": pruned.value, "unknown": [render_path(path) for path in pruned.removed]}


def _nulls(asked: Question) -> Answer:
    return {"object": schema.drop_nulls(asked.value, asked.structural()).value}


def _default(asked: Question) -> Answer:
    return {"object": schema.default(asked.value, asked.structural(), profile=SERVER).value}


def _normalize_strictly(asked: Question) -> Answer:
    return {"object": schema.normalize(asked.value, asked.structural(), profile=SERVER).value}


def _normalize_stored(asked: Question) -> Answer:
    normalized = schema.normalize(
        asked.value, asked.structural(), profile=SERVER, drop_malformed_metadata=True
    )
    return {"object": normalized.value}


def _normalize_legacy(asked: Question) -> Answer:
    normalized = schema.normalize(
        asked.value, asked.structural(), profile=SERVER, preserve_unknown_fields=True
    )
    return {"object": normalized.value}


def _unfold(asked: Question) -> Answer:
    return _published(asked, lambda structural: schema.unfold(structural, profile=SERVER))


def _strip(asked: Question) -> Answer:
    return _published(asked, schema.strip)


def _publish_v2(asked: Question) -> Answer:
    return _published(asked, schema.convert_to_v2)


def _published(asked: Question, change: Callable[[Structural], Structural]) -> Answer:
    structural = asked.structural()
    if structural is None:
        return {"schema": None}
    return {"schema": schema.render(change(structural), profile=SERVER)}


def _defaults_check(asked: Question) -> Answer:
    structural = asked.structural()
    if schema.check_structural(structural, profile=SERVER):
        return {"errors": []}
    findings = schema.check_defaults(
        structural, profile=SERVER, path=(PATH,), judge=schema.default_judge(profile=SERVER)
    )
    return {"errors": [str(finding) for finding in findings]}


def _crd_check(asked: Question) -> Answer:
    rejections = crd.check_definition(asked.value, asked.options.get("old"))
    return {"errors": [str(rejection) for rejection in rejections]}


def _validate(asked: Question) -> Answer:
    findings = schema.validate(asked.value, asked.structural(), profile=SERVER)
    return {"errors": [str(finding) for finding in findings]}


Ask = Callable[[Question], Answer]
OPS: Mapping[str, tuple[str, dict[str, JSON], Ask]] = MappingProxyType(
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
        "unfold": ("unfold", {}, _unfold),
        "strip": ("strip", {}, _strip),
        "publish-v2": ("publish-v2", {}, _publish_v2),
        "defaults-check": ("defaults-check", {"path": PATH}, _defaults_check),
        "crd-check": ("crd-check", {}, _crd_check),
        "validate": ("validate", {}, _validate),
    }
)
"""By name: the oracle's op, its options, and Espalier's answer."""


def compare(oracle: Oracle, op: str, raw: JSON, value: JSON, **options: JSON) -> Answer:
    """
    Ask both, and fail where they differ.

    Where the server's answer depends on the order of its maps, one of a few answers of it must
    be ours.

    Returns:
        Espalier's answer.
    """
    asked, fixed, answer_of = OPS[op]
    before = deepcopy(value)
    ours = _answer(answer_of, Question(oracle, raw, value, options))
    assert go_json(value) == go_json(before), "the input was changed"
    theirs: Answer = {}
    for _ in range(ATTEMPTS):
        theirs = oracle.ask(asked, raw, value, **fixed, **options)
        if _says_nothing(theirs):
            return ours
        assert "failure" not in theirs, theirs
        if go_json(_comparable(ours)) == go_json(_comparable(theirs)):
            return ours
    assert go_json(_comparable(ours)) == go_json(_comparable(theirs))
    return ours


def _says_nothing(theirs: Answer) -> bool:
    # No server serves a definition with such a default: it refuses it when it is created. And
    # selectable fields of a schema that cannot be read crash the request.
    return str(theirs.get("error", "")).startswith("failed to prune default value") or str(
        theirs.get("failure", "")
    ).endswith("nil pointer dereference")


def _answer(answer_of: Ask, asked: Question) -> Answer:
    try:
        return answer_of(asked)
    except SchemaParseError as error:
        return {"parse_error": str(error)}
    except MalformedValueError as error:
        return {"error": str(error)}


# The server prints its structs here: internal ones, which nobody can read, and owner references
# in the order of their fields.
_DUMPS = re.compile(
    r"(Invalid value: ).*(: only \[Description|: must (contain unique version|have exactly one"
    r" version|only have a single schema)|: Only one reference)",
    re.DOTALL,
)


def _comparable(answer: Answer) -> Answer:
    comparable: Answer = {}
    for key, value in answer.items():
        comparable[key] = value
        if isinstance(value, list):
            comparable[key] = [*sorted(_DUMPS.sub(r"\1*\2", str(item)) for item in value)]
    return comparable
