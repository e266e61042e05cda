"""
Create CustomResourceDefinitions and objects for tests, and read them from etcd.
"""

import contextlib
import json
import re
import uuid
from collections.abc import Mapping
from typing import Any, TypeAlias

from tests.e2e.controlplane.api import CRDS, Api, ApiError
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.waiting import eventually

GROUP = "e2e.example.com"
NAMESPACE = "default"
RAW_CRDS = "/registry/apiextensions.k8s.io/customresourcedefinitions/"

Document: TypeAlias = dict[str, Any]

CURRENT = "espalier.dev/StoredObjectsCurrent"
VALID = "espalier.dev/StoredObjectsValid"
NON_STRUCTURAL = "NonStructuralSchema"
REMOVAL_TRIES, REMOVAL_SECONDS = 9, 10.0
ENFORCE = {"espalier.dev/mode": "enforce"}


def schema(spec: Mapping[str, Any] | None = None, **more: Any) -> Document:
    """
    Return an OpenAPI schema whose ``spec`` has the given properties.
    """
    properties = {"spec": {"type": "object", "properties": dict(spec or {})}, **more}
    return {"type": "object", "properties": properties}


def version(name: str, openapi: Document | None, **more: Any) -> Document:
    """
    Return one entry of ``spec.versions``: served, and not the storage version.
    """
    entry = {"name": name, "served": True, "storage": False, **more}
    return entry if openapi is None else entry | {"schema": {"openAPIV3Schema": openapi}}


def conditions_of(definition: Document) -> list[Document]:
    """
    Return the conditions of a definition: none at first, when the server shows null.
    """
    conditions: list[Document] | None = definition.get("status", {}).get("conditions")
    return conditions or []


class Crd:
    """
    One CustomResourceDefinition in the cluster, and its objects in the default namespace.
    """

    def __init__(self, plane: ControlPlane, plural: str, group: str = GROUP) -> None:
        self.plane = plane
        self.plural = plural
        self.group = group
        self.name = f"{plural}.{group}"
        self.path = f"{CRDS}/{self.name}"
        self.kind = plural.title()
        self.raw_prefix = f"/registry/{group}/{plural}/"
        self.raw_key = RAW_CRDS + self.name

    # Changes by a test.

    def create(self, versions: list[Document], *, storage: str) -> None:
        """
        Create the definition through the API, and wait until it is served.
        """
        self.plane.api.post(CRDS, self.manifest(versions, storage=storage))
        self.wait_until_served(storage)

    def manifest(self, versions: list[Document], *, storage: str) -> Document:
        """
        Return the manifest of the definition.
        """
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name},
            "spec": {**self._spec(), "versions": _with_storage(versions, storage)},
        }

    def put_legacy(
        self,
        versions: list[Document],
        *,
        storage: str,
        preserve_unknown_fields: bool = True,
    ) -> None:
        """
        Write the definition to etcd, as a cluster that was upgraded from v1beta1 has it.
        """
        body = {
            "apiVersion": "apiextensions.k8s.io/v1beta1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": self.name,
                "uid": str(uuid.uuid4()),
                "generation": 1,
                "creationTimestamp": "2019-06-01T00:00:00Z",
            },
            "spec": {
                **self._spec(),
                "version": storage,
                # The storage version comes first: in v1beta1, `version` must be the first one.
                "versions": sorted(
                    _with_storage(versions, storage), key=lambda entry: not entry["storage"]
                ),
                "preserveUnknownFields": preserve_unknown_fields,
                "conversion": {"strategy": "None"},
            },
            "status": {
                "conditions": [],
                "acceptedNames": {"plural": "", "kind": ""},
                "storedVersions": [storage],
            },
        }
        self.plane.raw_put(self.raw_key, json.dumps(body).encode())
        self.wait_until_served(storage)

    def label(self, **labels: str | None) -> None:
        """
        Set labels, named without ``espalier.dev/``; None removes a label.
        """
        patch = {f"espalier.dev/{key.replace('_', '-')}": value for key, value in labels.items()}
        self.plane.api.merge(self.path, {"metadata": {"labels": patch}})

    def consent(self, condition: Mapping[str, str]) -> None:
        """
        Consent to the loss that a condition shows, by its digest.
        """
        found = re.search(r"espalier\.dev/loss=([0-9a-f]{16})", condition["message"])
        assert found is not None, condition["message"]
        self.label(loss=found[1])

    def set_versions(self, versions: list[Document], *, storage: str) -> None:
        """
        Replace the versions, and wait until the server serves them.
        """
        spec = {"versions": _with_storage(versions, storage)}
        self.plane.api.merge(self.path, {"spec": spec})

    def drop_condition(self, kind: str) -> None:
        """
        Remove a condition.
        """
        body = self.read()
        kept = [entry for entry in body["status"]["conditions"] if entry["type"] != kind]
        body["status"]["conditions"] = kept
        self.plane.api.put(f"{self.path}/status", body)

    def objects_path(self, version_name: str) -> str:
        return f"/apis/{self.group}/{version_name}/namespaces/{NAMESPACE}/{self.plural}"

    def object(self, version_name: str, name: str, **fields: Any) -> Document:
        """
        Return the manifest of one object.
        """
        return {
            "apiVersion": f"{self.group}/{version_name}",
            "kind": self.kind,
            "metadata": {"name": name},
            **fields,
        }

    def add(self, version_name: str, *objects: Document) -> None:
        """
        Create objects through one version.
        """
        self.plane.api.create_many(self.objects_path(version_name), objects)

    def wait_until_served(self, version_name: str, *, api: Api | None = None) -> None:
        """
        Wait until its objects can be listed, by the first API server or by the given one.
        """

        def listed() -> None:
            try:
                (api or self.plane.api).get(self.objects_path(version_name))
            except ApiError as error:
                raise AssertionError(str(error)) from error

        eventually(listed)

    def remove(self) -> None:
        """
        Remove its objects from etcd, and then delete the definition.
        """
        self.plane.etcd.delete_prefix(self.raw_prefix)
        self.plane.api.delete(self.path)

        def gone() -> None:
            raw = self.plane.raw_get(self.raw_key)
            assert raw is None, raw.decode(errors="replace")

        for number in range(REMOVAL_TRIES):
            try:
                return eventually(gone, within_seconds=REMOVAL_SECONDS)
            except AssertionError:
                # After tries that failed, since the storage was not ready or a webhook refused its
                # objects, the server waits ever longer: but not if the definition changes.
                touched = {"metadata": {"annotations": {"tests/touched": str(number)}}}
                with contextlib.suppress(ApiError):
                    self.plane.api.merge(self.path, touched)
        return eventually(gone, within_seconds=REMOVAL_SECONDS)

    # Reads by a test.

    def read(self) -> Document:
        """
        Read the definition through the API.
        """
        return self.plane.api.get(self.path)

    def stored_versions(self) -> list[str]:
        stored: list[str] = self.read()["status"]["storedVersions"]
        return stored

    def condition(self, kind: str) -> Document | None:
        """
        Return one of its conditions; None if there is none.
        """
        conditions = self.read().get("status", {}).get("conditions", [])
        return next((entry for entry in conditions if entry["type"] == kind), None)

    def wait_for(
        self, kind: str, status: str, reason: str | None = None, *, within_seconds: float = 30.0
    ) -> Document:
        """
        Wait for a condition.
        """

        def look() -> Document:
            found = self.condition(kind)
            assert found is not None, f"{self.name} has no condition {kind}"
            assert found["status"] == status, found
            assert reason in {None, found["reason"]}, found
            return found

        return eventually(look, within_seconds=within_seconds)

    def wait_until_current(self, *, within_seconds: float = 30.0) -> Document:
        """
        Wait until Espalier reports for this generation that all stored objects are current.
        """

        def look() -> Document:
            body = self.read()
            found = [c for c in conditions_of(body) if c["type"] == CURRENT]
            assert found, f"{self.name} has no condition {CURRENT}"
            assert found[0]["status"] == "True", found
            assert f"generation {body['metadata']['generation']};" in found[0]["message"], found
            return dict(found[0])

        return eventually(look, within_seconds=within_seconds)

    def raw(self) -> dict[str, bytes]:
        """
        Return the bytes of every object in etcd, by name.
        """
        values = self.plane.etcd.values(self.raw_prefix)
        return {key.rpartition("/")[2]: value for key, value in values}

    def stored(self) -> dict[str, Document]:
        """
        Return every object in etcd, decoded, by name.
        """
        return {name: json.loads(value) for name, value in self.raw().items()}

    def stored_at(self) -> dict[str, int]:
        """
        Return the number of stored objects at each version.
        """
        counts: dict[str, int] = {}
        for obj in self.stored().values():
            name = obj["apiVersion"].rpartition("/")[2]
            counts[name] = counts.get(name, 0) + 1
        return counts

    def _spec(self) -> Document:
        names = {
            "plural": self.plural,
            "singular": self.plural.removesuffix("s"),
            "kind": self.kind,
            "listKind": f"{self.kind}List",
        }
        return {"group": self.group, "scope": "Namespaced", "names": names}


def _with_storage(versions: list[Document], storage: str) -> list[Document]:
    return [entry | {"storage": entry["name"] == storage} for entry in versions]
