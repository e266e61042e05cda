"""
Edits of YAML texts: only the lines of what changes are touched.
"""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from espalier.cli.checks.yaml_edits import edited_yaml
from espalier.cli.input.yaml_documents import build_documents

MANIFESTS = 1000
SCALARS = [
    *('"yes"', "'on'", "plain text", '"a\\tb"', "'it''s'", "0o17", "1e3", "true", "~", "2.50"),
    *('"#no comment"', "- 3", "!!str 12"),
]

EDITS: dict[str, tuple[str, list[tuple[str, Any]], str]] = {
    "a removed field loses its lines": (
        "# head\na: 1  # one\n\n# about b\nb: 'x'\nc:\n  d: [1,  2]\n",
        [("a", None)],
        "# head\n\n# about b\nb: 'x'\nc:\n  d: [1,  2]\n",
    ),
    "a field is added below the last one": (
        "a: 1 # one\n# end\n---\nx: 1\n",
        [("b", {"c": ["d"]})],
        "a: 1 # one\nb:\n  c:\n  - d\n# end\n---\nx: 1\n",
    ),
    "a changed value stays in its place": (
        "a: 1 # one\nb: 2",
        [("a", "yes")],
        'a: "yes" # one\nb: 2',
    ),
    "an empty value is filled in": ("a:\nb: 2\n", [("a", 5)], "a: 5\nb: 2\n"),
    "what loses all fields is empty": ("a:\n  b: 1\nc: 2\n", [("a", {})], "a: {}\nc: 2\n"),
    "fields of flow maps": (
        "{a: 1, b: 2, c: 3} # end\n",
        [("b", None), ("d", 4)],
        "{a: 1, c: 3, d: 4} # end\n",
    ),
    "the first field of a flow map": ("{a: 1, b: 2}\n", [("a", None)], "{b: 2}\n"),
    "windows' line ends": ("a: 1\r\nb: 2\r\nc: 3\r\n", [("b", None)], "a: 1\r\nc: 3\r\n"),
    "a text without a last line break": ("a: 1", [("b", 2)], "a: 1\nb: 2"),
    "a literal block": ("a: |\n  x\n  y\nb: 1\n", [("a", None)], "b: 1\n"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_as_it_was_looked_at(name: str) -> None:
    text, changes, expected = EDITS[name]
    old: Any = next(iter(build_documents(text))).value
    new = dict(old)
    for key, value in changes:
        if value is None:
            del new[key]
        else:
            new[key] = value

    assert edited_yaml(text, [(1, old, new)]) == expected


def test_the_dash_of_an_item_stays() -> None:
    text = "- a: 1\n  b: 2\n- a: 1\n  # about b\n  b: 2\n"

    edited = edited_yaml(text, [(1, [{"a": 1, "b": 2}] * 2, [{"b": 2}] * 2)])

    assert edited == "- b: 2\n-\n  # about b\n  b: 2\n"


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("a: &x {b: 1}\nc: *x\n", {"a": {"b": 2}, "c": {"b": 1}}),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  d: 1\n", {"a": {"b": 1}, "c": {"b": 1}}),
        ("? a\n: 1\n", {"b": 1}),
    ],
)
def test_what_cannot_be_edited_is_left_to_the_writer(text: str, new: Any) -> None:
    old = next(iter(build_documents(text))).value

    edited = edited_yaml(text, [(1, old, new)])

    assert edited is None or next(iter(build_documents(edited))).value == new


class Manifest:
    """
    A text with comments, quotes and layouts of all kinds; every field has a name of its own.
    """

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.lines: list[str] = []
        self.number = 0
        self.fields: dict[str, str] = {}
        self._map(0)

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def _name(self) -> str:
        self.number += 1
        return f"f{self.number}"

    def _comments(self, indent: int) -> None:
        if self.dice.random() < 0.3:
            self.number += 1
            self.lines.append(f"{' ' * indent}# comment {self.number}")
        if self.dice.random() < 0.1:
            self.lines.append("")

    def _map(self, indent: int, first: str = "") -> None:
        for n in range(self.dice.randint(1, 4)):
            start = first if n == 0 and first else " " * indent
            if not (n == 0 and first):
                self._comments(indent)
            self._field(start, indent)

    def _field(self, start: str, indent: int) -> None:
        name, kind = self._name(), self.dice.random()
        behind = f"  # behind {name}" if self.dice.random() < 0.3 else ""
        if kind < 0.2 and indent < 8:
            self.lines.append(f"{start}{name}:{behind}")
            self._map(indent + self.dice.choice([1, 2, 4]))
        elif kind < 0.35 and indent < 8:
            self.lines.append(f"{start}{name}:{behind}")
            dent = indent + self.dice.choice([0, 2])
            for _ in range(self.dice.randint(1, 3)):
                self._map(dent + 2, first=f"{' ' * dent}- ")
        elif kind < 0.45:
            self.lines.append(f"{start}{name}: {{{self._name()}: 1,  {self._name()}: 'b'}}{behind}")
        elif kind < 0.5:
            self.lines += [f"{start}{name}: |", f"{' ' * indent}  text of {name}"]
        else:
            value = self.dice.choice([one for one in SCALARS if not one.startswith("- ")])
            self.lines.append(f"{start}{name}: {value}{behind}")
            self.fields[name] = self.lines[-1]


def changed(value: Any, dice: random.Random, touched: set[str]) -> Any:
    """
    Remove, add and change fields; collect the names of all that are gone or different.
    """
    if isinstance(value, list):
        return [changed(item, dice, touched) for item in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for name, member in value.items():
        what = dice.random()
        if what < 0.12:
            touched |= {name, *names_in(member)}
        elif what < 0.2 and not isinstance(member, (dict, list)) and "\n" not in str(member):
            touched.add(name)
            made[name] = dice.choice([7, "yes", {"x": [1]}, "it's: #1"])
        else:
            made[name] = changed(member, dice, touched)
    if dice.random() < 0.15:
        made[f"new{dice.randint(0, 10**9)}"] = dice.choice([1, "on", {"b": {"c": "# d"}}, ["x"]])
    if not made:
        touched |= set(names_in(value))
    return made


def names_in(value: Any) -> Iterator[str]:
    for name, member in value.items() if isinstance(value, dict) else ():
        yield name
        yield from names_in(member)
    for item in value if isinstance(value, list) else ():
        yield from names_in(item)


def test_comments_quotes_and_order_are_kept() -> None:
    edited_texts = 0
    for seed in range(MANIFESTS):
        dice = random.Random(seed)  # noqa: S311 - no secret
        manifest = Manifest(dice)
        old = next(iter(build_documents(manifest.text))).value
        touched: set[str] = set()
        new = changed(old, dice, touched)

        edited = edited_yaml(manifest.text, [(1, old, new)])

        if edited is None:
            continue
        edited_texts += 1
        assert next(iter(build_documents(edited))).value == new, seed
        lines = edited.split("\n")
        kept = [line for name, line in manifest.fields.items() if name not in touched]
        bare = [line.lstrip(" -") for line in lines]
        places = [bare.index(line.lstrip(" -")) for line in kept]
        assert places == sorted(places), seed
        if not touched:
            # Only a flow map gets its new fields in its own line.
            gone = [line for line in manifest.lines if line not in lines and "{" not in line]
            assert gone == [], seed
        own = [line for line in manifest.lines if line.lstrip().startswith("# comment")]
        gone = [line for line in own if line not in lines]
        assert not gone or touched, seed
    assert edited_texts >= MANIFESTS * 0.99
