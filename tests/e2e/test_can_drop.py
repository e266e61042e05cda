"""
``espalier can-drop`` on a real server: a no is what the server does, and a yes holds.
"""

import json

import pytest

from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.api import ApiError
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Document, schema, version
from tests.e2e.operating import espalier
from tests.e2e.waiting import eventually

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("installed")]

LEVEL = {"level": {"type": "string"}}
APPLY = "application/apply-patch+yaml"
QUICK = ("--yes", "--settle-seconds", "0")


def test_the_answer_is_what_the_server_does(crd: MakeCrd, control_plane: ControlPlane) -> None:
    logs = crd("rungs")
    old, new = version("v1", schema(LEVEL)), version("v2", schema(LEVEL))
    logs.create([old], storage="v1")
    logs.add("v1", logs.object("v1", "one", spec={"level": "debug"}))
    logs.set_versions([old, new], storage="v2")
    logs.wait_until_served("v2")

    def asked(code: int) -> list[str]:
        output = espalier(control_plane, "can-drop", "v1", logs.name, "-o", "json", code=code)
        return [one["rule"] for one in json.loads(output)["findings"]]

    def migrate() -> Document:
        output = espalier(control_plane, "migrate", logs.name, *QUICK, "-o", "json")
        (item,) = json.loads(output)["items"]
        return dict(item)

    def answer_to_apply() -> str:
        # A dry run: an answer by the old definition would take the field from its old manager.
        path = f"{logs.objects_path('v2')}/one?fieldManager=tests&force=true&dryRun=All"
        body = logs.object("v2", "one", spec={"level": "info"})
        try:
            control_plane.api.call("PATCH", path, body, content_type=APPLY)
        except ApiError as error:
            return str(error)
        return "applied"

    assert asked(1) == ["drop/refused", "drop/served", "drop/managed-fields"]
    with pytest.raises(ApiError, match=r"missing from spec\.versions"):
        logs.set_versions([new], storage="v2")
    assert migrate()["proved"]
    assert asked(1) == ["drop/served", "drop/managed-fields", "drop/unproved"]

    # Too early: what the answer warns of comes to pass.
    logs.set_versions([new], storage="v2")
    eventually(lambda: _assert("invalid group/version" in answer_to_apply()))
    logs.set_versions([old | {"served": False}, new], storage="v2")
    eventually(lambda: _assert(migrate()["proved"]))
    assert asked(0) == ["drop/unproved"]
    logs.set_versions([new], storage="v2")
    eventually(lambda: _assert(answer_to_apply() == "applied"))


def _assert(fact: object) -> None:
    assert fact
