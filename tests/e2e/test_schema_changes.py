"""
A schema that changes while there are objects: defaults are stored, and no data is lost.
"""

from collections.abc import Mapping

import pytest

from tests.e2e.conftest import MakeCrd
from tests.e2e.crds import CURRENT, Crd, schema, version
from tests.e2e.waiting import eventually, throughout

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("operator")]

PLAIN = {"size": {"type": "integer"}}
WITH_DEFAULT = PLAIN | {"colour": {"type": "string", "default": "green"}}
WITH_NOTE = WITH_DEFAULT | {"note": {"type": "string"}}


def show(crd: Crd, spec: Mapping[str, object]) -> None:
    crd.set_versions([version("v1", schema(spec))], storage="v1")


def test_a_new_default_reaches_the_stored_bytes(crd: MakeCrd) -> None:
    pots = crd("pots")
    pots.create([version("v1", schema(PLAIN))], storage="v1")
    pots.add("v1", *(pots.object("v1", f"p{n}", spec={"size": n}) for n in range(20)))
    pots.label(mode="enforce")
    pots.wait_until_current()
    assert not any(b"colour" in value for value in pots.raw().values())

    show(pots, WITH_DEFAULT)

    def defaulted() -> None:
        specs = {name: obj["spec"] for name, obj in pots.stored().items()}
        assert specs == {f"p{n}": {"size": n, "colour": "green"} for n in range(20)}

    eventually(defaulted)
    pots.wait_until_current()


def test_a_dropped_field_is_kept_until_its_loss_is_accepted(crd: MakeCrd) -> None:
    vases = crd("vases")
    vases.create([version("v1", schema(WITH_NOTE))], storage="v1")
    vases.add(
        "v1",
        vases.object("v1", "noted", spec={"size": 1, "note": "precious"}),
        vases.object("v1", "plain", spec={"size": 2}),
    )
    vases.label(mode="enforce")
    vases.wait_until_current()

    show(vases, WITH_DEFAULT)
    stopped = vases.wait_for(CURRENT, "False", "WouldLoseData")

    assert "spec.note" in stopped["message"]
    assert "precious" not in stopped["message"]

    def kept() -> None:
        assert vases.stored()["noted"]["spec"]["note"] == "precious"

    throughout(kept, seconds=3)

    show(vases, WITH_NOTE)
    vases.wait_until_current()
    noted = f"{vases.objects_path('v1')}/noted"
    assert vases.plane.api.get(noted)["spec"]["note"] == "precious"

    show(vases, WITH_DEFAULT)
    vases.consent(vases.wait_for(CURRENT, "False", "WouldLoseData"))

    def gone() -> None:
        assert vases.stored()["noted"]["spec"] == {"size": 1, "colour": "green"}

    eventually(gone)
    vases.wait_until_current()
    assert vases.stored()["plain"]["spec"] == {"size": 2, "colour": "green"}


def unserved(crd: Crd, old: Mapping[str, object], new: Mapping[str, object]) -> None:
    """
    Store objects at a version that is then no longer served.
    """
    versions = [version("v1alpha1", schema(old)), version("v1", schema(new))]
    crd.create(versions, storage="v1alpha1")
    crd.add("v1alpha1", *(crd.object("v1alpha1", f"o{n}", spec={"size": n}) for n in range(5)))
    versions[0] = version("v1alpha1", schema(old), served=False)
    crd.set_versions(versions, storage="v1")


def test_objects_at_a_version_that_is_not_served_any_more_move_if_nothing_is_lost(
    crd: MakeCrd,
) -> None:
    urns = crd("urns")
    unserved(urns, PLAIN, WITH_DEFAULT)
    urns.label(mode="enforce")
    urns.wait_until_current()
    assert urns.stored_at() == {"v1": 5}
    assert urns.stored_versions() == ["v1"]


def test_what_only_the_unserved_version_specifies_stops_the_run(crd: MakeCrd) -> None:
    bowls = crd("bowls")
    unserved(bowls, WITH_NOTE, PLAIN)
    before = bowls.raw()
    bowls.plane.api.merge(bowls.path, {"metadata": {"labels": {"espalier.dev/mode": "observe"}}})

    def observed() -> None:
        found = bowls.wait_for(CURRENT, "False", "Observed")
        # While a survey is under way the message is its progress.
        assert (
            "What is stored at v1alpha1 cannot be seen, since it is not served" in found["message"]
        )

    eventually(observed)
    # The older version has stored a default colour in each object.
    bowls.label(mode="enforce")
    lost = bowls.wait_for(CURRENT, "False", "WouldLoseData")
    assert "colour" in lost["message"]
    assert bowls.raw() == before

    bowls.consent(lost)
    bowls.wait_until_current()
    assert {str(obj["spec"]) for obj in bowls.stored().values()} == {
        str({"size": n}) for n in range(5)
    }
