"""
Espalier's answers to the questions that the oracle gets, in the same form.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from espalier import crd, schema
from espalier.errors import MalformedValueError, SchemaParseError
from espalier.golang.rfc3339 import DATE, LOCAL_TIME, RFC3339
from espalier.paths import JSON, render_unknown
from espalier.schema import Profile, Structural
from espalier.schema.rules.judge import CelJudge
from espalier.schema.validation.default_values import default_judge
from espalier.schema.validation.defaults import check_defaults
from espalier.schema.validation.walk import check_value
from tests.differential import readers

SERVER = Profile.APISERVER
PATH = "spec"

Answer = dict[str, JSON]


@dataclass(frozen=True)
class Group:
    """
    Questions that differ only in the value.

    Attributes:
        raw: The schema; none for definitions.
        values: The values; None if only the schema matters.
        olds: The values that they replace, or None.
    """

    op: str
    raw: JSON
    values: Sequence[JSON]
    olds: Sequence[JSON] = ()

    def question(self) -> JSON:
        """
        Return the question in the oracle's form.
        """
        asked, fixed, _ = OPS[self.op]
        options: dict[str, JSON] = {**fixed, "olds": [*self.olds]} if self.olds else {**fixed}
        return {"op": asked, "schema": self.raw, "inputs": [*self.values], "options": options}

    def single(self, index: int) -> "Group":
        """
        Return a group of one question of this group.
        """
        return Group(self.op, self.raw, [self.values[index]], [*self.olds[index : index + 1]])

    def answers(self) -> Iterator[Answer]:
        """
        Yield the answers to all questions of a group; the schema is parsed once.
        """
        answer = OPS[self.op][2]
        read = _Read(self.raw)
        olds = self.olds or [None] * len(self.values)
        for value, old in zip(self.values, olds, strict=True):
            try:
                yield answer(Question(read, value, old))
            except SchemaParseError as error:
                yield {"parse_error": str(error)}
            except MalformedValueError as error:
                yield {"error": str(error)}
            except _CRASHES as error:
                yield {"crash": repr(error)}


_CRASHES = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What must not happen; to tell of the question it is taken for an answer."""


@dataclass(frozen=True)
class _Read:
    raw: JSON

    @cached_property
    def structural(self) -> Structural | None:
        return schema.parse(self.raw, profile=SERVER)


@dataclass(frozen=True)
class Question:
    """
    One question for Espalier and the oracle.

    Attributes:
        value: The value; None if only the schema matters.
        old: The value that it replaces, or None.
    """

    read: _Read
    value: JSON
    old: JSON

    def structural(self) -> Structural | None:
        """
        Get the schema.
        """
        return self.read.structural


def _structural(asked: Question) -> Answer:
    findings = schema.check_structural(asked.structural(), profile=SERVER, path=(PATH,))
    return {"errors": [str(finding) for finding in findings]}


def _prune(asked: Question) -> Answer:
    pruned = schema.prune(asked.value, asked.structural(), profile=SERVER)
    return {"object": pruned.value, "unknown": [render_unknown(path) for path in pruned.removed]}


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
    findings = check_defaults(
        structural, profile=SERVER, path=(PATH,), judge=default_judge(profile=SERVER)
    )
    return {"errors": [str(finding) for finding in findings]}


def _crd_check(asked: Question) -> Answer:
    rejections = crd.check_definition(asked.value, asked.old)
    return {"errors": [str(rejection) for rejection in rejections]}


def _validate(asked: Question) -> Answer:
    findings = schema.validate(asked.value, asked.structural(), profile=SERVER)
    return {"errors": [str(finding) for finding in findings]}


def _validate_screened(asked: Question) -> Answer:
    validation = schema.compile_validation(asked.structural(), SERVER)
    return {"errors": [str(finding) for finding in validation.validate(asked.value)]}


def _validate_update(asked: Question) -> Answer:
    answer = check_value(asked.value, asked.structural(), old=asked.old, rules=_RULES)
    if answer.unchecked:
        return {"unchecked": [str(finding) for finding in answer.unchecked]}
    return {"errors": [str(finding) for finding in answer.errors]}


_RULES = CelJudge()

Ask = Callable[[Question], Answer]


def _reader(op: str, **options: JSON) -> tuple[str, dict[str, JSON], Ask]:
    return op, options, lambda asked: readers.read(op, asked.value, options)


_READERS: Mapping[str, tuple[str, dict[str, JSON], Ask]] = {
    "url.Parse": _reader("url.Parse"),
    "url.ParseRequestURI": _reader("url.ParseRequestURI"),
    "netip.ParseAddr": _reader("netip.ParseAddr"),
    "time.Parse": _reader("time.Parse", layout=str(RFC3339)),
    "time.Parse-date": _reader("time.Parse", layout=str(DATE)),
    "time.Parse-local": _reader("time.Parse", layout=str(LOCAL_TIME)),
    "time.ParseDuration": _reader("time.ParseDuration"),
    "strfmt.ParseDuration": _reader("strfmt.ParseDuration"),
    "strfmt.ParseDateTime": _reader("strfmt.ParseDateTime"),
    **{
        f"format-{name}": _reader("strfmt.Validates", format=name)
        for name in ("uri", "date", "datetime", "duration", "ipv4", "ipv6", "cidr", "mac")
    },
}

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
        "validate-screened": ("validate", {}, _validate_screened),
        "validate-update": ("validate", {"cel": True}, _validate_update),
        "crd-beta": ("crd-check", {}, _crd_check),
        "crd-rules": ("crd-check", {}, _crd_check),
        "rules": ("validate", {"cel": True}, _validate_update),
        "deep-rules": ("validate", {"cel": True}, _validate_update),
        "crd-deep-rules": ("crd-check", {}, _crd_check),
        **_READERS,
    }
)
"""By name: the oracle's op, its options, and Espalier's answer."""
