"""
Measure the memory of an idle operator in a cluster with many definitions.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.e2e.controlplane.api import CRDS
from tests.e2e.controlplane.processes import Child
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Document, schema, version

from benchmarks.migrate_memory import cpu_seconds, peak_mib, resident_mib

GROUP = "idle.example.com"
MANIFESTS = Path(__file__).parent.parent / "manifests"
FIELDS = 40
SIZES = 10
KIB = 1024
# The operator is idle when it has used hardly any CPU time for this long.
QUIET_SECONDS = 10.0
QUIET_CPU_SECONDS = 0.2
PATIENCE_SECONDS = 900.0
STOP_SECONDS = 30.0
NAMESPACE = "espalier-system"
IN_POD = """
import sys
from pathlib import Path
from espalier.cluster.auth import connection
folder = Path(sys.argv.pop(1))
for function in (connection.is_in_cluster, connection.read_service_account):
    function.__kwdefaults__["folder"] = folder
from espalier.cli import main
sys.argv[0] = "espalier"
main()
"""


class Idle(NamedTuple):
    """
    The memory of the operator's process, and the sizes of the definitions as JSON.
    """

    resident_mib: float
    peak_mib: float
    least_kib: float
    most_kib: float


def measure_idle(
    plane: ControlPlane, definitions: int, least: int = FIELDS, most: int = FIELDS
) -> Idle:
    """
    Create definitions, start the operator, and measure once it is idle.

    Args:
        least: How many fields the smallest definition has.
        most: How many the largest has.

    Raises:
        SystemExit: The operator does not become idle in time.
    """
    steps = [least + (most - least) * step // (SIZES - 1) for step in range(SIZES)]
    plane.api.create_many(
        CRDS, (definition(number, steps[number % SIZES]) for number in range(definitions))
    )
    sizes = [len(json.dumps(definition(0, fields))) / KIB for fields in (least, most)]
    plane.kubectl("apply", "-k", str(MANIFESTS))
    operator = _start_in_pod(plane)
    try:
        pid = operator.pid
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (before := cpu_seconds(pid)) < 1.0 or not _is_quiet(pid, before):
            if operator.exit_code is not None or time.monotonic() > deadline:
                raise SystemExit(f"the operator does not become idle:\n{operator.tail()}")
        return Idle(resident_mib(pid), peak_mib(pid), *sizes)
    finally:
        operator.stop(grace_seconds=STOP_SECONDS)


def _start_in_pod(plane: ControlPlane) -> Child:
    # As in a pod, where the files of the service account are at a fixed place.
    known = json.loads(plane.service_account_kubeconfig(NAMESPACE, "espalier").read_text())
    cluster, server = known["clusters"][0]["cluster"], urlsplit(plane.url)
    folder = plane.folder / "service-account"
    folder.mkdir(exist_ok=True)
    (folder / "token").write_text(known["users"][0]["user"]["token"])
    shutil.copy(cluster["certificate-authority"], folder / "ca.crt")
    place = {
        "KUBERNETES_SERVICE_HOST": str(server.hostname),
        "KUBERNETES_SERVICE_PORT": str(server.port),
    }
    kept = {key: value for key, value in os.environ.items() if not key.startswith("KUBE")}
    command: list[str | Path] = [sys.executable, "-c", IN_POD, str(folder), "operator"]
    return plane.start_child("operator", command, environment=kept | place)


def _is_quiet(pid: int, before_cpu_seconds: float) -> bool:
    time.sleep(QUIET_SECONDS)
    return cpu_seconds(pid) - before_cpu_seconds < QUIET_CPU_SECONDS


def definition(number: int, fields: int = FIELDS) -> Document:
    """
    Return a definition with a schema of so many fields and a name of its own.
    """
    plural = f"idlers{number:04}"
    properties = {
        f"field{index:02}": {
            "type": "string",
            "maxLength": 253,
            "description": "What it is for, in a sentence that is as long as most are.",
        }
        for index in range(fields)
    }
    entry = version("v1", schema(properties)) | {"storage": True}
    kind = plural.title()
    names = {"plural": plural, "singular": plural, "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [entry]},
    }
