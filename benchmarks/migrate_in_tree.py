"""
Time the same migration by the server itself: a StorageVersionMigration.
"""

import time

from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd

API = "storagemigration.k8s.io/v1"
MIGRATIONS = f"/apis/{API}/storageversionmigrations"
# The migrator gets the objects from the garbage collector's cache.
CONTROLLERS = ("storage-version-migrator-controller", "garbage-collector-controller")
PATIENCE_SECONDS = 3600.0
POLL_SECONDS = 0.5


def migrate_in_tree(plane: ControlPlane, crd: Crd) -> float:
    """
    Let kube-controller-manager migrate the objects of a definition.

    Returns:
        The seconds from the creation of the StorageVersionMigration until it has succeeded.

    Raises:
        SystemExit: The migration failed, or did not end in time.
    """
    controllers = plane.start_controllers(*CONTROLLERS)
    name = f"{crd.plural}-{time.time_ns()}"
    begun = time.monotonic()
    body = {
        "apiVersion": API,
        "kind": "StorageVersionMigration",
        "metadata": {"name": name},
        "spec": {"resource": {"group": crd.group, "resource": crd.plural}},
    }
    try:
        plane.api.post(MIGRATIONS, body)
        while not _has_succeeded(plane, name):
            if time.monotonic() - begun > PATIENCE_SECONDS:
                raise SystemExit("the StorageVersionMigration did not end in time")
            time.sleep(POLL_SECONDS)
        return time.monotonic() - begun
    finally:
        plane.api.delete(f"{MIGRATIONS}/{name}")
        plane.end(controllers)


def _has_succeeded(plane: ControlPlane, name: str) -> bool:
    status = plane.api.get(f"{MIGRATIONS}/{name}").get("status", {})
    held = {entry["type"] for entry in status.get("conditions", ()) if entry["status"] == "True"}
    if "Failed" in held:
        raise SystemExit(f"the StorageVersionMigration failed: {status}")
    return "Succeeded" in held
