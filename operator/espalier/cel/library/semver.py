"""
Semantic versions.

Source:
    apiserver, ``pkg/cel/library/semverlib.go``; blang/semver, ``semver.go``.
"""

import functools
import re
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from espalier.cel.equality import opaque_equality
from espalier.cel.signatures import Library, overload
from espalier.cel.types import SEMVER, CelType
from espalier.cel.values import UINT64_MAX, CelError, Opaque, Value, int_of, quoted

_NUMBER: Final = re.compile("[0-9]*")
_WORD: Final = re.compile("[0-9A-Za-z-]*")
_PARTS: Final = 3

_Key: TypeAlias = "tuple[int, int | str]"


@functools.total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class SemverValue(Opaque):
    """
    A version.

    Attributes:
        release: Numbers come before texts, as in each part of a pre-release.
    """

    numbers: tuple[int, int, int]
    release: tuple[_Key, ...]
    type: ClassVar[CelType] = SEMVER

    @property
    def key(self) -> tuple[tuple[int, int, int], bool, tuple[_Key, ...]]:
        """
        What versions are ordered by: a pre-release comes before its version.
        """
        return self.numbers, not self.release, self.release

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SemverValue) and self.key == other.key

    def __lt__(self, other: "SemverValue") -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def is_equal(self, other: Value) -> bool:
        """
        Compare with another version; builds do not count.
        """
        return opaque_equality(self, other)


def _parse(text: str) -> SemverValue:
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != _PARTS:
        raise CelError("No Major.Minor.Patch elements found")
    major = _number(parts[0], "major", "Major")
    minor = _number(parts[1], "minor", "Minor")
    rest, plus, build = parts[2].partition("+")
    patch_text, dash, release = rest.partition("-")
    patch = _number(patch_text, "patch", "Patch")
    keys = tuple(map(_release, release.split("."))) if dash else ()
    for word in build.split(".") if plus else ():
        if not word:
            raise CelError("Build meta data is empty")
        if not _WORD.fullmatch(word):
            raise CelError(f"Invalid character(s) found in build meta data {quoted(word)}")
    return SemverValue((major, minor, patch), keys)


def _number(text: str, name: str, title: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise CelError(f"Invalid character(s) found in {name} number {quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise CelError(f"{title} number must not contain leading zeroes {quoted(text)}")
    return _uint(text)


def _uint(text: str) -> int:
    if not text:
        raise CelError(f"strconv.ParseUint: parsing {quoted(text)}: invalid syntax")
    if int_of(text) > UINT64_MAX:
        raise CelError(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return int(text)


def _release(word: str) -> _Key:
    if not word:
        raise CelError("Prerelease is empty")
    if _NUMBER.fullmatch(word):
        if len(word) > 1 and word[0] == "0":
            detail = "Numeric PreRelease version must not contain leading zeroes"
            raise CelError(f"{detail} {quoted(word)}")
        return 0, _uint(word)
    if not _WORD.fullmatch(word):
        raise CelError(f"Invalid character(s) found in prerelease {quoted(word)}")
    return 1, word


def _normalized(text: str) -> str:
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < _PARTS:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise CelError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (_PARTS - len(parts))
    return ".".join(parts)


def _without_zeros(part: str) -> str:
    # To the server one character may be several bytes.
    if len(part) <= 1 and part.isascii():
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1] in tuple("0123456789") else f"0{stripped}"


def _semver(text: str, normalizes: bool = False) -> SemverValue:  # noqa: FBT001, FBT002 - as in CEL
    return _parse(_normalized(text) if normalizes else text)


def _is_semver(text: str, normalizes: bool = False) -> bool:  # noqa: FBT001, FBT002 - as in CEL
    try:
        _semver(text, normalizes)
    except CelError:
        return False
    return True


def _compare(left: SemverValue, right: SemverValue) -> int:
    return int(left > right) - int(left < right)


SEMVERS: Final[Library] = {
    "semver": (
        overload("string_to_semver", "(string) -> semver", _semver),
        overload("string_bool_to_semver", "(string, bool) -> semver", _semver),
    ),
    "isSemver": (
        overload("is_semver_string", "(string) -> bool", _is_semver),
        overload("is_semver_string_bool", "(string, bool) -> bool", _is_semver),
    ),
    "isGreaterThan": (
        overload(
            "semver_is_greater_than", "semver.(semver) -> bool", lambda left, right: left > right
        ),
    ),
    "isLessThan": (
        overload(
            "semver_is_less_than", "semver.(semver) -> bool", lambda left, right: left < right
        ),
    ),
    "compareTo": (overload("semver_compare_to", "semver.(semver) -> int", _compare),),
    "major": (overload("semver_major", "semver.() -> int", lambda one: one.numbers[0]),),
    "minor": (overload("semver_minor", "semver.() -> int", lambda one: one.numbers[1]),),
    "patch": (overload("semver_patch", "semver.() -> int", lambda one: one.numbers[2]),),
}
"""The library."""
