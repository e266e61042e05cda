"""
The figures of migrations, and the rows in which they are printed.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.migrate_engine import EngineRun

Figures: TypeAlias = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRun:
    """
    The figures that the bare loop prints.

    Attributes:
        seconds: The time for the patches alone.
        cpu_seconds: The client's CPU time for the patches.
        sent_bytes: The bytes that the client sent.
    """

    objects: int
    seconds: float
    cpu_seconds: float
    sent_bytes: int
    received_bytes: int


@dataclass(frozen=True, slots=True)
class Round:
    """
    One run of the bare loop and one of the engine.

    Attributes:
        before: A run of the engine of the other checkout, if one was given.
        in_tree_seconds: The time of a StorageVersionMigration, if one was run.
    """

    bare: LoopRun
    engine: EngineRun
    before: EngineRun | None = None
    in_tree_seconds: float | None = None

    @property
    def ratio(self) -> float:
        """
        The engine's rewriting rate divided by that of the bare loop.
        """
        return self.bare.seconds / self.engine.rewrite_seconds


def print_row(title: str, figures: Figures) -> None:
    """
    Print the figures of a round, or their medians, as a row of the table.
    """
    print(
        f"{title:>7} {figures['bare_objects_per_second']:>7.0f}"
        f" {figures['objects_per_second']:>8.0f} {figures['rewrite_over_bare_loop']:>6.2f}"
        f" {figures['verified_per_second']:>7.0f} {figures['whole_seconds']:>6.1f} s"
        f" {figures['bare_cpu_us_per_object']:>6.0f} us {figures['cpu_us_per_object']:>5.0f} us"
        f" {figures['peak_rss_mib']:>5.0f} MiB {figures['second_half_over_first']:>5.2f}"
        + (f" {figures['in_tree_seconds']:>6.1f} s" if "in_tree_seconds" in figures else ""),
        flush=True,
    )


def figures_of(objects: int, rounds: Sequence[Round]) -> Figures:
    """
    Return the medians of the figures over the rounds; the peak memory is the highest one.
    """

    def median(figure: Callable[[Round], float]) -> float:
        return statistics.median(figure(one) for one in rounds)

    figures = {
        "rewrite_over_bare_loop": median(lambda one: one.ratio),
        "objects_per_second": median(lambda one: objects / one.engine.rewrite_seconds),
        "verified_per_second": median(lambda one: objects / one.engine.verify_seconds),
        "whole_seconds": median(lambda one: one.engine.total_seconds),
        "cpu_us_per_object": median(lambda one: one.engine.rewrite_cpu_seconds / objects * 1e6),
        "whole_cpu_us_per_object": median(lambda one: one.engine.total_cpu_seconds / objects * 1e6),
        "peak_rss_mib": max(one.engine.peak_rss_mib for one in rounds),
        "second_half_over_first": median(lambda one: one.engine.second_half_over_first),
        "judged": max(one.engine.judged for one in rounds),
        "patches_per_object": median(lambda one: one.engine.patches / objects),
        "bare_objects_per_second": median(lambda one: objects / one.bare.seconds),
        "bare_cpu_us_per_object": median(lambda one: one.bare.cpu_seconds / objects * 1e6),
        "bare_sent_bytes_per_object": median(lambda one: one.bare.sent_bytes / objects),
        "bare_received_bytes_per_object": median(lambda one: one.bare.received_bytes / objects),
    }
    timed = [(one.engine.total_seconds, one.in_tree_seconds) for one in rounds]
    both = [(whole, in_tree) for whole, in_tree in timed if in_tree is not None]
    if both:
        figures["in_tree_seconds"] = statistics.median(in_tree for _, in_tree in both)
        figures["whole_over_in_tree"] = statistics.median(whole / other for whole, other in both)
    return figures


def over_before(pairs: Sequence[tuple[EngineRun, EngineRun]]) -> Figures:
    """
    Return medians over the rounds of this engine's figures divided by those of the other one.
    """

    def median(figure: Callable[[EngineRun], float]) -> float:
        return statistics.median(figure(engine) / figure(before) for engine, before in pairs)

    figures = {
        "rewrite_seconds_over_before": median(lambda one: one.rewrite_seconds),
        "rewrite_cpu_over_before": median(lambda one: one.rewrite_cpu_seconds),
        "whole_seconds_over_before": median(lambda one: one.total_seconds),
        "whole_cpu_over_before": median(lambda one: one.total_cpu_seconds),
    }
    print("over the other checkout: " + ", ".join(f"{k} {v:.2f}" for k, v in figures.items()))
    return figures
