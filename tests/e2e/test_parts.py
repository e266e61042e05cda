"""
One definition in parts: an Indexed Job whose pods are killed and suspended, and the last step.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest
import yaml

from espalier.engine.ports import Part
from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.auditing import Request
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, Document, schema, version
from tests.e2e.installing import MANIFESTS
from tests.e2e.operating import run_command
from tests.e2e.pods import KILLED, PodRunner
from tests.e2e.sizes import sized
from tests.e2e.waiting import eventually
from tests.e2e.writes import NAMESPACE

# It creates many objects, and waits for leases of killed processes.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

EXAMPLE = MANIFESTS / "examples" / "migrate-job.yaml"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
OBJECTS, PARTS, AT_A_TIME = sized(1200, large=3000), 4, 2
# So slow that a part is at work for some seconds.
WRITES_PER_SECOND = 50
VERSIONS = [version(name, schema({"size": {"type": "integer"}})) for name in ("v1alpha1", "v1")]
INDEX = "batch.kubernetes.io/job-completion-index"


def manifests_for(crd: Crd) -> Iterator[Document]:
    """
    Yield what the example has, for another definition, with another number of parts.
    """
    text = EXAMPLE.read_text(encoding="utf-8")
    text = text.replace("widgets.example.com", crd.name).replace("[example.com]", f"[{crd.group}]")
    text = text.replace("widgets", crd.plural)
    for document in yaml.safe_load_all(text):
        spec = document.get("spec", {})
        if spec.get("completionMode") == "Indexed":
            (container,) = spec["template"]["spec"]["containers"]
            assert f"--part=$(JOB_COMPLETION_INDEX)/{spec['completions']}" in container["args"]
            container["args"] = [
                *(one.replace("/8", f"/{PARTS}") for one in container["args"]),
                f"--max-writes-per-second={WRITES_PER_SECOND}",
            ]
            spec |= {"completions": PARTS, "parallelism": AT_A_TIME}
        elif document["kind"] == "Job":
            (container,) = spec["template"]["spec"]["containers"]
            container["args"] = [*container["args"], "--settle-seconds=2"]
        yield document


@pytest.fixture
def parcels(crd: MakeCrd, installed: ControlPlane) -> Crd:
    del installed
    made = crd("parcels")
    made.create(VERSIONS, storage="v1alpha1")
    made.add(
        "v1alpha1",
        *(made.object("v1alpha1", f"p{n:04}", spec={"size": n}) for n in range(OBJECTS)),
    )
    made.set_versions(VERSIONS, storage="v1")
    return made


@pytest.fixture
def pods(control_plane: ControlPlane, parcels: Crd) -> Iterator[PodRunner]:
    """
    The example's Jobs at work.
    """
    if not control_plane.has_controller_manager:
        pytest.skip(
            "Jobs are run by kube-controller-manager, which envtest's assets lack:"
            " unset KUBEBUILDER_ASSETS and run make control-plane"
        )
    controllers = control_plane.start_controllers("job-controller")
    documents = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*manifests_for(parcels)]})
    control_plane.kubectl("apply", "-f", "-", stdin=documents)
    runner = PodRunner(control_plane, NAMESPACE)
    yield runner
    runner.stop()
    control_plane.kubectl("delete", "-f", "-", "--wait=false", stdin=documents)
    control_plane.kubectl(
        "delete", "pods", "--all", "--force", "--wait=false", f"--namespace={NAMESPACE}"
    )
    control_plane.end(controllers)


class Story:
    """
    What the test does with the Jobs, and what it sees of them.
    """

    def __init__(self, plane: ControlPlane, crd: Crd, pods: PodRunner) -> None:
        self._plane = plane
        self._crd = crd
        self.pods = pods
        self._since = plane.audit.mark()
        self._parts: dict[str, int] = {}
        hashes = [Part(number, PARTS).hashes for number in range(PARTS)]
        self._part_of = {
            f"{crd.raw_prefix}{obj['metadata']['namespace']}/{name}": next(
                number for number, one in enumerate(hashes) if one.holds(obj["metadata"]["uid"])
            )
            for name, obj in crd.stored().items()
        }

    def until(self, look: Callable[[], None], *, within_seconds: float = 60.0) -> None:
        """
        Run the pods until nothing is wrong with what is seen.
        """

        def step() -> None:
            for name, pod in self.pods.look().items():
                index = pod["metadata"].get("annotations", {}).get(INDEX)
                if index is not None:
                    self._parts[name] = int(index)
            look()

        eventually(step, within_seconds=within_seconds)

    def requests(self, resource: str) -> Iterator[tuple[Request, str]]:
        """
        Yield the patches of the pods that were kept, each with the name of its pod.
        """
        for request in self._plane.audit.requests(self._since):
            name = self.pods.credentials.get(request.credential)
            is_kept = request.verb == "patch" and "dryRun" not in request.path
            if name and is_kept and request.resource == resource and request.code == 200:
                yield request, name

    def patched_by(self) -> dict[str, set[int]]:
        """
        Return by which parts each object was patched.
        """
        found: dict[str, set[int]] = defaultdict(set)
        for request, pod in self.requests(self._crd.plural):
            if pod in self._parts:
                found[request.name].add(self._parts[pod])
        return found

    def job(self, name: str) -> Document:
        return self._plane.api.get(f"{JOBS}/{name}-{self._crd.plural}")

    def suspend(self, name: str, *, suspended: bool) -> None:
        self._plane.api.merge(f"{JOBS}/{name}-{self._crd.plural}", {"spec": {"suspend": suspended}})

    def is_complete(self, name: str) -> Callable[[], None]:
        def look() -> None:
            status = self.job(name)["status"]
            ends = {one["type"] for one in status.get("conditions", ()) if one["status"] == "True"}
            assert "Failed" not in ends, status
            assert "Complete" in ends, (status, self.pods.ended, self.pods.logs())

        return look

    def kill_in_the_middle(self, part: int, *, is_disrupted: bool) -> None:
        """
        Kill a part with SIGKILL once it has written for a while, and since it was last killed.
        """
        before = self._written_by(part)
        victims: list[str] = []

        def at_work() -> None:
            victims[:] = [name for name in self.pods.names if self._parts.get(name) == part]
            assert victims
            assert self._written_by(part) > before + WRITES_PER_SECOND // 2

        self.until(at_work)
        (victim,) = victims
        self.pods.kill(victim, is_disrupted=is_disrupted)

        def reported() -> None:
            assert (victim, KILLED) in self.pods.ended

        self.until(reported)

    def _written_by(self, part: int) -> int:
        writes = self._plane.etcd.writes(self._crd.raw_prefix)
        return sum(count > 1 and self._part_of[key] == part for key, count in writes)


def test_a_job_with_kills_and_a_pause_rewrites_each_object_once_and_the_last_step_trims(
    control_plane: ControlPlane, parcels: Crd, pods: PodRunner
) -> None:
    story = Story(control_plane, parcels, pods)
    finish = ("migrate", parcels.name, "--yes", "--finish", "--settle-seconds", "0")

    story.kill_in_the_middle(0, is_disrupted=False)
    story.kill_in_the_middle(0, is_disrupted=True)
    story.suspend("migrate", suspended=True)

    def paused() -> None:
        assert pods.names == []
        assert story.job("migrate")["status"].get("active", 0) == 0

    story.until(paused)
    refused = run_command(control_plane, *finish)
    assert refused.returncode == 4, refused.stdout + refused.stderr
    assert "PartsUnfinished: part" in refused.stdout, refused.stdout + refused.stderr
    assert parcels.stored_versions() == ["v1alpha1", "v1"]
    done = parcels.stored_at()["v1"]
    assert 0 < done < OBJECTS

    story.suspend("migrate", suspended=False)
    story.until(story.is_complete("migrate"), within_seconds=120)
    assert parcels.stored_at() == {"v1": OBJECTS}
    assert parcels.stored_versions() == ["v1alpha1", "v1"]
    story.suspend("finish", suspended=False)
    story.until(story.is_complete("finish"))

    assert parcels.stored_versions() == ["v1"]
    by = story.patched_by()
    assert len(by) == OBJECTS
    assert {len(parts) for parts in by.values()} == {1}
    assert set.union(*by.values()) == set(range(PARTS))
    # Once when they were created, and once when they were rewritten.
    assert {writes for _, writes in control_plane.etcd.writes(parcels.raw_prefix)} == {2}
    check_the_only_trim(control_plane, parcels, story)


def check_the_only_trim(plane: ControlPlane, crd: Crd, story: Story) -> None:
    """
    See that there was one, by the last step, after the last old value was gone.
    """
    trims = [
        pod
        for request, pod in story.requests("customresourcedefinitions/status")
        if "storedVersions" in (request.body or {}).get("status", {})
    ]
    assert len(trims) == 1
    assert re.match(r"finish-", trims[0])
    revision = next(
        written
        for written, value in reversed([*plane.etcd.history(crd.raw_key)])
        if json.loads(value)["status"]["storedVersions"] == ["v1"]
    )
    values = [value for _, value in plane.etcd.values(crd.raw_prefix, revision=revision)]
    assert len(values) == OBJECTS
    assert {json.loads(value)["apiVersion"] for value in values} == {f"{crd.group}/v1"}
