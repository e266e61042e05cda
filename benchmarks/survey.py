"""
Measure a survey of stored objects: ``make bench-survey``.

A survey reads each object of a definition, computes what a rewrite would change, and validates it.
kubectl-validate validates some of the same objects in files, since it reads no cluster. The last
line is one JSON object.
"""

import argparse
import itertools
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, Document, version

from benchmarks.migrate import GROUP, control_plane
from benchmarks.processes import Cost, cost_of, installed_go_command, medians
from benchmarks.shapes import grown
from benchmarks.stored_objects import put_objects
from benchmarks.validate_commands import KUBECTL_VALIDATE
from benchmarks.validate_objects import Subject, constrained

# One of so many objects has a field of a wrong type.
INVALID_ONE_OF = 10
FILES = 1000
_PEER = "kubectl_validate"


def main() -> None:
    """
    Measure; print a table for people and the figures as JSON.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.survey")
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--bytes", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    subject = constrained(grown(given.bytes))
    with control_plane() as plane, tempfile.TemporaryDirectory() as folder:
        crd = Crd(plane, "surveyed", GROUP)
        crd.create([version("v1", subject.schema)], storage="v1")
        put_objects(plane, crd, _objects(crd, subject, given.objects))
        peer = _peer(Path(folder), plane, crd)
        survey = [sys.executable, "-m", "espalier", "survey", crd.name, "-o", "json"]
        survey += ["--kubeconfig", str(plane.kubeconfig)]
        runs: dict[str, list[Cost]] = {"survey": [], "kubectl-validate": []}
        for _ in range(given.rounds):
            runs["survey"].append(cost_of(survey, may_exit_with={1}))
            runs["kubectl-validate"].append(cost_of(peer, may_exit_with={1}))
    files = min(FILES, given.objects)
    figures = _figures(runs, {"survey": given.objects, "kubectl-validate": files})
    print(orjson.dumps({name: round(figure, 3) for name, figure in figures.items()}).decode())


def _objects(crd: Crd, subject: Subject, number: int) -> Iterator[Document]:
    for index in range(number):
        chosen = subject.valid if index % INVALID_ONE_OF else subject.invalid
        fields = {key: value for key, value in chosen.items() if key in ("spec", "status")}
        yield crd.object("v1", f"o{index:07}", **fields)


def _peer(folder: Path, plane: ControlPlane, crd: Crd) -> list[str]:
    """
    Write the definition and some of the stored objects, and return the command that reads them.
    """
    crds, objects = folder / "crds", folder / "objects"
    crds.mkdir()
    objects.mkdir()
    manifest = {key: value for key, value in crd.read().items() if key != "status"}
    (crds / "crd.json").write_bytes(orjson.dumps(manifest))
    for key, value in itertools.islice(plane.etcd.values(crd.raw_prefix), FILES):
        (objects / f"{key.rpartition('/')[2]}.json").write_bytes(value)
    program = str(installed_go_command(*KUBECTL_VALIDATE))
    return [program, "--local-crds", str(crds), str(objects)]


def _figures(runs: dict[str, list[Cost]], objects: dict[str, int]) -> dict[str, float]:
    figures: dict[str, float] = {}
    print(f"{'':18} {'objects':>8} {'CPU seconds':>12} {'a CPU second':>13} {'MiB':>6}")
    for name, costs in runs.items():
        cost = medians(costs)
        rate = objects[name] / cost.cpu_seconds
        print(
            f"{name:18} {objects[name]:8,} {cost.cpu_seconds:12.2f} {rate:13,.0f}"
            f" {cost.peak_mib:6.0f}"
        )
        title = name.replace("-", "_")
        figures[f"{title}_objects_per_cpu_second"] = rate
        figures[f"{title}_mib"] = cost.peak_mib
    figures["survey_over_kubectl_validate"] = (
        figures["survey_objects_per_cpu_second"]
        / figures["kubectl_validate_objects_per_cpu_second"]
    )
    return figures


if __name__ == "__main__":
    main()
