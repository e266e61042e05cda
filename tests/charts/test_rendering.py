"""
The chart renders what the kustomization does, and refuses what it does not know.
"""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from espalier.cli import main
from espalier.cli.commands.operator import operator
from espalier.handlers.settings import Settings, read_settings
from tests.charts.generating import CHART, camel, setting_schemas
from tests.charts.rendering import RenderingError, comparable, rendered, run_helm
from tests.charts.tools import kubeconform
from tests.e2e.controlplane.assets import AssetsError, find_assets, version
from tests.e2e.installing import MANIFESTS

GATE = MANIFESTS / "examples" / "pre-upgrade-gate.yaml"
GROUPS = MANIFESTS / "examples" / "clusterrole.yaml"
GUARD = ("ValidatingAdmissionPolicy", "", "espalier-keep-archives")
SPACE = ("Namespace", "", "espalier-system")
DEPLOYMENT = ("Deployment", "espalier-system", "espalier")

BY_COMPONENT: dict[str, dict[str, Any]] = {
    "cleanup": {"cleanup": {"enabled": True}},
    "flow-control": {"flowControl": {"enabled": True}},
    "monitoring": {"metrics": {"podMonitor": {"enabled": True}, "rules": {"enabled": True}}},
    "network-policy": {"networkPolicy": {"enabled": True}},
    "priority-class": {"priorityClass": {"create": True}},
    "structural": {},
}
EVERYTHING: dict[str, Any] = {
    **BY_COMPONENT["flow-control"],
    **BY_COMPONENT["network-policy"],
    **BY_COMPONENT["priority-class"],
    **BY_COMPONENT["cleanup"],
    "metrics": {part: {"enabled": True} for part in ("podMonitor", "rules", "dashboard")},
    "rbac": {"groups": {"example.com": ["widgets", "gears"]}},
    "gate": {
        "enabled": True,
        "groups": {"example.com": ["widgets"]},
        "definitions": {"a.yaml": "a"},
    },
    "image": {"registry": "registry.example.com/mirror", "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "registry"}],
    "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy.example.com"}],
    "podAnnotations": {"sidecar.istio.io/inject": "false"},
    "podLabels": {"team": "platform"},
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "serviceAccount": {"annotations": {"note": "none"}},
    "settings": {camel(name): schema["default"] for name, schema in setting_schemas().items()},
}


@pytest.fixture(scope="session")
def kustomize() -> Callable[[str], str]:
    try:
        kubectl = find_assets(may_build=False).kubectl
    except AssetsError:
        pytest.skip("kubectl is missing: make control-plane builds it")

    def built(folder: str) -> str:
        return subprocess.run(
            [str(kubectl), "kustomize", folder], capture_output=True, text=True, check=True
        ).stdout

    return built


def test_the_linter_finds_nothing() -> None:
    assert "0 chart(s) failed" in run_helm("lint", "--strict", str(CHART))


def test_with_the_defaults_it_is_the_kustomization(kustomize: Callable[[str], str]) -> None:
    assert comparable(rendered()) == comparable(kustomize(str(MANIFESTS)))


@pytest.mark.parametrize(
    "component", sorted(path.name for path in (MANIFESTS / "components").iterdir())
)
def test_each_component_has_a_value(
    component: str, kustomize: Callable[[str], str], tmp_path: Path
) -> None:
    folder = tmp_path / "manifests"
    shutil.copytree(MANIFESTS, folder)
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    kustomization["components"] = sorted({"components/structural", f"components/{component}"})
    (folder / "kustomization.yaml").write_text(json.dumps(kustomization), encoding="utf-8")

    found = comparable(rendered(BY_COMPONENT[component]))

    assert found == comparable(kustomize(str(folder)))


def test_without_a_value_its_component_is_missing(kustomize: Callable[[str], str]) -> None:
    expected = comparable(kustomize(str(MANIFESTS)))
    names = {key for key in expected if key[2] == "espalier-structural"}
    assert len(names) == 2

    found = comparable(rendered({"rbac": {"structural": False}}))

    assert set(expected) - set(found) == names
    assert settings_in(found)["ESPALIER_STRUCTURAL"] == "off"


def test_the_gate_is_that_of_the_examples() -> None:
    expected = comparable(GATE.read_text(encoding="utf-8"))
    for document in expected.values():
        for container in (
            document.get("spec", {}).get("template", {}).get("spec", {}).get("containers", ())
        ):
            container["image"] = "espalier:0.1.0"
    (definitions,) = (doc["data"] for key, doc in expected.items() if key[0] == "ConfigMap")
    values = {
        "gate": {"enabled": True, "definitions": definitions, "groups": {"example.com": ["*"]}}
    }

    found = comparable(rendered(values))

    assert {key: found[key] for key in expected} == expected


def test_groups_are_granted_as_in_the_example() -> None:
    (expected,) = comparable(GROUPS.read_text(encoding="utf-8")).values()

    found = comparable(rendered({"rbac": {"groups": {"example.com": ["widgets"]}}}))

    role = found["ClusterRole", "", "espalier-objects-example.com"]
    binding = found["ClusterRoleBinding", "", "espalier-objects-example.com"]
    assert role["rules"] == expected["rules"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == found["ClusterRoleBinding", "", "espalier"]["subjects"]


def settings_in(found: dict[tuple[str, str, str], Any]) -> dict[str, str]:
    (container,) = found[DEPLOYMENT]["spec"]["template"]["spec"]["containers"]
    return {entry["name"]: entry.get("value") for entry in container["env"]}


def test_each_setting_becomes_its_variable() -> None:
    defaults = {name: schema["default"] for name, schema in setting_schemas().items()}

    found = settings_in(comparable(rendered({"settings": defaults})))

    assert found.pop("ESPALIER_NAMESPACE") is None
    assert found.pop("ESPALIER_STRUCTURAL") == "on"
    assert found["ESPALIER_ARCHIVE_MAX_BYTES"] == "67108864"
    assert found["ESPALIER_READ_ONLY"] == "false"
    assert len(found) == len(defaults) - 1


def test_the_operator_reads_the_variables() -> None:
    defaults = {name: schema["default"] for name, schema in setting_schemas().items()}
    variables = settings_in(comparable(rendered({"settings": defaults})))
    del variables["ESPALIER_NAMESPACE"]

    assert read_settings(variables) == Settings()


def test_without_ports_there_are_no_probes() -> None:
    found = comparable(rendered({"settings": {"probePort": 0, "metricsPort": 0}}))

    (container,) = found[DEPLOYMENT]["spec"]["template"]["spec"]["containers"]
    assert {"ports", "livenessProbe", "readinessProbe"} & set(container) == set()


def test_a_namespace_that_the_chart_does_not_make_is_guarded_by_its_name() -> None:
    found = comparable(rendered(namespace="espalier-system"))

    assert SPACE not in found
    constraints = found[GUARD]["spec"]["matchConstraints"]
    assert "objectSelector" not in constraints
    assert constraints["resourceRules"][0]["resourceNames"] == ["espalier-system"]


def test_another_namespace_and_another_account_are_used_everywhere() -> None:
    values = {
        **EVERYTHING,
        "namespace": {"name": "elsewhere"},
        "serviceAccount": {"name": "another"},
    }

    text = rendered(values)

    assert "espalier-system" not in text.replace("kubectl", "")
    subjects = [
        subject
        for document in comparable(text).values()
        for subject in document.get("subjects", ())
        if subject["name"] not in {"espalier-cleanup", "espalier-gate"}
    ]
    assert subjects
    assert {(one["name"], one["namespace"]) for one in subjects} == {("another", "elsewhere")}


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ({}, "espalier:0.1.0"),
        ({"tag": "edge"}, "espalier:edge"),
        ({"registry": "r.example.com/m/", "repository": "e"}, "r.example.com/m/e:0.1.0"),
        ({"digest": "sha256:" + "0" * 64, "tag": "x"}, "espalier@sha256:" + "0" * 64),
    ],
)
def test_the_image_is_named(image: dict[str, str], expected: str) -> None:
    found = comparable(rendered({"image": image}))

    (container,) = found[DEPLOYMENT]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == expected


def test_arguments_are_those_of_the_command_line() -> None:
    values = {"logLevels": ["warning", "espalier.engine=debug"], "requestTimeout": "1m30s"}

    (plain,) = comparable(rendered())[DEPLOYMENT]["spec"]["template"]["spec"]["containers"]
    (full,) = comparable(rendered(values))[DEPLOYMENT]["spec"]["template"]["spec"]["containers"]

    assert plain["args"] == ["operator", "--log-format", "json"]
    # A command keeps the help option of its first context, and its page shows it.
    root = click.Context(main, **main.context_settings)
    parsed = operator.make_context("operator", list(full["args"][1:]), parent=root).params
    assert parsed["log_levels"] == ("warning", "espalier.engine=debug")
    assert parsed["request_seconds"] == 90


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"replica": 2}, "additional properties 'replica' not allowed"),
        ({"settings": {"maxRun": 2}}, "additional properties 'maxRun' not allowed"),
        ({"settings": {"maxRuns": 0}}, "minimum: got 0, want 1"),
        ({"settings": {"maxRuns": 65}}, "maximum: got 65, want 64"),
        ({"settings": {"maxRuns": "two"}}, "at '/settings/maxRuns': got string"),
        ({"settings": {"structural": "on"}}, "at '/settings/structural': got string"),
        ({"logFormat": "xml"}, "value must be one of 'json', 'text'"),
        ({"logLevels": ["loud"]}, "does not match pattern"),
        ({"requestTimeout": "soon"}, "does not match pattern"),
        ({"image": {"digest": "sha256:abc"}}, "does not match pattern"),
        ({"image": {"pullPolicy": "always"}}, "value must be one of"),
        ({"namespace": {"name": "Upper"}}, "does not match pattern"),
        ({"rbac": {"groups": {"example.com": []}}}, "minItems"),
        ({"metrics": {"podMonitor": {"interval": "soon"}}}, "does not match pattern"),
        ({"resources": {"limit": {}}}, "additional properties 'limit' not allowed"),
    ],
)
def test_a_wrong_value_is_refused(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(RenderingError) as refused:
        rendered(values)

    assert reason in str(refused.value)


@pytest.fixture(scope="session")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    The schemas of the Kubernetes that the other tests run, with references that a file can follow.
    """
    _, folders = kubeconform()
    minor = ".".join(version().removeprefix("v").split(".")[:2])
    *_, newest = sorted(folders.glob(f"v{minor}.*-local-strict"))
    folder = tmp_path_factory.mktemp("schemas")
    for path in newest.iterdir():
        schema = json.loads(path.read_text(encoding="utf-8"))
        schema.pop("$id", None)
        text = json.dumps(schema).replace('"/api/_definitions', '"_definitions')
        (folder / path.name).write_text(text, encoding="utf-8")
    return folder


def conform(text: str, schemas: Path) -> str:
    program, _ = kubeconform()
    location = f"{schemas}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"
    command = [program, "-strict", "-summary", "-schema-location", location]
    command += ["-skip", "PodMonitor,PrometheusRule"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False).stdout


def test_every_field_is_in_the_schema_of_kubernetes(schemas: Path) -> None:
    found = conform("---\n".join([rendered(), rendered(EVERYTHING)]), schemas)

    assert "Invalid: 0, Errors: 0" in found, found
    assert "Valid: 0" not in found


def test_a_field_that_is_not_in_the_schema_is_found(schemas: Path) -> None:
    deployment = comparable(rendered())[DEPLOYMENT]
    deployment["spec"]["template"]["spec"]["enableServiceLink"] = False

    found = conform(json.dumps(deployment), schemas)

    assert "additional properties 'enableServiceLink' not allowed" in found
