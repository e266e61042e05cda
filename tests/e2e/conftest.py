"""
Fixtures: the cluster that the end-to-end tests share, and its operator.
"""

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from tests.e2e.admissions import API as ADMISSION
from tests.e2e.admissions import Post
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import GROUP, Crd, Document
from tests.e2e.operating import Operator
from tests.e2e.waiting import eventually
from tests.e2e.writes import ACCOUNT, NAMESPACE, check_writes

ROOT = Path(__file__).parent.parent.parent
AGGREGATED = "espalier-objects"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"

# Each is run by one worker: a long one that began last would be waited for by all the others.
LONGEST_FIRST = (
    "test_replicas.py",
    "test_pausing.py",
    "test_commands.py",
    "test_interruptions.py",
    "test_untouched.py",
    "test_admission.py",
    "test_stale_server.py",
    "test_legacy.py",
    "test_bad_objects.py",
    "test_conversion.py",
    "test_restricting.py",
    "test_validation.py",
)

MakeCrd = Callable[..., Crd]
StartOperator = Callable[..., Operator]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """
    Put the longest modules first.
    """
    places = {Path(__file__).with_name(name): place for place, name in enumerate(LONGEST_FIRST)}
    assert all(path.exists() for path in places)
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """
    Add the end of the operators' logs to the report of a failed test.
    """
    report = yield
    plane = getattr(item, "funcargs", {}).get("control_plane")
    if report.failed and isinstance(plane, ControlPlane):
        for log in sorted(plane.folder.glob("operator-*.log"))[-2:]:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            report.sections.append((log.name, "\n".join(lines[-60:])))
    return report


@pytest.fixture(scope="session")
def installed(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """
    The control plane with the manifests applied, and with a role for the tests' own group.

    What was written on it is checked in the end.
    """
    control_plane.kubectl("apply", "-k", str(ROOT / "manifests"))
    if control_plane.has_controller_manager:
        control_plane.start_controllers("clusterrole-aggregation-controller")
    grant(control_plane, GROUP)
    yield control_plane
    check_writes(control_plane)


@pytest.fixture
def aggregation(control_plane: ControlPlane) -> None:
    """
    For tests that are about the aggregation of roles.
    """
    if not control_plane.has_controller_manager:
        pytest.skip(
            "roles are aggregated by kube-controller-manager, which envtest's assets lack:"
            " unset KUBEBUILDER_ASSETS and run make control-plane"
        )


def grant(plane: ControlPlane, group: str, *resources: str) -> None:
    """
    Give the operator access to the objects of a group, as in the example of the manifests.
    """
    role: Document = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": f"objects-of-{group}",
            "labels": {"rbac.espalier.dev/aggregate-to-operator": "true"},
        },
        "rules": [
            {
                "apiGroups": [group],
                "resources": list(resources) or ["*"],
                "verbs": ["get", "list", "watch", "update", "patch"],
            }
        ],
    }
    plane.api.post(ROLES, role)
    if not plane.has_controller_manager:  # then this does its work
        rules = plane.api.get(f"{ROLES}/{AGGREGATED}").get("rules") or []
        plane.api.merge(f"{ROLES}/{AGGREGATED}", {"rules": [*rules, *role["rules"]]})

    def aggregated() -> None:
        rules = plane.api.get(f"{ROLES}/{AGGREGATED}").get("rules") or []
        assert any(group in rule.get("apiGroups", []) for rule in rules)

    eventually(aggregated)


@pytest.fixture(scope="session")
def kubeconfig(installed: ControlPlane) -> Path:
    """
    A kubeconfig for the manifests' ServiceAccount.
    """
    return installed.service_account_kubeconfig(NAMESPACE, ACCOUNT)


@pytest.fixture(scope="module")
def operator(installed: ControlPlane, kubeconfig: Path) -> Iterator[Operator]:
    """
    An operator for the tests of one module; it must still run after them, and end without an error.
    """
    running = Operator(installed, kubeconfig)
    yield running
    assert running.child.exit_code is None, running.child.tail()
    assert running.stop() == 0, running.child.tail()


@pytest.fixture
def start_operator(installed: ControlPlane, kubeconfig: Path) -> Iterator[StartOperator]:
    """
    A function that starts further operators with given settings.
    """
    started: list[Operator] = []

    def start(**settings: object) -> Operator:
        started.append(Operator(installed, kubeconfig, **settings))
        return started[-1]

    yield start
    for running in started:
        if running.child.exit_code is None:
            running.stop()


@pytest.fixture
def admission(control_plane: ControlPlane) -> Iterator[Post]:
    """
    Create objects of the admission API, which are deleted after the test.
    """
    paths: list[str] = []

    def post(plural: str, kind: str, name: str, body: Document) -> str:
        head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind}
        path = f"{ADMISSION}/{plural}"
        control_plane.api.post(path, head | {"metadata": {"name": name}} | body)
        paths.append(f"{path}/{name}")
        return paths[-1]

    yield post
    for path in reversed(paths):
        control_plane.api.delete(path)


@pytest.fixture
def crd(control_plane: ControlPlane) -> Iterator[MakeCrd]:
    """
    A function that makes CRDs, which are deleted after the test.
    """
    made: list[Crd] = []

    def make(plural: str, group: str = GROUP) -> Crd:
        made.append(Crd(control_plane, plural, group))
        return made[-1]

    yield make
    for each in made:
        each.remove()
