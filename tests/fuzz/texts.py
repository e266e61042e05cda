"""
Files of decoded JSON, and changes of their text that somebody would try.
"""

import json
from collections.abc import Callable

import yaml

from tests.differential.dice import Dice
from tests.fuzz.hostile import Tree

_BOMB = "\n".join(
    [
        "bomb:",
        "  - &a0 [x, x, x, x, x, x, x, x, x]",
        *(f"  - &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)),
    ]
)
_KEY_BOMB = "\n".join(
    ["b0: &b0 {k: v}", *(f"b{n}: &b{n} {{x: *b{n - 1}, y: *b{n - 1}}}" for n in range(1, 40))]
)
_TAGS = (
    "!!binary",
    "!!python/object/apply:os.system",
    "!!set",
    "!!timestamp",
    "!!int",
    "!x",
    "!<a b>",
)
_ODD = (
    "\t",
    "\x00",
    "\x07",
    "\u2028",
    "\ufeff",
    "\ud7ff",
    "\U0001f600",
    "&a ",
    "*a",
    "<<: ",
    "? ",
    "- ",
    "|",
    ">",
)


def text(dice: Dice, documents: list[Tree]) -> bytes:
    """
    Write documents to a file, as JSON or as YAML.
    """
    dumped = [dump(one, is_ascii=dice.seldom(2)) for one in documents]
    if dice.seldom(3):
        dumped = [_as_yaml(one) for one in documents]
    return "\n---\n".join(dumped).encode(errors="surrogatepass" if dice.seldom(2) else "replace")


def dump(root: Tree, *, is_ascii: bool = True) -> str:
    """
    Write JSON that may nest deeper than the stack.
    """
    parts: list[str] = []
    # What is left to be written, from the end: texts as they are, and values.
    left: list[tuple[bool, Tree]] = [(False, root)]
    while left:
        is_text, one = left.pop()
        if is_text:
            parts.append(one)
        elif isinstance(one, dict):
            left.append((True, "}"))
            for number, (key, member) in enumerate(reversed(one.items()), 1):
                comma = ", " if number < len(one) else ""
                left += [
                    (False, member),
                    (True, f"{comma}{json.dumps(key, ensure_ascii=is_ascii)}: "),
                ]
            left.append((True, "{"))
        elif isinstance(one, list):
            left.append((True, "]"))
            for number, item in enumerate(reversed(one), 1):
                left += [(False, item), (True, ", " if number < len(one) else "")]
            left.append((True, "["))
        else:
            parts.append(json.dumps(one, ensure_ascii=is_ascii))
    return "".join(parts)


def _as_yaml(document: Tree) -> str:
    try:
        written: str = yaml.dump(document, Dumper=yaml.CSafeDumper, allow_unicode=True)
    except (RecursionError, yaml.YAMLError, UnicodeError):
        # The writer has bounds of its own, and JSON is YAML.
        return dump(document)
    return written


def _line(change: Callable[[Dice, str], str]) -> Callable[[Dice, bytes], bytes]:
    def changed(dice: Dice, content: bytes) -> bytes:
        lines = content.decode(errors="replace").split("\n")
        place = int(dice.number() * len(lines))
        lines[place] = change(dice, lines[place])
        return "\n".join(lines).encode(errors="surrogatepass")

    return changed


def _insert(dice: Dice, line: str) -> str:
    place = dice.count(min(len(line), 10_000))
    return f"{line[:place]}{dice.pick(_ODD)}{line[place:]}"


def _tagged(dice: Dice, line: str) -> str:
    key, colon, rest = line.partition(": ")
    return f"{key}{colon}{dice.pick(_TAGS)} {rest}" if colon else f"{dice.pick(_TAGS)} {line}"


def _bytes_changed(dice: Dice, content: bytes) -> bytes:
    changed = bytearray(content or b"a")
    for _ in range(1 + dice.count(5)):
        changed[int(dice.number() * len(changed))] = dice.count(255)
    return bytes(changed)


_CHANGES: tuple[Callable[[Dice, bytes], bytes], ...] = (
    _line(lambda _, line: f"{line}\n{line}"),
    _line(lambda _, line: f" {line}"),
    _line(lambda _, line: line[: len(line) // 2]),
    _line(lambda dice, line: f"{line[: dice.count(6)]}&anchor {line}"),
    _line(lambda _, line: f"{line}\n<<: [*a, *b]"),
    _line(lambda dice, line: "[" * dice.pick((30, 3000, 30_000)) + line),
    _line(lambda dice, line: "- " * dice.pick((30, 1000)) + line),
    _line(_insert),
    _line(_tagged),
    _bytes_changed,
    lambda dice, content: content[: int(dice.number() * len(content))],
    lambda _, content: b"\xef\xbb\xbf" + content,
    lambda _, content: content.decode(errors="replace").encode("utf-16", errors="replace"),
    lambda _, content: content.replace(b"\n", b"\r\n"),
    lambda _, content: content + b"\n" + _BOMB.encode(),
    lambda _, content: content + b"\n" + _KEY_BOMB.encode(),
    lambda _, content: b"%YAML 9.9\n%TAG ! x:\n---\n" + content,
    lambda _, content: content + b"\n---\n" * 300,
    lambda _, content: content.replace(b'"name"', b'"name": "twice", "name"'),
    lambda _, content: b'{"kind": "List", "items": [' + content + b", null, 1, []]}",
)


def change(dice: Dice, content: bytes) -> bytes:
    """
    Change the text of a file in one place.
    """
    return dice.pick(_CHANGES)(dice, content)
