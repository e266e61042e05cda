"""
Divide the client's CPU time of a migration by part: ``python -m benchmarks.migrate_profile``.

It runs the engine under cProfile on a real control plane, and adds up the time that is spent in
the functions themselves, without their callees. It runs on asyncio's own event loop, since uvloop
does not show its parts; what is waited for is left out. The profiler makes Python code look dearer
than code in C, so the shares are only shares. The last line is one JSON object.
"""

import argparse
import asyncio
import cProfile
import pstats
import time
from collections import Counter
from collections.abc import Mapping

import orjson
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd

from benchmarks.migrate import GROUP, Bench, control_plane, fill
from benchmarks.migrate_engine import run_engine

SIZE_BYTES = 1024

_PARTS: Mapping[str, tuple[str, ...]] = {
    "JSON": ("msgspec", "orjson", "json_codec", "deep_nesting"),
    "TLS and sockets": ("ssl", "socket"),
    "HTTP": ("aiohttp", "yarl", "multidict", "frozenlist", "propcache", "http/"),
    "asyncio": ("asyncio", "contextvars", "contextlib", "selectors"),
    "Espalier's transport": ("espalier/cluster/",),
    "Espalier's engine": ("espalier/engine/",),
    "Espalier's schemas": ("espalier/",),
}
_OTHER = "other"
_WAITING = "method 'poll' of 'select.epoll'"


def main() -> None:
    """
    Measure; print a table for people and the shares as JSON.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.migrate_profile")
    parser.add_argument("--objects", type=int, default=5000)
    objects = parser.parse_args().objects
    with control_plane() as plane:
        profile, cpu_seconds = _profiled(plane, objects)
    shares = _shares(profile)
    print(f"{objects} objects of {SIZE_BYTES} bytes; whole run under the profiler:")
    print(f"{cpu_seconds / objects * 1e6:.0f} us of client CPU an object\n")
    for part, share in sorted(shares.items(), key=lambda item: -item[1]):
        print(f"{part:26} {share:6.1%}")
    print(orjson.dumps({part: round(share, 3) for part, share in shares.items()}).decode())


def _profiled(plane: ControlPlane, objects: int) -> tuple[cProfile.Profile, float]:
    crd = Crd(plane, "profiles", GROUP)
    fill(crd, objects, SIZE_BYTES)
    bench = Bench(plane=plane, crd=crd, objects=objects)
    bench.prove_first()
    bench.begin()
    profile = cProfile.Profile()
    begun = time.process_time()
    profile.enable()
    asyncio.run(run_engine(str(plane.kubeconfig), crd.name))
    profile.disable()
    return profile, time.process_time() - begun


def _shares(profile: cProfile.Profile) -> dict[str, float]:
    spent: Counter[str] = Counter()
    stats: Mapping[tuple[str, int, str], tuple[int, int, float, float, object]]
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    for (path, _, name), (_, _, own_seconds, _, _) in stats.items():
        if _WAITING in name:
            continue
        spent[_part_of(f"{path} {name}")] += own_seconds  # type: ignore[assignment]
    whole = sum(spent.values())
    return {part: seconds / whole for part, seconds in spent.items()}


def _part_of(function: str) -> str:
    for part, marks in _PARTS.items():
        if any(mark in function for mark in marks):
            return part
    return _OTHER


if __name__ == "__main__":
    main()
