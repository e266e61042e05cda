"""
The health check for Argo CD, run by a Lua interpreter against conditions as they are written.
"""

from dataclasses import replace
from typing import Any

import pytest
import yaml
from lupa.lua54 import LuaRuntime

from espalier.crd import Condition
from espalier.engine.status.conditions import Reason
from espalier.names import STORED_OBJECTS_CURRENT, STORED_OBJECTS_VALID
from tests.docs.reading import ROOT, blocks

SCRIPT = (ROOT / "manifests" / "examples" / "argo-cd-health.lua").read_text(encoding="utf-8")
PAGE = ROOT / "docs" / "how-to" / "argo-cd-and-flux.md"

PROGRESSING = {Reason.PENDING, Reason.REWRITING, Reason.SERVERS_BEHIND, Reason.OTHER_MIGRATION}
SUSPENDED = {Reason.OBSERVED, Reason.OUTSIDE_WINDOW, Reason.PARTIAL}

ESTABLISHED = Condition(
    type="Established", status="True", reason="InitialNamesAccepted", message=""
)
CURRENT = Condition(type=STORED_OBJECTS_CURRENT, status="True", reason="Verified", message="")


def health(*conditions: Condition, mode: str | None = "enforce", generation: int = 1) -> str:
    """
    Run the script as Argo CD does, with a global ``obj``.
    """
    labels = {} if mode is None else {"labels": {"espalier.dev/mode": mode}}
    document = {
        "metadata": {"name": "widgets.example.com", "generation": generation, **labels},
        "status": {"conditions": [one.manifest() for one in conditions]},
    }
    return run(document)


def run(document: dict[str, Any]) -> str:
    lua = LuaRuntime(unpack_returned_tuples=True)
    lua.globals().obj = lua.table_from(document, recursive=True)
    found = lua.execute(SCRIPT)
    assert found["message"]
    status: str = found["status"]
    return status


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_its_health(reason: Reason) -> None:
    is_current = reason is Reason.CURRENT
    one = Condition(
        type=STORED_OBJECTS_CURRENT,
        status="True" if is_current else "False",
        reason=str(reason),
        message="",
    )
    expected = "Degraded"
    if is_current:
        expected = "Healthy"
    elif reason in PROGRESSING:
        expected = "Progressing"
    elif reason in SUSPENDED:
        expected = "Suspended"

    assert health(ESTABLISHED, one) == expected
    # Without the label, what is left of an earlier one does not count.
    assert health(ESTABLISHED, one, mode=None) == "Healthy"


def test_a_definition_without_conditions_or_with_a_deletion_time_is_on_its_way() -> None:
    assert run({"metadata": {"name": "x"}}) == "Progressing"
    assert health(mode=None) == "Progressing"
    metadata = {"name": "x", "deletionTimestamp": "2026-01-02T03:04:05Z"}
    status = {"conditions": [replace(ESTABLISHED, status="False").manifest()]}
    assert run({"metadata": metadata, "status": status}) == "Progressing"


def test_a_generation_that_was_not_looked_at_yet_is_on_its_way() -> None:
    old = Condition(
        type=STORED_OBJECTS_CURRENT,
        status="True",
        reason="Verified",
        message="",
        observed_generation=1,
    )

    assert health(ESTABLISHED, old, generation=2) == "Progressing"
    assert health(ESTABLISHED, old, generation=1) == "Healthy"
    assert health(ESTABLISHED) == "Progressing"


@pytest.mark.parametrize("mode", ["enforce", "observe"])
def test_invalid_objects_degrade_a_definition(mode: str) -> None:
    invalid = Condition(type=STORED_OBJECTS_VALID, status="False", reason="Invalid", message="")

    assert health(ESTABLISHED, CURRENT, invalid, mode=mode) == "Degraded"
    assert health(ESTABLISHED, CURRENT, invalid, mode=None) == "Healthy"


def test_what_argo_cd_itself_calls_degraded_stays_so() -> None:
    non_structural = Condition(
        type="NonStructuralSchema", status="True", reason="Violations", message=""
    )
    names = Condition(type="NamesAccepted", status="False", reason="Conflict", message="in use")

    assert health(ESTABLISHED, CURRENT, non_structural) == "Degraded"
    assert health(ESTABLISHED, names, mode=None) == "Degraded"
    assert health(replace(ESTABLISHED, status="False"), mode=None) == "Degraded"


def test_the_page_shows_the_very_script() -> None:
    (config,) = [block for block in blocks(PAGE, "yaml") if "argocd-cm" in block]
    key = "resource.customizations.health.apiextensions.k8s.io_CustomResourceDefinition"

    assert yaml.safe_load(config)["data"][key] == SCRIPT
