"""
Compare Espalier's answers with those of the API server's packages.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import orjson

from espalier.golang.printing import go_json
from espalier.paths import JSON
from tests.differential.answering import Answer, Group
from tests.differential.oracle import Oracle

_ONLY_TRUE = "x-kubernetes-preserve-unknown-fields"

ATTEMPTS = 5
"""
So many answers of the server may be ours where they depend on the order of its maps.
"""


@dataclass
class Outcome:
    """
    The result of a comparison.

    Attributes:
        different: The questions with different answers.
        asked_again: The number of answers that differ, or that depend on the order of Go's maps.
        unchecked: The number of questions that Espalier reports as not checked.
        answers: Espalier's answers, group by group.
    """

    different: list[Group] = field(default_factory=list)
    asked_again: int = 0
    unchecked: int = 0
    answers: list[list[Answer]] = field(default_factory=list)


def compare(oracle: Oracle, groups: Sequence[Group]) -> Outcome:
    """
    Compare the answers to all questions.

    If the server's answer depends on the order of its maps, it is asked several times, and one of
    its answers must equal ours.
    """
    answering = oracle.begin([group.question() for group in groups])
    before = [_written([*group.values, *group.olds]) for group in groups]
    try:
        outcome = Outcome(answers=[[*group.answers()] for group in groups])
    finally:
        lines = answering.lines()
    for group, written in zip(groups, before, strict=True):
        assert _written([*group.values, *group.olds]) == written, f"{group}: its input was changed"
    for group, ours, line in zip(groups, outcome.answers, lines, strict=True):
        theirs = orjson.loads(line)["answers"]
        for index, (our, their) in enumerate(zip(ours, theirs, strict=True)):
            if "unchecked" in our:
                outcome.unchecked += 1
            elif not _equal(group.op, our, their):
                outcome.asked_again += 1
                single = group.single(index)
                if not _once_equal(oracle, single, our, their):
                    outcome.different.append(single)
    return outcome


def _once_equal(oracle: Oracle, group: Group, ours: Answer, theirs: Answer) -> bool:
    # Go starts iterating a map at one of eight places, so the first inserted key mostly comes
    # first. What our answer names is therefore put in before what the server's names.
    paths = [*_unreadable(ours, group.raw), *_paths(ours), *_paths(theirs)]
    again = Group(
        group.op,
        _with_first(group.raw, paths),
        [_with_first(value, paths) for value in group.values],
        [_with_first(old, paths) for old in group.olds],
    )
    answering = oracle.begin([again.question()] * (ATTEMPTS - 1))
    return any(
        _equal(group.op, ours, orjson.loads(line)["answers"][0]) for line in answering.lines()
    )


def _paths(answer: Answer) -> list[list[str]]:
    errors = answer.get("errors")
    texts = [answer.get("error"), *(errors if isinstance(errors, list) else [])]
    return [re.split(r"[.\[\]]+", str(text).partition(": ")[0]) for text in texts if text]


def _unreadable(answer: Answer, raw: JSON) -> Iterator[list[str]]:
    # Only the name of the keyword is compared for values that cannot be read.
    named = re.search(r"'(.+?)'", str(answer.get("parse_error", "")))
    waiting: list[tuple[JSON, list[str]]] = [(raw, [])] if named else []
    while named and waiting:
        node, path = waiting.pop()
        if isinstance(node, dict):
            # What may only be true is readable where it is.
            if named[1] in node and (named[1] != _ONLY_TRUE or node[named[1]] is not True):
                yield path
            waiting += [(child, [*path, name]) for name, child in node.items()]
        elif isinstance(node, list):
            waiting += [(child, path) for child in node]


def _with_first(value: JSON, paths: Sequence[Sequence[str]]) -> JSON:
    match value:
        case dict():
            below: dict[str, list[Sequence[str]]] = {}
            waiting: list[Sequence[str]] = []
            for path in paths:
                # The server's message may have extra names in between, or lack names that ours has.
                at = next((i for i, name in enumerate(path) if name in value), len(path))
                if at < len(path):
                    below.setdefault(path[at], []).append(path[at + 1 :])
                else:
                    waiting.append(path)
            names = (*below, *value)
            return {
                name: _with_first(value[name], [*below.get(name, ()), *waiting]) for name in names
            }
        case list():
            return [_with_first(item, paths) for item in value]
        case _:
            return value


def _equal(op: str, ours: Answer, theirs: Answer) -> bool:
    if _says_nothing(theirs):
        return True
    left, right = _comparable(op, ours), _comparable(op, theirs)
    # Go writes 1.0 as 1, which hardly ever matters.
    return _written(left) == _written(right) or go_json(left) == go_json(right)


def _written(value: JSON) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _says_nothing(theirs: Answer) -> bool:
    # No server serves a definition with such a default: it refuses it when it is created. And
    # selectable fields of a schema that cannot be read crash the request.
    return str(theirs.get("error", "")).startswith("failed to prune default value") or str(
        theirs.get("failure", "")
    ).endswith("nil pointer dereference")


# Each time the server makes up another name.
_SELF_TYPES = re.compile(r"selfType\d+")

# The server prints its structs here: internal ones, which nobody can read, and owner references
# in the order of their fields.
_DUMPS = re.compile(
    r"(Invalid value: ).*(: only \[Description|: must (contain unique version|have exactly one"
    r" version|only have a single schema)|: Only one reference|: per-version \w+ may not all be)",
    re.DOTALL,
)


def _comparable(op: str, answer: Answer) -> Answer:
    comparable: Answer = {}
    for key, value in answer.items():
        if key == "cost":
            continue
        comparable[key] = value
        if isinstance(value, list):
            texts = [str(item) for item in value]
            texts = [_SELF_TYPES.sub("selfType", text) for text in texts]
            if op.startswith("crd-"):
                texts = [_DUMPS.sub(r"\1*\2", text) for text in texts]
            comparable[key] = [*sorted(texts)]
    return comparable
