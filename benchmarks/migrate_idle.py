"""
Measure the memory of an idle operator in a cluster with many definitions.
"""

import os
import time
from pathlib import Path
from typing import NamedTuple

from tests.e2e.controlplane.api import CRDS
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Document, schema, version
from tests.e2e.operating import Operator

from benchmarks.migrate_memory import peak_mib, resident_mib

GROUP = "idle.example.com"
MANIFESTS = Path(__file__).parent.parent / "manifests"
FIELDS = 40
# The operator is idle when it has used hardly any CPU time for this long.
QUIET_SECONDS = 10.0
QUIET_CPU_SECONDS = 0.2
PATIENCE_SECONDS = 900.0


class Idle(NamedTuple):
    """
    The memory of the operator's process.
    """

    resident_mib: float
    peak_mib: float


def measure_idle(plane: ControlPlane, definitions: int) -> Idle:
    """
    Create definitions, start the operator, and measure once it is idle.

    Raises:
        SystemExit: The operator does not become idle in time.
    """
    plane.api.create_many(CRDS, (_definition(number) for number in range(definitions)))
    plane.kubectl("apply", "-k", str(MANIFESTS))
    operator = Operator(plane, plane.kubeconfig)
    try:
        pid = operator.child.pid
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (before := _cpu_seconds(pid)) < 1.0 or not _is_quiet(pid, before):
            if operator.child.exit_code is not None or time.monotonic() > deadline:
                raise SystemExit(f"the operator does not become idle:\n{operator.child.tail()}")
        return Idle(resident_mib(pid), peak_mib(pid))
    finally:
        operator.stop()


def _is_quiet(pid: int, before_cpu_seconds: float) -> bool:
    time.sleep(QUIET_SECONDS)
    return _cpu_seconds(pid) - before_cpu_seconds < QUIET_CPU_SECONDS


def _cpu_seconds(pid: int) -> float:
    # The name may have any character, so count from behind it: 12th and 13th are user and system.
    text = Path("/proc", str(pid), "stat").read_text(encoding="utf-8").rpartition(")")[2]
    user, system = text.split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _definition(number: int) -> Document:
    plural = f"idlers{number:04}"
    fields = {
        f"field{index:02}": {
            "type": "string",
            "maxLength": 253,
            "description": "What it is for, in a sentence that is as long as most are.",
        }
        for index in range(FIELDS)
    }
    entry = version("v1", schema(fields)) | {"storage": True}
    kind = plural.title()
    names = {"plural": plural, "singular": plural, "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [entry]},
    }
