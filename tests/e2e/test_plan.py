"""
``espalier plan`` and the gate before an upgrade, held to the answers of a real server.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import cases
from tests.e2e.conftest import ROOT, MakeCrd
from tests.e2e.controlplane.api import CRDS, ApiError
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import GROUP, Crd, Document, conditions_of, schema, version
from tests.e2e.operating import COMMAND_SECONDS, espalier
from tests.e2e.waiting import eventually
from tests.e2e.webhooks import Webhook, converting
from tests.patience import PACE

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("installed")]

EXAMPLE = ROOT / "manifests" / "examples" / "pre-upgrade-gate.yaml"
REFUSED = cases.DEFAULT_FOLDER / "31-plan-of-a-refused-definition"
SIZE = {"size": {"type": "integer"}}

Gate = Callable[[], "subprocess.CompletedProcess[str]"]


def findings(output: str, rule: str) -> list[str]:
    return [one["message"] for one in json.loads(output)["findings"] if one["rule"] == rule]


def mount(folder: Path, name: str, content: Document) -> None:
    """
    Write a file as a kubelet mounts a ConfigMap: links to a folder that is replaced as a whole.
    """
    data = folder / "..2026_01_02_03_04_05.678"
    data.mkdir(parents=True, exist_ok=True)
    (data / name).write_text(yaml.safe_dump(content))
    for link, target in ((folder / "..data", data.name), (folder / name, f"..data/{name}")):
        link.unlink(missing_ok=True)
        link.symlink_to(target)


@pytest.fixture
def gate(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Gate]:
    """
    Run the command of the example's Job with the rights of its ServiceAccount.
    """
    text = EXAMPLE.read_text(encoding="utf-8").replace("[example.com]", f"[{GROUP}]")
    (tmp_path / "gate.yaml").write_text(text)
    control_plane.kubectl("apply", "-f", str(tmp_path / "gate.yaml"))
    job = next(one for one in yaml.safe_load_all(text) if one["kind"] == "Job")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    (mounted,) = [one for one in container["volumeMounts"] if one["name"] == "definitions"]
    folder = str(tmp_path / "definitions")
    arguments = [folder if one == mounted["mountPath"] else one for one in container["args"]]
    assert arguments != container["args"]
    account = job["spec"]["template"]["spec"]["serviceAccountName"]
    kubeconfig = control_plane.service_account_kubeconfig("default", account)

    def run() -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "espalier", *arguments],
            env=os.environ | {"KUBECONFIG": str(kubeconfig)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PACE.scaled(COMMAND_SECONDS),
        )

    yield run
    control_plane.kubectl("delete", "-f", str(tmp_path / "gate.yaml"))


def without_status(crd: Crd, *keep: str) -> Document:
    body = crd.read()
    kept = [one for one in body["spec"]["versions"] if one["name"] in keep]
    return {
        "apiVersion": body["apiVersion"],
        "kind": body["kind"],
        "metadata": {"name": crd.name},
        "spec": {**body["spec"], "versions": kept},
    }


def test_the_gate_stops_an_upgrade_until_the_objects_are_migrated(
    crd: MakeCrd, control_plane: ControlPlane, gate: Gate, tmp_path: Path
) -> None:
    plots = crd("plots")
    folder = tmp_path / "definitions"
    both = [version("v1beta1", schema(SIZE)), version("v1", schema(SIZE))]
    mount(folder, "plots.yaml", plots.manifest([both[1]], storage="v1"))
    absent = gate()

    plots.create(both, storage="v1beta1")
    plots.add("v1beta1", plots.object("v1beta1", "a", spec={"size": 1}))
    plots.set_versions(both, storage="v1")
    mount(folder, "plots.yaml", without_status(plots, "v1"))
    stuck = gate()
    with pytest.raises(ApiError) as refused:
        control_plane.api.merge(plots.path, without_status(plots, "v1"))
    espalier(control_plane, "migrate", plots.name, "--yes", "--settle-seconds", "0")
    migrated = gate()
    control_plane.api.merge(plots.path, without_status(plots, "v1"))

    assert absent.returncode == 0, absent.stderr
    assert "1 definition checked as new" in absent.stdout
    assert stuck.returncode == 1, stuck.stdout + stuck.stderr
    told = 'status.storedVersions[0]: Invalid value: "v1beta1": missing from spec.versions'
    assert told in stuck.stdout
    assert told in str(refused.value)
    assert migrated.returncode == 0, migrated.stdout + migrated.stderr


def test_a_refused_update_has_the_servers_message(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    group = "plan.example.com"
    path = f"{CRDS}/mats.{group}"
    control_plane.api.post(CRDS, _in_group(REFUSED / "crd.yaml", group))

    def established() -> None:
        conditions = conditions_of(control_plane.api.get(path))
        assert ("Established", "True") in [(one["type"], one["status"]) for one in conditions]

    try:
        eventually(established)
        for name in ("rule", "nonstructural", "version-renamed", "scope", "kind"):
            changed = _in_group(REFUSED / f"crd-{name}.yaml", group)
            (tmp_path / "new.yaml").write_text(yaml.safe_dump(changed))
            with pytest.raises(ApiError) as refused:
                control_plane.api.merge(path, changed)
            output = espalier(
                control_plane, "plan", "-f", str(tmp_path / "new.yaml"), "-o", "json", code=1
            )
            told = [
                one["message"].removeprefix("the API server refuses to update it: ")
                for one in json.loads(output)["findings"]
                if one["rule"].startswith("update/")
            ]
            assert told, name
            for text in told:
                assert text in str(refused.value), name
    finally:
        control_plane.api.delete(path)


def test_names_in_use_are_the_servers(
    crd: MakeCrd, control_plane: ControlPlane, tmp_path: Path
) -> None:
    first, second = crd("ridges"), crd("furrows")
    first.create([version("v1", schema(SIZE))], storage="v1")
    body = without_status(first, "v1")
    body["metadata"]["name"] = second.name
    body["spec"]["names"] = {**body["spec"]["names"], "plural": second.plural, "kind": "Furrow"}
    (tmp_path / "new.yaml").write_text(yaml.safe_dump(body))

    output = espalier(
        control_plane,
        "plan",
        "-f",
        str(tmp_path / "new.yaml"),
        "--if-absent=ok",
        "-o",
        "json",
        code=1,
    )
    control_plane.api.post(CRDS, body)

    def refused() -> Document:
        conditions = {one["type"]: one for one in conditions_of(second.read())}
        assert "NamesAccepted" in conditions
        assert conditions["NamesAccepted"]["status"] == "False"
        return dict(conditions["NamesAccepted"])

    condition = eventually(refused)
    told = findings(output, "plan/names")
    assert len(told) == 2
    assert told[-1].endswith(f"{condition['reason']}: {condition['message']}")


def test_a_renamed_field_behind_a_webhook_is_not_called_lost(
    crd: MakeCrd, control_plane: ControlPlane, tmp_path: Path
) -> None:
    logs = crd("logs")
    webhook = Webhook(tmp_path / "webhook", converting(_rename))
    try:
        logs.create([version("v1", schema({"level": {"type": "string"}}))], storage="v1")
        logs.add("v1", logs.object("v1", "one", spec={"level": "debug"}))
        second = schema({"verbosity": {"type": "string"}})
        second["properties"]["spec"]["required"] = ["verbosity"]
        body = without_status(logs, "v1")
        body["spec"]["versions"] = [
            version("v1", schema({"level": {"type": "string"}})),
            version("v2", second) | {"storage": True},
        ]
        body["spec"]["conversion"] = {
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": webhook.client_config(),
            },
        }
        file = tmp_path / "new.yaml"
        file.write_text(yaml.safe_dump(body))
        before = json.loads(espalier(control_plane, "plan", "-f", str(file), "-o", "json"))
        control_plane.api.merge(logs.path, body)
        logs.wait_until_served("v2")
        after = json.loads(espalier(control_plane, "plan", "-f", str(file), "-o", "json"))

        assert before["counts"] | {"errors": 0, "warnings": 1} == before["counts"]
        assert "what it makes of them at v2 was not judged" in before["items"][0]["notJudged"][0]
        assert after["counts"] | {"errors": 0, "objects": 1} == after["counts"]
    finally:
        control_plane.etcd.delete_prefix(logs.raw_prefix)
        webhook.close()


def _rename(obj: Document, wanted: str) -> Document:
    spec: dict[str, Any] = dict(obj.get("spec") or {})
    if wanted.endswith("v2") and "level" in spec:
        spec["verbosity"] = spec.pop("level")
    if wanted.endswith("v1") and "verbosity" in spec:
        spec["level"] = spec.pop("verbosity")
    return {**obj, "apiVersion": wanted, "spec": spec}


def _in_group(file: Path, group: str) -> Document:
    body = cases.only_document(file)
    text = yaml.safe_dump(body).replace("c2.example.com", group)
    read: Document = yaml.safe_load(text)
    return read
