"""
The definition that most tests of the contract use, and its objects.
"""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from tests.contract.server import CRDS, Object, Server, eventually

OLD: Object = {
    "spec": {
        "type": "object",
        "properties": {"size": {"type": "integer"}, "gone": {"type": "string"}},
    },
    "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
}
NEW: Object = {
    "spec": {
        "type": "object",
        "properties": {
            "size": {"type": "integer"},
            "color": {"type": "string", "default": "red"},
            "note": {"type": "string"},
        },
    },
    "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
}


def version(name: str, properties: Object, *, storage: bool = False, status: bool = True) -> Object:
    """
    Make an entry of ``spec.versions``.
    """
    made: Object = {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": deepcopy(properties)}},
    }
    return {**made, "subresources": {"status": {}}} if status else made


def definition(group: str, *versions: Object, scope: str = "Namespaced", **spec: Any) -> Object:
    """
    Make a definition of widgets.
    """
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": list(versions),
            **spec,
        },
    }


@dataclass(frozen=True, kw_only=True)
class Widgets:
    """
    A definition with v1alpha1, the storage version, and v1, that is established.
    """

    server: Server

    @property
    def group(self) -> str:
        return self.server.group

    @property
    def name(self) -> str:
        return f"widgets.{self.group}"

    @property
    def crd(self) -> str:
        return f"{CRDS}/{self.name}"

    def path(self, name: str = "", *, version: str = "v1alpha1") -> str:
        """
        Name the path of an object, or of the collection.
        """
        base = f"/apis/{self.group}/{version}/namespaces/default/widgets"
        return f"{base}/{name}" if name else base

    def key(self, name: str) -> str:
        """
        Name the key of a stored object.
        """
        return f"/registry/{self.group}/widgets/default/{name}"

    def widget(self, name: str, *, version: str = "v1alpha1", **members: Any) -> Object:
        """
        Make an object.
        """
        return {
            "apiVersion": f"{self.group}/{version}",
            "kind": "Widget",
            "metadata": {"name": name},
            **members,
        }

    async def create(self, name: str, *, version: str = "v1alpha1", **members: Any) -> Object:
        """
        Create an object as the field manager ``author``.
        """
        body = self.widget(name, version=version, **members)
        return await self.server.post(self.path(version=version), body, fieldManager="author")

    async def flip(self) -> None:
        """
        Make v1 the storage version, and wait until it is in effect.
        """
        crd = await self.server.get(self.crd)
        for entry in crd["spec"]["versions"]:
            entry["storage"] = entry["name"] == "v1"
        answer = await self.server.call("PUT", self.crd, crd)
        assert answer.status == 200, answer
        await eventually(self._stores_v1)

    async def _stores_v1(self) -> bool:
        await self.server.call("POST", self.path(), self.widget("probe", spec={"size": 0}))
        value = self.server.raw.raw_get(self.key("probe"))
        await self.server.call("DELETE", self.path("probe"))
        return value is not None and f'"apiVersion":"{self.group}/v1"'.encode() in value


async def establish(server: Server, crd: Object) -> None:
    """
    Create a definition and wait until its objects are served.
    """
    server.created.append(crd["metadata"]["name"])
    await server.post(CRDS, crd, fieldManager="author")
    await served(server, crd)


async def served(server: Server, crd: Object) -> None:
    """
    Wait until the objects of a definition are served.
    """
    spec = crd["spec"]
    names = [version["name"] for version in spec.get("versions") or [] if version["served"]]

    async def probe() -> bool:
        paths = [f"/apis/{spec['group']}/{name}/{spec['names']['plural']}" for name in names]
        return all([(await server.call("GET", path)).status == 200 for path in paths])

    await eventually(probe)
