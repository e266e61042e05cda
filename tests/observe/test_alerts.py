"""
The alerts: each fires on what it is for, and rests otherwise, as Prometheus' own tool evaluates it.
"""

import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from espalier.engine.status.conditions import Reason
from espalier.observe.catalogue import CATALOGUE
from tests.debian import promtool
from tests.docs.reading import ROOT
from tests.manifests.test_manifests import documents

FOLDER = ROOT / "manifests" / "components" / "monitoring"
RUNBOOKS = ROOT / "docs" / "operations" / "runbooks"

CRD = 'crd="widgets.example.com"'
CONDITION = f'espalier_definition_condition{{{CRD},type="espalier.dev/StoredObjectsCurrent"'


class Case(NamedTuple):
    """
    Series that make an alert fire, and others that do not.

    Attributes:
        interval: Between two samples, and between two evaluations.
        after: When to look.
    """

    fires: dict[str, str]
    rests: dict[str, str]
    interval: str = "1m"
    after: str = "1h"


def reason(name: str, *, status: str = "False") -> dict[str, str]:
    return {f'{CONDITION},status="{status}",reason="{name}"}}': "1x120"}


def gauge(name: str, samples: str, labels: str = CRD) -> dict[str, str]:
    return {f"{name}{{{labels}}}": samples}


UP = {"espalier_build_info": "1x120"}
HELD = gauge("leader_election_master_status", "1x120", 'name="espalier-bucket-0-of-8"')
REMAINING = f'{CRD},phase="rewrite",state="remaining"'
OVERLOAD = 'cause="overload"'
BYTES = 'cause="bytes"'

CASES = {
    "EspalierDown": Case({"other": "1x120"}, UP),
    "EspalierNoHolder": Case(UP | {"espalier_paused": "0x120"}, UP | HELD),
    "EspalierRunStuck": Case(
        gauge("espalier_run_objects", "50x120", REMAINING) | reason("Rewriting"),
        gauge("espalier_run_objects", "500-1x120", REMAINING) | reason("Rewriting"),
    ),
    "EspalierRunFailing": Case(reason("Failed"), reason("Rewriting")),
    "EspalierWouldLoseData": Case(reason("WouldLoseData"), reason("Verified", status="True")),
    "EspalierForbidden": Case(reason("Forbidden"), reason("Pending")),
    "EspalierWebhookUnavailable": Case(reason("WebhookUnavailable"), reason("Pending")),
    "EspalierObjectsUnreadable": Case(
        gauge("espalier_stored_objects_undecodable", "2x120"),
        gauge("espalier_stored_objects_undecodable", "0x120"),
    ),
    "EspalierObjectsBlocked": Case(
        gauge("espalier_stored_objects_invalid", "2x120", f'{CRD},writable="false"'),
        gauge("espalier_stored_objects_invalid", "2x120", f'{CRD},writable="true"'),
    ),
    "EspalierArchiveNearlyFull": Case(
        {"espalier_archive_bytes": "90x120", "espalier_archive_limit_bytes": "100x120"},
        {"espalier_archive_bytes": "70x120", "espalier_archive_limit_bytes": "100x120"},
    ),
    "EspalierSurveyStale": Case(
        gauge("espalier_survey_timestamp_seconds", "0x12"),
        gauge("espalier_survey_timestamp_seconds", "0+3600x12"),
        interval="1h",
        after="9h",
    ),
    "EspalierServerPushesBack": Case(
        gauge("espalier_throttled_seconds_total", "0+30x120", OVERLOAD),
        gauge("espalier_throttled_seconds_total", "0+59x120", BYTES),
    ),
    "EspalierOldVersionsStored": Case(
        gauge("espalier_definition_stored_versions", "2x400"),
        gauge("espalier_definition_stored_versions", "1x400"),
        interval="1h",
        after="15d",
    ),
}


def rules() -> list[dict[str, Any]]:
    (resource,) = documents(FOLDER / "rules.yaml")
    (group,) = resource["spec"]["groups"]
    found: list[dict[str, Any]] = group["rules"]
    return found


def plain_rules(folder: Path) -> Path:
    """
    Write the rules as Prometheus itself reads them, without the resource around them.
    """
    path = folder / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "espalier", "rules": rules()}]}))
    return path


def run_promtool(*arguments: str | Path) -> str:
    found = subprocess.run(
        [promtool(), *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def test_prometheus_accepts_the_rules(tmp_path: Path) -> None:
    assert f"{len(rules())} rules found" in run_promtool("check", "rules", plain_rules(tmp_path))


@pytest.mark.parametrize("interval", sorted({case.interval for case in CASES.values()}))
def test_each_alert_fires_on_what_it_is_for_and_rests_otherwise(
    tmp_path: Path, interval: str
) -> None:
    plain_rules(tmp_path)
    tests = [
        unit(alert, case, series, fires=fires)
        for alert, case in CASES.items()
        if case.interval == interval
        for fires, series in ((1, case.fires), (0, case.rests))
    ]
    document = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": interval,
        "tests": tests,
    }
    path = tmp_path / "tests.yaml"
    path.write_text(yaml.safe_dump(document))

    assert "SUCCESS" in run_promtool("test", "rules", path)


def test_a_pause_is_no_reason_to_look_for_a_holder(tmp_path: Path) -> None:
    plain_rules(tmp_path)
    case = CASES["EspalierNoHolder"]
    paused = UP | {"espalier_paused": "1x120"}
    document = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": case.interval,
        "tests": [unit("EspalierNoHolder", case, paused, fires=0)],
    }
    path = tmp_path / "tests.yaml"
    path.write_text(yaml.safe_dump(document))

    assert "SUCCESS" in run_promtool("test", "rules", path)


def test_the_reasons_in_the_rules_exist() -> None:
    alternatives = [
        name
        for one in rules()
        for found in re.findall(r'reason=~?"([^"]*)"', one["expr"])
        for name in found.split("|")
    ]

    assert alternatives
    assert [name for name in alternatives if name not in set(Reason)] == []


def unit(alert: str, case: Case, series: dict[str, str], *, fires: int) -> dict[str, Any]:
    firing = f'ALERTS{{alertname="{alert}",alertstate="firing"}}'
    return {
        "interval": case.interval,
        "input_series": [{"series": name, "values": samples} for name, samples in series.items()],
        "promql_expr_test": [
            {
                "expr": f"count({firing}) or vector(0)",
                "eval_time": case.after,
                "exp_samples": [{"labels": "{}", "value": fires}],
            }
        ],
    }


def test_every_alert_has_a_case_and_a_runbook() -> None:
    alerts = {one["alert"]: one for one in rules()}

    assert alerts.keys() == CASES.keys()
    assert {path.stem for path in RUNBOOKS.glob("*.md")} == alerts.keys()
    for name, one in alerts.items():
        assert one["labels"]["severity"] in ("critical", "warning", "info")
        assert one["annotations"]["summary"].endswith(".")
        assert one["annotations"]["runbook_url"] == f"docs/operations/runbooks/{name}.md"
        text = (RUNBOOKS / f"{name}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {name}\n")
        for part in ("**It means**", "**Look**", "**Do**"):
            assert part in text


def names_in(query: str) -> set[str]:
    """
    Find the metrics that a query names.
    """
    found = re.findall(r"\b(?:espalier|rest_client|workqueue|leader_election|process)_\w+", query)
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in found}


def labels_in(query: str) -> set[str]:
    return set(re.findall(r"[{,]\s*(\w+)\s*(?:=~|!~|!=|=)", query))


@pytest.mark.parametrize("rule", rules(), ids=lambda one: one["alert"])
def test_every_alert_asks_for_metrics_and_labels_that_exist(rule: dict[str, Any]) -> None:
    known = {one.name: one for one in CATALOGUE}
    named = names_in(rule["expr"])

    assert named <= known.keys()
    assert labels_in(rule["expr"]) <= {label for name in named for label in known[name].labels}
