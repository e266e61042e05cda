"""
A condition is believed of the generation that it is about, and of no other.
"""

import pytest

from espalier.names import STORED_OBJECTS_CURRENT
from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.controlplane.running import ControlPlaneError
from tests.e2e.crds import Crd, Document, schema, version
from tests.e2e.older_servers import minor_of
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

FIRST_RELEASE = 35
COLUMN = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}


def versions(*, storage_name: str = "size", **more: object) -> list[Document]:
    fields = {storage_name: {"type": "integer"}}
    return [version("v1", schema(fields), **more)]


def wait(crd: Crd, seconds: int) -> None:
    condition = f"--for=condition={STORED_OBJECTS_CURRENT}"
    crd.plane.kubectl("wait", f"crd/{crd.name}", condition, f"--timeout={seconds}s")


def observed(crd: Crd) -> tuple[int, int]:
    body = crd.read()
    (found,) = [c for c in body["status"]["conditions"] if c["type"] == STORED_OBJECTS_CURRENT]
    return found["observedGeneration"], body["metadata"]["generation"]


def test_kubectl_waits_where_a_true_condition_is_of_an_older_generation(
    crd: MakeCrd, start_operator: StartOperator
) -> None:
    operator = start_operator()
    gauges = crd("gauges")
    minor = minor_of(gauges.plane.api)
    if minor < FIRST_RELEASE:
        pytest.skip(f"Kubernetes 1.{minor} keeps no such generation: unset KUBEBUILDER_ASSETS")
    gauges.create(versions(), storage="v1")
    gauges.add("v1", gauges.object("v1", "a", spec={"size": 1}))
    gauges.label(mode="enforce")
    gauges.wait_until_current()
    wait(gauges, 10)

    # Another generation that is about no object: the condition follows, without another run.
    gauges.set_versions(versions(additionalPrinterColumns=[COLUMN]), storage="v1")

    def followed() -> None:
        about, generation = observed(gauges)
        assert about == generation == 2

    eventually(followed)
    wait(gauges, 10)

    assert operator.stop() == 0
    gauges.set_versions(versions(storage_name="colour"), storage="v1")

    assert observed(gauges) == (2, 3)
    with pytest.raises(ControlPlaneError, match="timed out"):
        wait(gauges, 2)
