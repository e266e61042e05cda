"""
What Prometheus reads at the end of a run is what happened.
"""

import json
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.controlplane.running import free_port
from tests.e2e.crds import schema, version
from tests.e2e.operating import espalier
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

OBJECTS = 60
SCRAPE_SECONDS = 20.0


def scrape(port: int, crd: str) -> dict[tuple[str, str], float]:
    """
    Return the values of one definition, by the metric's name and the last label's value.
    """
    url = f"http://127.0.0.1:{port}/metrics"
    with urllib.request.urlopen(url, timeout=SCRAPE_SECONDS) as answer:
        text = answer.read().decode()
    return {
        (sample.name, next((v for k, v in sample.labels.items() if k != "crd"), "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("crd") == crd and sample.labels.get("state") != "done"
    }


def test_at_the_end_of_a_run_the_metrics_show_what_was_done(
    crd: MakeCrd, start_operator: StartOperator
) -> None:
    port = free_port()
    start_operator(metrics_port=port)
    gauges = crd("gauges")
    gauges.create([version("v1alpha1", schema()), version("v1", schema())], storage="v1alpha1")
    gauges.add("v1alpha1", *(gauges.object("v1alpha1", f"g{n}", spec={}) for n in range(OBJECTS)))
    gauges.set_versions([version("v1alpha1", schema()), version("v1", schema())], storage="v1")
    gauges.label(mode="enforce")
    gauges.wait_until_current()

    def counted() -> dict[tuple[str, str], float]:
        found = scrape(port, gauges.name)
        assert found["espalier_runs_total", "verified"] == 1
        return found

    found = eventually(counted)

    assert found["espalier_object_writes_total", "rewritten"] == OBJECTS
    assert found["espalier_trims_total", ""] == 1
    assert found["espalier_run_objects", "verify"] == 0
    assert found["espalier_definition_stored_versions", ""] == 1
    assert found["espalier_stored_objects", ""] == OBJECTS
    (reported,) = [
        one
        for one in json.loads(espalier(gauges.plane, "report", "-o", "json"))["definitions"]
        if one["name"] == gauges.name
    ]
    assert (reported["stage"], reported["storedVersions"]) == ("T4", ["v1"])
    gauges.remove()

    def forgotten() -> None:
        assert scrape(port, gauges.name) == {}

    eventually(forgotten)
