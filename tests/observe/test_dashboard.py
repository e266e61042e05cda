"""
The dashboard: every panel asks for something that is exposed, in queries that Prometheus takes.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from espalier.observe.catalogue import CATALOGUE
from tests.observe.test_alerts import FOLDER, labels_in, names_in, run_promtool

DASHBOARD: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))
QUERIES = [
    (panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]
]
# The scraper adds these.
SCRAPED = {"cluster", "pod", "le"}


@pytest.mark.parametrize(("title", "query"), QUERIES)
def test_every_query_names_metrics_and_labels_that_exist(title: str, query: str) -> None:
    known = {one.name: one for one in CATALOGUE}
    named = names_in(query)
    grouped = re.findall(r"by \(([^)]*)\)", query)
    asked = labels_in(query) | {label.strip() for group in grouped for label in group.split(",")}

    assert title
    assert named
    assert named <= known.keys()
    assert asked - SCRAPED <= {label for name in named for label in known[name].labels}


def test_prometheus_takes_every_query(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{place}", "expr": query.replace("$__rate_interval", "5m")}
        for place, (_, query) in enumerate(QUERIES)
    ]
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))

    assert f"{len(QUERIES)} rules found" in run_promtool("check", "rules", path)


def test_panels_have_their_own_places_and_the_chosen_source() -> None:
    panels = DASHBOARD["panels"]
    names = {one["name"] for one in DASHBOARD["templating"]["list"]}

    assert names == {"datasource", "cluster", "crd"}
    assert len({one["id"] for one in panels}) == len(panels)
    assert len({(one["gridPos"]["x"], one["gridPos"]["y"]) for one in panels}) == len(panels)
    for one in panels:
        assert one["datasource"]["uid"] == "${datasource}"
        assert all('cluster=~"$cluster"' in target["expr"] for target in one["targets"])
