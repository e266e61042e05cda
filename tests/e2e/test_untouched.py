"""
Definitions without labels are read and never written, and Kopf writes nothing at all.
"""

import itertools
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from espalier import crd as definitions
from espalier.cli.input.files import read_documents
from tests.e2e.conftest import ROOT, MakeCrd, StartOperator
from tests.e2e.controlplane.api import CRDS, ApiError
from tests.e2e.controlplane.auditing import Request
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import (
    CURRENT,
    NON_STRUCTURAL,
    RAW_CRDS,
    Document,
    schema,
    version,
)
from tests.e2e.operating import Operator, is_ours
from tests.e2e.waiting import eventually
from tests.e2e.writes import CONDITIONS, check_writes, writes_of_account

pytestmark = pytest.mark.e2e

PUBLISHED = ROOT.parent / "shared" / "crds"

# Reason and message of NonStructuralSchema; None where a CRD has no such condition.
Verdict: TypeAlias = tuple[str, str] | None

INTEGER = {"type": "integer"}

_GENERATIONS = itertools.count(100)


class Sample:
    """
    A published CRD, and the verdict of the server's own code.
    """

    def __init__(self, document: Document, oracle: Document) -> None:
        self.document = document
        self.name: str = document["metadata"]["name"]
        self._oracle = oracle

    def verdict(self) -> Verdict:
        """
        Return the oracle's verdict in the form of the server's condition.
        """
        reason = self._oracle["nonStructuralSchema"]["reason"]
        violations = self._oracle["nonStructuralSchema"]["violations"]
        if reason is None:
            return None
        if self._oracle["structuralError"]:
            return reason, self._oracle["structuralError"]
        return reason, violations[0] if len(violations) == 1 else f"[{', '.join(violations)}]"

    def put(self, plane: ControlPlane) -> None:
        """
        Apply the CRD; one that the server refuses is written to etcd, as in v1beta1.
        """
        if self.document["apiVersion"] == "apiextensions.k8s.io/v1":
            try:
                plane.api.post(CRDS, self.document)
            except ApiError:
                self._put_raw(plane)
        else:
            self._put_raw(plane)

    def _put_raw(self, plane: ControlPlane) -> None:
        spec = self.document["spec"]
        versions = spec.get("versions") or [{"name": spec["version"], "storage": True}]
        if self.document["apiVersion"] == "apiextensions.k8s.io/v1":
            spec = {"preserveUnknownFields": False} | spec  # v1beta1 has another default
        raw = self.document | {
            "apiVersion": "apiextensions.k8s.io/v1beta1",
            "spec": spec,
            "metadata": {
                "name": self.name,
                "uid": str(uuid.uuid4()),
                # The server's controller remembers name and generation, but no uid.
                "generation": next(_GENERATIONS),
                "creationTimestamp": "2019-06-01T00:00:00Z",
            },
            "status": {
                "conditions": [],
                "acceptedNames": {"plural": "", "kind": ""},
                "storedVersions": [entry["name"] for entry in versions if entry["storage"]],
            },
        }
        plane.raw_put(RAW_CRDS + self.name, json.dumps(raw).encode())


def samples() -> Iterator[Sample]:
    """
    Return the published CRDs that have a verdict beside them.
    """
    for path in sorted(PUBLISHED.rglob("*.oracle.json")):
        oracle = json.loads(path.read_text(encoding="utf-8"))
        source = path.with_name(path.name.replace(".oracle.json", ".yaml"))
        for document in read_documents(str(source)):
            body: Any = document.value
            if body["metadata"]["name"] == oracle["crd"]:
                yield Sample(body, oracle)


def batches() -> list[list[Sample]]:
    """
    Group the samples so that no name and no plural of a group occurs twice in a batch.
    """
    made: list[list[Sample]] = []
    for sample in samples():
        for batch in made:
            if sample.name not in {other.name for other in batch}:
                batch.append(sample)
                break
        else:
            made.append([sample])
    return made


def verdicts_of_server(plane: ControlPlane) -> dict[str, Verdict]:
    """
    Return reason and message of the server's condition for every CRD.
    """
    found: dict[str, Verdict] = {}
    for body in plane.api.get(CRDS)["items"]:
        conditions = {entry["type"]: entry for entry in body["status"].get("conditions") or []}
        if "Established" in conditions:
            said = conditions.get(NON_STRUCTURAL)
            found[body["metadata"]["name"]] = said and (said["reason"], said["message"])
    return found


def verdict_of_espalier(plane: ControlPlane, name: str) -> Verdict:
    body = plane.api.get(f"{CRDS}/{name}")
    computed = definitions.nonstructural_condition(definitions.read_definition(body))
    return None if computed is None else (computed.reason, computed.message)


def check(plane: ControlPlane, batch: list[Sample]) -> None:
    """
    Compare three verdicts on every CRD of a batch: the server's, Espalier's and the oracle's.
    """
    expected = {sample.name: sample.verdict() for sample in batch}

    def server_agrees() -> None:
        found = verdicts_of_server(plane)
        assert {name: found.get(name, "unseen") for name in expected} == expected

    eventually(server_agrees, within_seconds=60)
    assert {name: verdict_of_espalier(plane, name) for name in expected} == expected


def writes_on(plane: ControlPlane, names: set[str], mark: dict[Path, int]) -> list[Request]:
    """
    Return Espalier's writes on CRDs after a mark.
    """
    requests = plane.audit.requests(mark)
    return [r for r in requests if is_ours(r) and r.is_mutating and r.name in names]


def remove(plane: ControlPlane, names: set[str]) -> None:
    """
    Remove CRDs from etcd, since the server cannot finish the deletion of some.
    """
    for name in names:
        plane.etcd.delete(RAW_CRDS + name)

    def gone() -> None:
        assert names.isdisjoint(verdicts_of_server(plane))

    eventually(gone)


@pytest.mark.skipif(
    not PUBLISHED.is_dir(),
    reason="published CRDs are other projects' files and not in this repository:"
    f" put some, each with its .oracle.json, into {PUBLISHED}",
)
@pytest.mark.timeout(300)
def test_published_crds_get_the_servers_verdict_and_no_write(
    crd: MakeCrd, start_operator: StartOperator, control_plane: ControlPlane
) -> None:
    control = crd("labelled")
    control.create([version("v1", schema())], storage="v1")
    control.label(mode="enforce")
    # The last name in the alphabet is the last that the operator handles.
    silent = crd("zzz")
    silent.put_legacy([version("v1", schema())], storage="v1")

    for number, batch in enumerate(batches()):
        names = {sample.name for sample in batch}
        for sample in batch:
            sample.put(control_plane)
        check(control_plane, batch)
        silent.wait_for(NON_STRUCTURAL, "True")
        silent.drop_condition(NON_STRUCTURAL)
        mark = control_plane.audit.mark()

        operator = start_operator(structural_grace_seconds=1)
        # It works on labelled definitions, and writes the condition where the server does not ...
        control.set_versions([version("v1", schema({f"f{number}": INTEGER}))], storage="v1")
        control.wait_until_current()
        silent.wait_for(NON_STRUCTURAL, "True")
        # ... and on nothing else.
        assert writes_on(control_plane, names, mark) == []
        assert writes_on(control_plane, {control.name}, mark) != []
        assert operator.stop() == 0

        remove(control_plane, names)


def test_kopf_reads_and_writes_nothing(
    crd: MakeCrd, operator: Operator, control_plane: ControlPlane
) -> None:
    lived = crd("lives")
    lived.create([version("v1", schema())], storage="v1")
    lived.add("v1", lived.object("v1", "one", spec={}))
    lived.label(mode="enforce")
    lived.wait_until_current()
    lived.set_versions([version("v1", schema({"size": {"type": "integer"}}))], storage="v1")
    lived.wait_until_current()
    lived.label(mode=None)

    def let_go() -> None:
        assert lived.condition(CURRENT) is None

    eventually(let_go)

    # Of all that ran on this control plane, not only of this test.
    theirs = [r for r in control_plane.audit.requests() if r.user_agent.startswith("kopf/")]
    assert {r.verb for r in theirs} >= {"list", "watch"}
    check_writes(control_plane)
    assert operator.child.exit_code is None


def test_the_account_writes_only_what_it_says(
    crd: MakeCrd, operator: Operator, control_plane: ControlPlane
) -> None:
    written = crd("writs")
    written.create([version("v1", schema())], storage="v1")
    written.label(mode="enforce")
    written.wait_until_current()

    check_writes(control_plane)
    assert CONDITIONS in writes_of_account(control_plane)
    assert operator.child.exit_code is None
