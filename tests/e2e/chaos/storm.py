"""
What any chaos has: writers, a policy that denies, servers that are restarted, and the last look.
"""

import http
import json
import random
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.e2e.chaos.demanding import demand, insist, say
from tests.e2e.chaos.denying import SUFFIX, Denial
from tests.e2e.chaos.writing import Writer
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, schema, version
from tests.e2e.installing import grant_objects
from tests.e2e.operating import is_ours

ROOT = Path(__file__).parent.parent.parent.parent
WRITERS = 3
# Few requests at a time, and no queue: only the operator sends more.
IN_FLIGHT = 6
FLAGS = (
    "--enable-priority-and-fairness=false",
    f"--max-mutating-requests-inflight={IN_FLIGHT}",
    "--etcd-compaction-interval=0",
)
# The schemas are equal, so that a write through either version is in normal form at once.
VALUE = {"value": {"type": "integer"}, "color": {"type": "string", "default": "red"}}
VERSIONS = [version(name, schema(VALUE)) for name in ("v1alpha1", "v1")]


@dataclass(slots=True)
class Toll:
    """
    The number of restarts of the servers.
    """

    api_server_restarts: int = 0
    etcd_restarts: int = 0


class Storm:
    """
    A definition whose objects are written all the time.

    Attributes:
        chance: For whatever is done at random.
    """

    def __init__(self, plane: ControlPlane, *, seed: int, objects: int) -> None:
        self.plane = plane
        self.chance = random.Random(seed)  # noqa: S311 - no secret
        self.crd = Crd(plane, "storms")
        self.toll = Toll()
        self.denial = Denial(self.crd)
        self._generations = 0
        self._begun = time.monotonic()
        self._names = [f"o{number:05}" for number in range(objects)]
        self._writers = [
            Writer(self.crd, self._names[number::WRITERS], seed=seed + number)
            for number in range(WRITERS)
        ]

    def prepare(self) -> None:
        """
        Create the objects at the old version, deny writes on a few, and change the version.
        """
        crd, plane = self.crd, self.plane
        plane.kubectl("apply", "-k", str(ROOT / "manifests"))
        grant_objects(crd)
        crd.create(VERSIONS, storage="v1alpha1")
        objects = (crd.object("v1alpha1", n, spec={"value": 0}) for n in self._names)
        plane.api.create_many(crd.objects_path("v1alpha1"), objects, in_flight=IN_FLIGHT - 1)
        self.denial.impose(next(name for name in self._names if name.endswith(SUFFIX)))
        crd.set_versions(VERSIONS, storage="v1")
        self.tell(f"{len(self._names)} objects are made")

    def start_writers(self) -> None:
        """
        Begin to write objects.
        """
        for writer in self._writers:
            writer.start()

    def stop_writers(self) -> None:
        """
        End the writers, before the last look.
        """
        for writer in self._writers:
            writer.stop()

    def lift_denial(self) -> None:
        """
        Take the policy away.
        """
        self.denial.lift()
        self.tell("the policy is taken away")

    def restart_api_server(self) -> None:
        """
        End the API server with SIGKILL, and start it again.
        """
        self.plane.restart_api_server()
        self.toll.api_server_restarts += 1
        self.tell(f"API server restarted ({self.toll.api_server_restarts})")

    def restart_etcd(self) -> None:
        """
        End etcd with SIGKILL, and start it again with its data.
        """
        self.plane.restart_etcd()
        self.toll.etcd_restarts += 1
        self.tell("etcd restarted")

    def change_generation(self) -> None:
        """
        Change the definition, so that no proof holds any more.
        """
        self._generations += 1
        change = {"spec": {"names": {"shortNames": [f"st{self._generations}"]}}}
        insist(lambda: self.plane.api.merge(self.crd.path, change))

    def tell(self, text: str) -> None:
        """
        Print what has happened, and when.
        """
        say(f"{time.monotonic() - self._begun:4.0f} s  {text}")

    def look_at_the_end(self) -> dict[str, object]:
        """
        Demand all that must hold in the end, by etcd and the audit log, and return the figures.

        Raises:
            ChaosError: Something does not hold.
        """
        seconds = round(time.monotonic() - self._begun)
        stored = self.crd.stored()
        self._check_contents(stored)
        versions = self.crd.stored_at()
        demand(set(versions) == {"v1"}, f"stored at {versions}")
        revision = self._revision_of_the_only_trim()
        old = [
            key
            for key, value in self.plane.etcd.values(self.crd.raw_prefix, revision=revision)
            if not json.loads(value)["apiVersion"].endswith("/v1")
        ]
        demand(not old, f"trimmed while {len(old)} objects were stored at the old version")
        too_many = self._too_many()
        demand(too_many, "the operator was never turned away by a 429")
        return {
            "objects": len(stored),
            "writes": sum(writer.writes for writer in self._writers),
            "writers_denied": sum(writer.refused for writer in self._writers),
            "operator_denied": self.denial.check(set(stored)),
            **asdict(self.toll),
            "too_many_requests": too_many,
            "trim_revision": revision,
            "seconds": seconds,
        }

    def _check_contents(self, stored: dict[str, dict[str, Any]]) -> None:
        expected = {n: v for writer in self._writers for n, v in writer.expected.items()}
        wrong = [
            name
            for name, value in expected.items()
            if value != (stored[name]["spec"]["value"] if name in stored else None)
        ]
        demand(not wrong, f"{len(wrong)} objects are not as they were left, such as {wrong[:5]}")
        strange = stored.keys() - expected.keys()
        demand(not strange, f"{len(strange)} objects came from nowhere: {sorted(strange)[:5]}")

    def _too_many(self) -> int:
        busy = http.HTTPStatus.TOO_MANY_REQUESTS
        return sum(r.code == busy and is_ours(r) for r in self.plane.audit.requests())

    def _revision_of_the_only_trim(self) -> int:
        """
        Return the only revision of the definition at which storedVersions became one version.
        """
        trims = []
        later: tuple[int, list[str]] | None = None
        for revision, value in self.plane.etcd.history(self.crd.raw_key):
            stored = json.loads(value).get("status", {}).get("storedVersions") or []
            if later is not None and later[1] == ["v1"] and stored != ["v1"]:
                trims.append(later[0])
            later = revision, stored
        demand(len(trims) == 1, f"storedVersions was trimmed {len(trims)} times: {trims}")
        return trims[0]
