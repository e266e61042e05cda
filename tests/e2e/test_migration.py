"""
Migration: stored objects move to the storage version, and the old version can be dropped.
"""

import pytest

from tests.e2e.conftest import MakeCrd
from tests.e2e.crds import schema, version
from tests.e2e.operating import Operator
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

SIZE = {"size": {"type": "integer"}, "colour": {"type": "string"}}
VERSIONS = [version("v1alpha1", schema(SIZE)), version("v1", schema(SIZE))]


def test_all_objects_move_to_the_new_storage_version_and_the_old_one_is_trimmed(
    crd: MakeCrd, operator: Operator
) -> None:
    widgets = crd("widgets")
    widgets.create(VERSIONS, storage="v1alpha1")
    specs = {f"w{n:03}": {"size": n, "colour": "green"} for n in range(500)}
    widgets.add(
        "v1alpha1",
        *(widgets.object("v1alpha1", name, spec=spec) for name, spec in specs.items()),
    )
    before = widgets.stored()
    assert widgets.stored_at() == {"v1alpha1": 500}
    widgets.set_versions(VERSIONS, storage="v1")
    assert widgets.stored_versions() == ["v1alpha1", "v1"]

    widgets.label(mode="enforce")

    widgets.wait_until_current(within_seconds=60)
    assert widgets.stored_versions() == ["v1"]
    assert widgets.stored_at() == {"v1": 500}
    after = widgets.stored()
    assert {name: obj["spec"] for name, obj in after.items()} == specs
    assert {name: obj["metadata"] for name, obj in after.items()} == {
        name: obj["metadata"] for name, obj in before.items()
    }
    assert operator.child.exit_code is None


@pytest.mark.usefixtures("operator")
def test_a_flip_under_the_label_is_followed(crd: MakeCrd) -> None:
    gadgets = crd("gadgets")
    gadgets.create(VERSIONS, storage="v1alpha1")
    gadgets.add("v1alpha1", *(gadgets.object("v1alpha1", f"g{n}", spec={}) for n in range(5)))
    gadgets.label(mode="enforce")
    gadgets.wait_until_current()
    assert gadgets.stored_at() == {"v1alpha1": 5}

    gadgets.set_versions(VERSIONS, storage="v1")

    def moved() -> None:
        assert gadgets.stored_at() == {"v1": 5}
        assert gadgets.stored_versions() == ["v1"]

    eventually(moved)
    gadgets.wait_until_current()
    # Now the old version can be removed, which is the purpose of a migration.
    gadgets.set_versions(VERSIONS[1:], storage="v1")
    assert [entry["name"] for entry in gadgets.read()["spec"]["versions"]] == ["v1"]
