"""
Chaos on the real control plane: ``make e2e-chaos``, bounded to ten minutes.

Thousands of objects, writers at work on them, an operator that is killed again and again, API
server and etcd that come and go, denials and 429s. In the end everything must be as the writers
left it, stored at the storage version, and trimmed exactly once, after the last old value was gone.
"""

import argparse
import http
import http.client
import json
import random
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tests.e2e.chaos.writing import Writer
from tests.e2e.controlplane.api import ApiError
from tests.e2e.controlplane.assets import find_assets
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, Crd, schema, version
from tests.e2e.operating import Operator

T = TypeVar("T")

ROOT = Path(__file__).parent.parent.parent.parent
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
POLICY = "chaos-denies-one-in-a-hundred"
OBJECTS, WRITERS = 3000, 3
KILLS, API_RESTARTS, ETCD_RESTARTS = 30, 5, 1
SECONDS = 600.0
LAST_PART_SECONDS = 200.0
"""At the end nothing is broken any more, so that the run can come to its proof."""

VALUE = {"value": {"type": "integer"}, "color": {"type": "string", "default": "red"}}
VERSIONS = [
    version("v1alpha1", schema({"value": {"type": "integer"}})),
    version("v1", schema(VALUE)),
]
# Few at a time, and refused at once beyond that: the operator alone asks for more.
FLAGS = (
    "--enable-priority-and-fairness=false",
    "--max-mutating-requests-inflight=6",
    "--etcd-compaction-interval=0",
)
SETTINGS = {"settle_seconds": 2, "page_size": 250, "resync_seconds": 5}


class ChaosError(Exception):
    """
    Something that must hold does not.
    """


@dataclass(slots=True)
class Toll:
    """
    What was done to the cluster.
    """

    kills: int = 0
    api_restarts: int = 0
    etcd_restarts: int = 0
    log: list[str] = field(default_factory=list)


def main() -> int:
    """
    Run it once.

    Returns:
        0 if all that must hold held.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--objects", type=int, default=OBJECTS)
    given = parser.parse_args()
    _say(f"seed {given.seed}: make e2e-chaos SEED={given.seed}")
    try:
        with _control_plane() as plane:
            figures = _Chaos(plane, given.seed, given.objects, given.seconds).run()
    except ChaosError as error:
        _say(f"seed {given.seed}: {error}")
        return 1
    _say(json.dumps({"seed": given.seed, **figures}))
    return 0


class _Chaos:
    def __init__(self, plane: ControlPlane, seed: int, objects: int, seconds: float) -> None:
        self._plane = plane
        self._chance = random.Random(seed)  # noqa: S311 - no secret
        self._deadline = time.monotonic() + seconds
        self._crd = Crd(plane, "storms")
        names = [f"o{number:05}" for number in range(objects)]
        self._names = names
        self._writers = [
            Writer(self._crd, names[number::WRITERS], seed=seed + number)
            for number in range(WRITERS)
        ]
        self._toll = Toll()

    def run(self) -> dict[str, object]:
        self._prepare()
        # Nobody turns an administrator away, however busy the server is.
        kubeconfig = self._plane.service_account_kubeconfig("espalier-system", "espalier")
        operator = Operator(self._plane, kubeconfig, **SETTINGS)
        for writer in self._writers:
            writer.start()
        begun = time.monotonic()
        self._break_things(operator)
        for writer in self._writers:
            writer.stop()
        if operator.child.exit_code is not None:
            operator.restart(**SETTINGS)
        self._wait_until_proved()
        figures = self._check() | {"seconds": round(time.monotonic() - begun)}
        operator.stop()
        return figures

    def _prepare(self) -> None:
        crd, plane = self._crd, self._plane
        plane.kubectl("apply", "-k", str(ROOT / "manifests"))
        _grant(plane, crd)
        crd.create(VERSIONS, storage="v1alpha1")
        for start in range(0, len(self._names), 5):
            # No more at a time than the server takes.
            part = self._names[start : start + 5]
            crd.add("v1alpha1", *(crd.object("v1alpha1", n, spec={"value": 0}) for n in part))
        rule = {"apiGroups": [crd.group], "apiVersions": ["*"], "resources": [crd.plural]}
        denied = "!object.metadata.name.endsWith('77')"
        _post(
            plane,
            POLICIES,
            "ValidatingAdmissionPolicy",
            {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [rule | {"operations": ["UPDATE"]}]},
                "validations": [{"expression": denied, "message": "not this one"}],
            },
        )
        binding = {"policyName": POLICY, "validationActions": ["Deny"]}
        _post(plane, BINDINGS, "ValidatingAdmissionPolicyBinding", binding)
        crd.set_versions(VERSIONS, storage="v1")
        crd.label(mode="enforce")

    def _break_things(self, operator: Operator) -> None:
        """
        Kill the operator and restart the servers, at random, until time is nearly up.
        """
        end = self._deadline - LAST_PART_SECONDS
        half = time.monotonic() + (end - time.monotonic()) / 2
        others: list[Callable[[], None]] = [self._restart_api_server] * API_RESTARTS
        others += [self._restart_etcd] * ETCD_RESTARTS
        self._chance.shuffle(others)
        denies = True
        while time.monotonic() < end or self._toll.kills < KILLS or others:
            # Now and then long enough for a lease to run out and for work to be done.
            is_long = self._chance.random() < 0.25
            time.sleep(self._chance.uniform(22, 30) if is_long else self._chance.uniform(0.3, 4))
            operator.kill()
            self._toll.kills += 1
            if others and self._chance.random() < 0.3:
                others.pop()()
            operator.restart(**SETTINGS)
            if denies and time.monotonic() > half:
                denies = False
                _insist(self._allow_all)
            if time.monotonic() > self._deadline:
                raise ChaosError(f"not enough was broken in time: {self._toll}")

    def _allow_all(self) -> None:
        for path in (BINDINGS, POLICIES):
            self._plane.api.delete(f"{path}/{POLICY}")

    def _restart_api_server(self) -> None:
        self._plane.restart_api_server()
        self._toll.api_restarts += 1

    def _restart_etcd(self) -> None:
        self._plane.restart_etcd()
        self._toll.etcd_restarts += 1

    def _wait_until_proved(self) -> None:
        while True:
            found = _insist(lambda: self._crd.condition(CURRENT))
            stored = _insist(self._crd.stored_versions)
            if found is not None and found["status"] == "True" and stored == ["v1"]:
                return
            if time.monotonic() > self._deadline:
                raise ChaosError(f"not proved in time: {found}, {stored}")
            time.sleep(1)

    def _check(self) -> dict[str, object]:
        stored = self._crd.stored()
        expected = {n: v for writer in self._writers for n, v in writer.expected.items()}
        wrong = [
            name
            for name, value in expected.items()
            if value != (stored[name]["spec"]["value"] if name in stored else None)
        ]
        _demand(not wrong, f"{len(wrong)} objects are not as they were left, such as {wrong[:5]}")
        strange = stored.keys() - expected.keys()
        _demand(not strange, f"{len(strange)} objects came from nowhere: {sorted(strange)[:5]}")
        versions = self._crd.stored_at()
        _demand(set(versions) == {"v1"}, f"stored at {versions}")
        revision = self._revision_of_the_only_trim()
        old = [
            key
            for key, value in self._plane.etcd.values(self._crd.raw_prefix, revision=revision)
            if not json.loads(value)["apiVersion"].endswith("/v1")
        ]
        too_many = self._too_many()
        _demand(too_many, "the operator was never turned away by a 429")
        _demand(not old, f"trimmed while {len(old)} objects were stored at the old version")
        return {
            "objects": len(stored),
            "writes": sum(writer.writes for writer in self._writers),
            "denied": sum(writer.refused for writer in self._writers),
            "kills": self._toll.kills,
            "api_server_restarts": self._toll.api_restarts,
            "etcd_restarts": self._toll.etcd_restarts,
            "too_many_requests": too_many,
            "trim_revision": revision,
        }

    def _too_many(self) -> int:
        busy = http.HTTPStatus.TOO_MANY_REQUESTS
        return sum(request.code == busy for request in self._plane.audit.requests())

    def _revision_of_the_only_trim(self) -> int:
        """
        Find, in all that etcd ever held of the definition, where storedVersions became one.
        """
        trims = []
        later: tuple[int, list[str]] | None = None
        for revision, value in self._plane.etcd.history(self._crd.raw_key):
            stored = json.loads(value).get("status", {}).get("storedVersions") or []
            if later is not None and later[1] == ["v1"] and stored != ["v1"]:
                trims.append(later[0])
            later = revision, stored
        _demand(len(trims) == 1, f"storedVersions was trimmed {len(trims)} times: {trims}")
        return trims[0]


def _grant(plane: ControlPlane, crd: Crd) -> None:
    api = "/apis/rbac.authorization.k8s.io/v1"
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "storms"}}
    verbs = ["get", "list", "watch", "update", "patch"]
    rule = {"apiGroups": [crd.group], "resources": [crd.plural], "verbs": verbs}
    plane.api.post(f"{api}/clusterroles", head | {"kind": "ClusterRole", "rules": [rule]})
    account = {"kind": "ServiceAccount", "name": "espalier", "namespace": "espalier-system"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "storms"}
    binding = {"kind": "ClusterRoleBinding", "subjects": [account], "roleRef": role}
    plane.api.post(f"{api}/clusterrolebindings", head | binding)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _post(plane: ControlPlane, path: str, kind: str, spec: Mapping[str, object]) -> None:
    api_version = "admissionregistration.k8s.io/v1"
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": POLICY}, "spec": spec}
    plane.api.post(path, body)


def _demand(holds: object, otherwise: str) -> None:
    if not holds:
        raise ChaosError(otherwise)


def _insist(call: Callable[[], T]) -> T:
    """
    Make a call again as long as the server is busy or away.
    """
    while True:
        try:
            return call()
        except (ApiError, OSError, http.client.HTTPException):
            time.sleep(1)


@contextmanager
def _control_plane() -> Iterator[ControlPlane]:
    plane = ControlPlane(find_assets(), is_durable=True, api_server_flags=FLAGS)
    plane.start()
    try:
        yield plane
    finally:
        plane.stop()


if __name__ == "__main__":
    sys.exit(main())
