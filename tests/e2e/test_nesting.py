"""
Objects that are nested as deeply as an API server accepts.
"""

import pytest

from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, VALID, schema, version

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("operator")]

OPEN = {"raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


def deep(levels: int) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels


@pytest.mark.parametrize("levels", [1_100, 5_000, 9_900])
def test_one_of_any_depth_is_observed_validated_and_pruned_as_any_other(
    crd: MakeCrd, control_plane: ControlPlane, levels: int
) -> None:
    shafts = crd(f"shafts{levels}")
    shafts.put_legacy([version("v1", schema(OPEN))], storage="v1")
    specs = {
        "plain": b'{"raw":{},"junk":1}',
        "kept": b'{"raw":' + deep(levels) + b"}",
        "cut": b'{"raw":{},"junk":' + deep(levels) + b"}",
        "wrong": b'{"raw":[' + deep(levels) + b"]}",
    }
    for name, spec in specs.items():
        control_plane.raw_put(
            f"{shafts.raw_prefix}default/{name}",
            b'{"apiVersion":"%s/v1","kind":"%s","metadata":{"name":"%s","namespace":"default",'
            b'"uid":"uid-%s","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":%s}'
            % (shafts.group.encode(), shafts.kind.encode(), name.encode(), name.encode(), spec),
        )

    shafts.label(mode="observe")
    invalid = shafts.wait_for(VALID, "False", "Invalid", within_seconds=60)
    observed = shafts.wait_for(CURRENT, "False", "Observed")
    assert "4 stored objects" in observed["message"]
    assert "1 object of 4" in invalid["message"]
    assert "default/wrong" in invalid["message"]

    shafts.label(mode="enforce", annotate="false")
    shafts.wait_until_current(within_seconds=90)

    pruned = {**specs, "plain": b'{"raw":{}}', "cut": b'{"raw":{}}'}
    for name, value in shafts.raw().items():
        assert value.strip().endswith(b'"spec":' + pruned[name] + b"}")
