"""
A real API server takes the manifests and all components: each field, and the pods they make.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.e2e.controlplane.running import ControlPlane, ControlPlaneError
from tests.e2e.installing import MANIFESTS, Kustomization
from tests.e2e.writes import NAMESPACE

pytestmark = pytest.mark.e2e

# Of the kustomization itself.
DEFAULT = {"structural"}
COMPONENTS = sorted({path.name for path in (MANIFESTS / "components").iterdir()} - DEFAULT)
# Of the Prometheus operator, which is not installed here.
FOREIGN_GROUP = "monitoring.coreos.com/"


@pytest.fixture(scope="module")
def rendered(installed: ControlPlane) -> Iterator[list[dict[str, Any]]]:
    with Kustomization(*COMPONENTS) as overlay:
        yield list(yaml.safe_load_all(installed.kubectl("kustomize", overlay.path)))


def pods(rendered: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """
    The pods that the Deployments and Jobs make.
    """
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": doc["metadata"]["name"],
                "namespace": doc["metadata"]["namespace"],
                "labels": doc["spec"]["template"]["metadata"]["labels"],
            },
            "spec": doc["spec"]["template"]["spec"],
        }
        for doc in rendered
        if doc["kind"] in {"Deployment", "Job"}
    ]


def test_every_field_is_known_to_the_server(
    installed: ControlPlane, rendered: list[dict[str, Any]]
) -> None:
    served = [doc for doc in rendered if not doc["apiVersion"].startswith(FOREIGN_GROUP)]
    text = yaml.safe_dump_all(served)

    output = installed.kubectl(
        "apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=text
    )

    assert len(output.splitlines()) == len(served)
    assert "Warning" not in output


def test_a_field_that_is_not_known_is_refused(
    installed: ControlPlane, rendered: list[dict[str, Any]]
) -> None:
    (deployment,) = (doc for doc in rendered if doc["kind"] == "Deployment")
    wrong = json.loads(json.dumps(deployment))
    wrong["spec"]["template"]["spec"]["topologySpread"] = []

    with pytest.raises(ControlPlaneError, match="topologySpread"):
        installed.kubectl(
            "apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=json.dumps(wrong)
        )


def test_their_pods_are_admitted_by_the_restricted_profile(
    installed: ControlPlane, rendered: list[dict[str, Any]]
) -> None:
    made = pods(rendered)
    assert made
    # The PriorityClass is not there: the dry run did not keep it.
    for pod in made:
        pod["spec"].pop("priorityClassName", None)
        assert pod["metadata"]["namespace"] == NAMESPACE
        installed.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))

    bare = json.loads(json.dumps(made[0]))
    del bare["spec"]["containers"][0]["securityContext"]
    with pytest.raises(ControlPlaneError, match="violates PodSecurity"):
        installed.kubectl("create", "--dry-run=server", "-f", "-", stdin=json.dumps(bare))
