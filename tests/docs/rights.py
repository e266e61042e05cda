"""
Writes ``docs/reference/rights.md`` from the manifests: ``python -m tests.docs.rights``.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from espalier import crd
from espalier.engine import roles_of
from tests.docs.reading import ROOT
from tests.fakes.widgets import legacy_widgets, widgets

PAGE = ROOT / "docs" / "reference" / "rights.md"
MANIFESTS = ROOT / "manifests"
SOURCES = (MANIFESTS / "rbac.yaml", MANIFESTS / "components" / "structural" / "structural.yaml")
OPERATOR_NAMESPACE = "espalier-system"

_HEAD = """\
# Rights

What the operator may do, and what for. This page is written from the manifests by `make docs`.
There is no wildcard, and no right to create, change or delete definitions, roles or pods, or to
create or delete your objects. `make e2e` asks a real API server for all rights of the
ServiceAccount and finds these, finds that each of them is used, and takes each single one away to
see what fails without it.

## As installed

"""
_OBJECTS = """
The Role `espalier-report-reader` allows others to `get` the ConfigMap `espalier-report`, and
nothing else. It is bound to no one.

Rows of `espalier-structural` are those of the component `structural`, which is on by default
([how to go without](../how-to/grant-rights.md#without-rights-on-the-status-of-all-definitions)).

## On your objects

None, until you grant them ([how to](../how-to/grant-rights.md)). `espalier rbac` prints these, here
for `widgets.example.com`:

"""
_TAIL = """
With `-n` or the annotation `espalier.dev/namespaces`, the rights on objects are in a Role in each
namespace, except `list` and `watch` of a legacy definition (`preserveUnknownFields: true`).
"""


class Right(NamedTuple):
    """
    One rule of a role, as the page lists it.
    """

    role: str
    namespace: str
    group: str
    resource: str
    names: tuple[str, ...]
    verbs: tuple[str, ...]
    purpose: str

    @property
    def full_resource(self) -> str:
        """
        The resource with its group, as in ``kubectl auth can-i``.
        """
        plural, _, subresource = self.resource.partition("/")
        named = f"{plural}.{self.group}" if self.group else plural
        return f"{named}/{subresource}" if subresource else named


def rights() -> list[Right]:
    """
    Read the rights that the manifests grant.
    """
    return [right for source in SOURCES for right in _rights_in(source.read_text("utf-8"))]


def _rights_in(text: str) -> Iterator[Right]:
    for document in text.split("\n---\n"):
        role = yaml.safe_load(document)
        if role["kind"] not in {"Role", "ClusterRole"}:
            continue
        purposes = re.findall(r"  # (.+)\n  - apiGroups", document)
        rules = role.get("rules", [])
        assert len(purposes) == len(rules), f"{role['metadata']['name']}: a rule has no comment"
        for rule, purpose in zip(rules, purposes, strict=True):
            yield from _rights_of(role, rule, purpose)


def _rights_of(role: dict[str, Any], rule: dict[str, Any], purpose: str) -> Iterator[Right]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            yield Right(
                role=role["metadata"]["name"],
                namespace=role["metadata"].get("namespace", ""),
                group=group,
                resource=resource,
                names=tuple(rule.get("resourceNames", ())),
                verbs=tuple(rule["verbs"]),
                purpose=purpose,
            )


def page() -> str:
    """
    Make the page.
    """
    installed = "".join(
        f"| {_where(right)} | `{right.full_resource}` | {', '.join(right.verbs)} |"
        f" {right.purpose} | `{right.role}` |\n"
        for right in rights()
    )
    granted = "".join(_granted_rows())
    return (
        _HEAD
        + "| in | resource | verbs | what for | role |\n|---|---|---|---|---|\n"
        + installed
        + _OBJECTS
        + "| for | resource | only | verbs |\n|---|---|---|---|\n"
        + granted
        + _TAIL
    )


def _where(right: Right) -> str:
    return f"`{right.namespace}`" if right.namespace else "the cluster"


def _granted_rows() -> Iterator[str]:
    observed = widgets(labels={"espalier.dev/mode": "observe"})
    cases: dict[str, crd.Definition] = {
        "mode `observe`": observed,
        "mode `enforce`": widgets(),
        "a legacy definition": legacy_widgets(),
    }
    for case, definition in cases.items():
        (role,) = roles_of(definition, operator_namespace=OPERATOR_NAMESPACE)
        rules: Any = role["rules"]
        for rule in rules:
            for right in _rights_of({"metadata": role["metadata"]}, rule, ""):
                names = ", ".join(f"`{name}`" for name in right.names)
                verbs = ", ".join(right.verbs)
                yield f"| {case} | `{right.full_resource}` | {names} | {verbs} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
