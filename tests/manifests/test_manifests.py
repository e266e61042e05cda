from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from espalier.cluster.resources.config_maps import REPORT
from espalier.cluster.transport.lanes import MAX_LANES
from espalier.handlers.settings import read_settings

READERS = 64
FOLDER = Path(__file__).parents[2] / "manifests"


def documents(path: Path) -> Iterator[dict[str, Any]]:
    yield from yaml.safe_load_all(path.read_text(encoding="utf-8"))


def installed() -> list[dict[str, Any]]:
    (kustomization,) = documents(FOLDER / "kustomization.yaml")
    return [doc for name in kustomization["resources"] for doc in documents(FOLDER / name)]


def added(component: str) -> list[dict[str, Any]]:
    """
    What a component adds.
    """
    folder = FOLDER / "components" / component
    (kustomization,) = documents(folder / "kustomization.yaml")
    return [doc for name in kustomization["resources"] for doc in documents(folder / name)]


def find(kind: str, name: str) -> dict[str, Any]:
    (found,) = [
        doc for doc in installed() if doc["kind"] == kind and doc["metadata"]["name"] == name
    ]
    return found


def granted(*roles: dict[str, Any]) -> dict[str, set[str]]:
    """
    The verbs by resource, as RBAC grants them.
    """
    verbs: dict[str, set[str]] = {}
    for rule in (rule for role in roles for rule in role.get("rules", ())):
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                name = f"{resource}.{group}" if group else resource
                verbs.setdefault(name, set()).update(rule["verbs"])
    return verbs


def test_one_replica_may_always_be_evicted_and_replicas_are_spread() -> None:
    budget = find("PodDisruptionBudget", "espalier")["spec"]
    deployment = find("Deployment", "espalier")["spec"]
    (spread,) = deployment["template"]["spec"]["topologySpreadConstraints"]

    # minAvailable would hold up the drain of the node of a single replica.
    assert budget["maxUnavailable"] == 1
    assert budget["selector"] == deployment["selector"]
    assert spread["labelSelector"] == deployment["selector"]
    assert spread["whenUnsatisfiable"] == "ScheduleAnyway"


def test_the_network_policy_is_about_the_pods_and_their_ports() -> None:
    (policy,) = added("network-policy")
    deployment = find("Deployment", "espalier")["spec"]
    (container,) = deployment["template"]["spec"]["containers"]
    open_ports = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}

    assert policy["spec"]["podSelector"] == deployment["selector"]
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert open_ports == {port["containerPort"] for port in container["ports"]}


def test_the_priority_class_is_that_of_the_pods_and_evicts_none() -> None:
    (made,) = added("priority-class")
    (patch,) = documents(FOLDER / "components" / "priority-class" / "deployment.yaml")

    assert patch["spec"]["template"]["spec"]["priorityClassName"] == made["metadata"]["name"]
    assert made["preemptionPolicy"] == "Never"


def test_every_manifest_of_the_folder_is_installed() -> None:
    (kustomization,) = documents(FOLDER / "kustomization.yaml")

    assert {path.name for path in FOLDER.glob("*.yaml")} == {
        "kustomization.yaml",
        *kustomization["resources"],
    }


def test_the_namespace_is_kept_and_so_is_what_guards_it() -> None:
    label = {"espalier.dev/keep": "true"}
    policy = find("ValidatingAdmissionPolicy", "espalier-keep-archives")
    binding = find("ValidatingAdmissionPolicyBinding", "espalier-keep-archives")
    kept = [doc for doc in installed() if label.items() <= doc["metadata"]["labels"].items()]

    assert kept == [find("Namespace", "espalier-system"), policy, binding]
    assert policy["spec"]["matchConstraints"]["objectSelector"] == {"matchLabels": label}
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]


@pytest.mark.parametrize("folder", sorted((FOLDER / "components").iterdir()), ids=lambda f: f.name)
def test_every_manifest_of_a_component_is_part_of_it(folder: Path) -> None:
    (component,) = documents(folder / "kustomization.yaml")

    assert component["kind"] == "Component"
    patches = {patch["path"] for patch in component.get("patches", ())}
    assert {path.name for path in folder.glob("*.yaml")} == {
        "kustomization.yaml",
        *component.get("resources", ()),
        *patches,
    }


NAMESPACED = {"PodMonitor", "PrometheusRule", "NetworkPolicy", "Role", "RoleBinding", "Job"}


@pytest.mark.parametrize("folder", sorted((FOLDER / "components").iterdir()), ids=lambda f: f.name)
def test_what_a_component_adds_stands_in_a_namespace(folder: Path) -> None:
    (component,) = documents(folder / "kustomization.yaml")
    found = [one for name in component.get("resources", ()) for one in documents(folder / name)]

    homeless = [
        one["kind"]
        for one in found
        if one["kind"] in NAMESPACED and not one["metadata"].get("namespace")
    ]
    assert homeless == []


def test_a_level_of_its_own_takes_seats_from_no_other() -> None:
    level, *schemas = documents(FOLDER / "components" / "flow-control" / "flow-control.yaml")
    limited = level["spec"]["limited"]
    account = find("ServiceAccount", "espalier")["metadata"]

    assert (limited["borrowingLimitPercent"], limited["lendablePercent"]) == (0, 0)
    assert limited["limitResponse"]["type"] == "Queue"
    queuing = limited["limitResponse"]["queuing"]
    # All writes and all reads of two processes may wait at the same time.
    assert queuing["handSize"] * queuing["queueLengthLimit"] >= 2 * (MAX_LANES + READERS)
    for schema in schemas:
        (rule,) = schema["spec"]["rules"]
        (subject,) = rule["subjects"]
        assert subject["serviceAccount"] == {
            "name": account["name"],
            "namespace": account["namespace"],
        }
    leases = next(s for s in schemas if s["metadata"]["name"] == "espalier-leases")
    others = next(s for s in schemas if s["metadata"]["name"] == "espalier")
    assert leases["spec"]["matchingPrecedence"] < others["spec"]["matchingPrecedence"]


def test_nothing_is_granted_by_a_wildcard() -> None:
    roles = [doc for doc in installed() if doc["kind"] in {"Role", "ClusterRole"}]
    roles += documents(FOLDER / "examples" / "clusterrole.yaml")
    roles += [doc for doc in added("structural") if doc["kind"] == "ClusterRole"]

    assert len(roles) == 7
    for rule in (rule for role in roles for rule in role.get("rules", ())):
        assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
        assert "nonResourceURLs" not in rule


def test_who_reads_the_report_reads_nothing_else() -> None:
    (rule,) = find("Role", "espalier-report-reader")["rules"]

    assert rule == {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": [REPORT],
        "verbs": ["get"],
    }


def test_in_the_whole_cluster_nothing_is_written() -> None:
    assert granted(find("ClusterRole", "espalier")) == {
        "customresourcedefinitions.apiextensions.k8s.io": {"get", "list", "watch"},
        "namespaces": {"list"},
        "selfsubjectaccessreviews.authorization.k8s.io": {"create"},
        "selfsubjectrulesreviews.authorization.k8s.io": {"create"},
        "storageversionmigrations.storagemigration.k8s.io": {"list"},
    }


def test_the_component_adds_the_status_of_definitions_and_turns_its_condition_on() -> None:
    (kustomization,) = documents(FOLDER / "kustomization.yaml")
    role, binding = added("structural")
    (patch,) = documents(FOLDER / "components" / "structural" / "deployment.yaml")
    switch = {
        entry["name"]: entry.get("value")
        for doc in (find("Deployment", "espalier"), patch)
        for entry in doc["spec"]["template"]["spec"]["containers"][0]["env"]
    }

    assert "components/structural" in kustomization["components"]
    assert granted(role) == {"customresourcedefinitions/status.apiextensions.k8s.io": {"patch"}}
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == find("ClusterRoleBinding", "espalier")["subjects"]
    assert switch["ESPALIER_STRUCTURAL"] == "on"


def test_objects_are_granted_by_aggregation_alone() -> None:
    role = find("ClusterRole", "espalier-objects")
    (example,) = documents(FOLDER / "examples" / "clusterrole.yaml")
    label = {"rbac.espalier.dev/aggregate-to-operator": "true"}

    # Without rules of its own, so that applying the manifest anew takes none away.
    assert "rules" not in role
    assert role["aggregationRule"] == {"clusterRoleSelectors": [{"matchLabels": label}]}
    assert example["metadata"]["labels"] == label


def test_events_of_definitions_may_be_posted_where_they_live() -> None:
    role = find("Role", "espalier-events")

    assert role["metadata"]["namespace"] == "default"
    assert granted(role) == {"events": {"create"}}


@pytest.mark.parametrize("kind", ["ClusterRoleBinding", "RoleBinding"])
def test_every_binding_binds_the_service_account_to_a_role_that_exists(kind: str) -> None:
    bindings = [doc for doc in installed() if doc["kind"] == kind]
    account = find("ServiceAccount", "espalier")["metadata"]

    assert len(bindings) == 2
    for binding in bindings:
        role = find(binding["roleRef"]["kind"], binding["roleRef"]["name"])
        assert role["metadata"].get("namespace") == binding["metadata"].get("namespace")
        assert binding["subjects"] == [
            {
                "kind": "ServiceAccount",
                "name": account["name"],
                "namespace": account["namespace"],
            }
        ]


def test_the_pod_obeys_the_restricted_profile_of_its_namespace() -> None:
    namespace = find("Namespace", "espalier-system")["metadata"]["labels"]
    pod = find("Deployment", "espalier")["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert namespace["pod-security.kubernetes.io/enforce"] == "restricted"
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC", "volumes"} & pod.keys()


def test_two_replicas_run_and_one_of_them_stays_during_an_update() -> None:
    spec = find("Deployment", "espalier")["spec"]

    assert (spec["replicas"], spec["strategy"]["type"]) == (2, "RollingUpdate")
    assert spec["strategy"]["rollingUpdate"]["maxUnavailable"] < spec["replicas"]


def test_the_pod_runs_as_the_service_account_with_probes_and_resources() -> None:
    deployment = find("Deployment", "espalier")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    settings = read_settings(
        {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}
    )

    assert pod["serviceAccountName"] == "espalier"
    assert pod["automountServiceAccountToken"] is True
    assert deployment["spec"]["selector"]["matchLabels"].items() <= (
        deployment["spec"]["template"]["metadata"]["labels"].items()
    )
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "probes"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "probes"}
    # The page is served on loopback, so that its port is none of the container's.
    assert container["ports"] == [
        {"name": "probes", "containerPort": settings.probe_port},
        {"name": "metrics", "containerPort": settings.metrics_port},
    ]
    assert settings.page_port == 8082
    assert not settings.page_without_access_control
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert "memory" in container["resources"]["limits"]


def test_the_operator_keeps_its_things_in_the_namespace_it_runs_in() -> None:
    (container,) = find("Deployment", "espalier")["spec"]["template"]["spec"]["containers"]
    (entry,) = [entry for entry in container["env"] if entry["name"] == "ESPALIER_NAMESPACE"]

    assert entry["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.namespace"}}
