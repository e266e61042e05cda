"""
Definitions of the tests, and entries of managedFields.
"""

from dataclasses import replace

from espalier.crd import Definition, Version
from espalier.paths import JSON

WIDGETS = "widgets.example.com"

V1ALPHA1_SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}
V1_SCHEMA: dict[str, JSON] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer"},
                "color": {"type": "string", "default": "red"},
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}
ENFORCE = {"espalier.dev/mode": "enforce"}


def widgets(**changes: object) -> Definition:
    """
    Make a definition that has just moved its storage version from v1alpha1 to v1.
    """
    made = Definition(
        name=WIDGETS,
        uid="crd-1",
        resource_version="1",
        generation=1,
        group="example.com",
        kind="Widget",
        plural="widgets",
        namespaced=True,
        versions=(
            Version(name="v1alpha1", served=True, storage=False, schema=V1ALPHA1_SCHEMA),
            Version(name="v1", served=True, storage=True, schema=V1_SCHEMA, has_status=True),
        ),
        stored_versions=("v1alpha1", "v1"),
        preserve_unknown_fields=False,
        conversion="None",
        established=True,
        deleting=False,
        labels=ENFORCE,
        created_at="2025-12-01T00:00:00Z",
    )
    return replace(made, **changes)  # type: ignore[arg-type]  # a test knows the fields


def legacy_widgets(**changes: object) -> Definition:
    """
    Make a definition whose objects the server does not prune, at one version.
    """
    plain: dict[str, JSON] = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer"},
                    "ports": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"port": {"type": "integer"}},
                        },
                    },
                },
            },
            "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
        },
    }
    version = Version(name="v1", served=True, storage=True, schema=plain, has_status=True)
    defaults: dict[str, object] = {
        "versions": (version,),
        "stored_versions": ("v1",),
        "preserve_unknown_fields": True,
    }
    return widgets(**(defaults | changes))


def written_by(manager: str, fields: JSON, *, version: str = "v1") -> dict[str, JSON]:
    """
    Make an entry of managedFields.
    """
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": f"example.com/{version}",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
