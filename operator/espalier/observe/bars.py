"""
Bars and lines: shares in percent, with the texts beside them.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from espalier.observe.state import DefinitionState
from espalier.plurals import counted

MAX_PATH = 200
"""How many characters of a path are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPart:
    """
    A part of a bar.

    Attributes:
        at, share: In percent of the bar.
    """

    kind: str
    text: str
    at: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressView:
    """
    How far a pass came.

    Attributes:
        share: In percent; None where it is not known how many objects there are.
        rate, left: Empty where they are not known.
        spark: The points of a line in a box of 100 by 20; empty without enough of them.
    """

    title: str
    share: float | None
    count: str
    rate: str
    left: str
    spark: str


def path_bars(one: DefinitionState) -> Iterator[tuple[str, tuple[ProgressView, ...]]]:
    """
    Yield titles with the most frequent paths, as shares of all objects.
    """
    found = one.survey
    if found is None:
        return
    titles = (
        ("A rewrite would or might remove", found.lost),
        ("Violate the schema", found.violated),
    )
    for title, paths in titles:
        if paths:
            yield title, tuple(_path_bar(path, count, found.objects) for path, count in paths)


def _path_bar(path: str, count: int, objects: int) -> ProgressView:
    shown = "".join(char if char.isprintable() else " " for char in path)
    return ProgressView(
        title=shown if len(shown) <= MAX_PATH else f"{shown[:MAX_PATH]} ...",
        share=percent_of(count, objects),
        count=f"{count:,} of {counted(objects, 'object', is_grouped=True)}",
        rate="",
        left="",
        spark="",
    )


def parts_of(items: Iterable[tuple[str, float, str]]) -> tuple[BarPart, ...]:
    """
    Divide a bar; each item is a kind, a size and a text.
    """
    kept = list(items)
    total, at, parts = sum(size for _, size, _ in kept), 0.0, []
    for kind, size, text in kept:
        share = percent_of(size, total)
        parts.append(BarPart(kind=kind, text=text, at=at, share=share))
        at += share
    return tuple(parts)


def percent_of(part: float, whole: float) -> float:
    """
    Return a share in percent; the whole of nothing is all of it.
    """
    return round(100 * min(max(part / whole, 0.0), 1.0), 2) if whole else 100.0


def sparkline_of(rates: Sequence[float]) -> str:
    """
    Return the points of a line in a box of 100 by 20; empty without enough of them.
    """
    if len(rates) < 2:  # noqa: PLR2004 - a line has two ends
        return ""
    highest = max(rates) or 1.0
    step = 100 / (len(rates) - 1)
    return " ".join(
        f"{place * step:.1f},{20 - 18 * rate / highest:.1f}" for place, rate in enumerate(rates)
    )
