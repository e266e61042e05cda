"""
Discovery documents: ``/version``, ``/api``, ``/apis`` and below, in the unaggregated form.
"""

from collections.abc import Iterable

from espalier.crd.version_names import version_priority
from espalier.sandbox.kinds import Kind
from espalier.sandbox.wire import Object

_VERSION = {
    "major": "1",
    "minor": "37",
    "gitVersion": "v1.37.2",
    "gitCommit": "sandbox",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "espalier/sandbox",
}


def document(path: str, served: Iterable[Kind]) -> Object | None:
    """
    Return the discovery document of a path; None if there is none.
    """
    kinds = [*served]
    match [part for part in path.split("/") if part]:
        case ["version"]:
            return dict(_VERSION)
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            groups = [_group(name, kinds) for name in _names(kinds)]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", name] if name in _names(kinds):
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, kinds)}
        case ["api", version]:
            return _resources("", version, kinds)
        case ["apis", name, version]:
            return _resources(name, version, kinds)
        case _:
            return None


def _names(kinds: list[Kind]) -> list[str]:
    return list(dict.fromkeys(kind.group for kind in kinds if kind.group))


def _group(name: str, kinds: list[Kind]) -> Object:
    found = {kind.version for kind in kinds if kind.group == name}
    versions = [
        {"groupVersion": f"{name}/{version}", "version": version}
        for version in sorted(found, key=version_priority, reverse=True)
    ]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _resources(group: str, version: str, kinds: list[Kind]) -> Object | None:
    resources: list[Object] = []
    for kind in kinds:
        if (kind.group, kind.version) != (group, version):
            continue
        resources.append(_resource(kind))
        if kind.has_status:
            resources.append(_status(kind))
    if not resources:
        return None
    head: Object = {"kind": "APIResourceList", "apiVersion": "v1"}
    name = f"{group}/{version}" if group else version
    return {**head, "groupVersion": name, "resources": resources}


def _resource(kind: Kind) -> Object:
    made: Object = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        made["shortNames"] = list(kind.short_names)
    if kind.categories:
        made["categories"] = list(kind.categories)
    return made


def _status(kind: Kind) -> Object:
    return {
        "name": f"{kind.plural}/status",
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": ["get", "patch", "update"],
    }
