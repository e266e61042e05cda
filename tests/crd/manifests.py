"""
Manifests of definitions, and what is rejected in them.
"""

from espalier import crd
from espalier.paths import JSON

STRUCTURAL: JSON = {"type": "object"}


AT = "spec.validation.openAPIV3Schema"


def manifest(schema: JSON = None, **spec: JSON) -> dict[str, JSON]:
    version: dict[str, JSON] = {"name": "v1", "served": True, "storage": True}
    version["schema"] = {"openAPIV3Schema": STRUCTURAL if schema is None else schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [version],
            **spec,
        },
    }


def property_of(schema: JSON) -> dict[str, JSON]:
    return manifest({"type": "object", "properties": {"a": schema}})


def version(name: str, schema: JSON = None, **more: JSON) -> JSON:
    made: dict[str, JSON] = {"name": name, "served": True, "storage": name == "v1", **more}
    made["schema"] = {"openAPIV3Schema": STRUCTURAL if schema is None else schema}
    return made


def rejected(new: JSON, old: JSON = None) -> list[str]:
    return [str(rejection) for rejection in crd.check_definition(new, old)]
