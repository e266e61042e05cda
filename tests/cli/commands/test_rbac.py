"""
``espalier rbac``: the roles grant what a run asks for, and nothing else.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from espalier.cli import main
from espalier.cli.output.exit_codes import Exit
from espalier.crd import Definition
from espalier.engine import plan, read_policy, roles_of
from espalier.engine.policy.plan import Stop
from espalier.engine.runs.permissions import DEFINITIONS, needs_of
from tests.cli.clusters import NAME, site
from tests.cli.golden import check_golden
from tests.cli.manifests import WIDGETS
from tests.engine.runs.test_permissions import asked, within
from tests.fakes.widgets import legacy_widgets, widgets

SPACE = "espalier-system"
Granted = set[tuple[str, str, str, str]]


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["rbac", *arguments], input=stdin)


def granted(roles: list[dict[str, Any]]) -> Granted:
    """
    Namespace, resource, name and verb of all that roles grant.
    """
    return {
        (role["metadata"].get("namespace", ""), f"{resource}.{group}", name, verb)
        for role in roles
        if role["kind"] in {"Role", "ClusterRole"}
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for name in rule.get("resourceNames", [""])
        for verb in rule["verbs"]
    }


def wanted(definition: Definition) -> Granted:
    """
    The same of all that a run asks for outside of the operator's namespace.
    """
    planned = plan(definition, read_policy(definition))
    assert not isinstance(planned, Stop)
    needs = needs_of(planned, namespace=SPACE, secret_verbs=())
    found = set()
    for need in needs:
        for verb in need.verbs if need.namespace != SPACE else ():
            plain, _, subresource = verb.partition("/")
            plural = need.resource.plural + (f"/{subresource}" if subresource else "")
            resource = f"{plural}.{need.resource.group}"
            found.add((need.namespace, resource, need.name, plain))
    # The conditions, also of a run that does not trim.
    name = f"{definition.plural}.{definition.group}"
    return found | {("", f"{DEFINITIONS.plural}/status.{DEFINITIONS.group}", name, "patch")}


@pytest.mark.parametrize(
    "definition",
    [
        widgets(),
        legacy_widgets(),
        within(widgets()),
        within(legacy_widgets()),
        asked(widgets(), migrate="false", annotate="false"),
        asked(legacy_widgets(), prune="false"),
    ],
    ids=["all", "legacy", "namespaces", "legacy, namespaces", "nothing written", "prune=false"],
)
def test_roles_grant_exactly_what_a_run_asks_for(definition: Definition) -> None:
    assert granted([*roles_of(definition, operator_namespace=SPACE)]) == wanted(definition)


def test_observing_grants_reading_alone() -> None:
    observed = asked(widgets(), mode="observe")

    verbs = {verb for *_, verb in granted([*roles_of(observed, operator_namespace=SPACE)])}

    assert verbs == {"get", "list", "patch"}
    on_objects = {
        verb
        for _, resource, _, verb in granted([*roles_of(observed, operator_namespace=SPACE)])
        if resource == "widgets.example.com"
    }
    assert on_objects == {"get", "list"}


async def test_roles_of_a_definition_in_the_cluster_are_printed() -> None:
    async with site(WIDGETS) as cluster:
        result = await cluster.run("rbac", NAME)
        in_namespaces = await cluster.run("rbac", NAME, "-n", "team-a", "-n", "team-b")
        before = len(cluster.sandbox.log)
        await cluster.run("rbac", NAME)
        methods = {request.method for request in cluster.sandbox.log[before:]}

    check_golden("rbac.yaml.txt", result.stdout)
    check_golden("rbac.namespaces.txt", in_namespaces.stdout)
    assert (result.exit_code, in_namespaces.exit_code) == (Exit.CLEAN, Exit.CLEAN)
    assert methods == {"GET"}


async def test_a_definition_that_is_not_there_is_named() -> None:
    async with site(WIDGETS) as cluster:
        result = await cluster.run("rbac", "gears.example.com")

    assert "gears.example.com" in result.stderr
    assert result.stdout == ""
    assert result.exit_code == Exit.UNREADABLE


def test_a_file_does_as_well_and_json_too() -> None:
    by_name = yaml.safe_load_all(run("-f", "-", stdin=WIDGETS).stdout)
    as_json = yaml.safe_load(run("-f", "-", "-o", "json", stdin=WIDGETS).stdout)

    assert list(by_name) == [as_json]


def test_bindings_name_the_account_of_the_operator() -> None:
    result = run("-f", "-", "-n", "a", "--operator-namespace", "elsewhere", stdin=WIDGETS)
    _, role, binding = yaml.safe_load_all(result.stdout)

    assert binding["metadata"] == role["metadata"]
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "espalier", "namespace": "elsewhere"}
    ]


@pytest.mark.parametrize(
    ("arguments", "text", "code"),
    [
        ((), "Name definitions of the cluster, or files with -f", Exit.USAGE),
        ((NAME, "-f", "x.yaml"), "one of both", Exit.USAGE),
        (("-f", "absent.yaml"), "absent.yaml: cannot be read", Exit.UNREADABLE),
        (("-f", "-", "-n", "Not A Name"), "no name of a namespace", Exit.USAGE),
    ],
    ids=["nothing", "both", "no file", "no namespace"],
)
def test_mistakes_are_named(arguments: tuple[str, ...], text: str, code: Exit) -> None:
    result = run(*arguments, stdin=WIDGETS)

    assert text in result.stderr
    assert result.exit_code == code


def test_a_file_without_a_definition_is_named(tmp_path: Path) -> None:
    file = tmp_path / "other.yaml"
    file.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", encoding="utf-8")

    result = run("-f", str(file))

    assert "no CustomResourceDefinition in it" in result.stderr
    assert result.exit_code == Exit.UNREADABLE


def test_a_cluster_scoped_definition_has_no_namespaces() -> None:
    result = run("-f", "-", "-n", "a", stdin=WIDGETS.replace("Namespaced", "Cluster"))

    assert f"{NAME} is cluster-scoped" in result.stderr
    assert result.exit_code == Exit.USAGE
