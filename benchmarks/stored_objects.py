"""
Put objects straight into etcd, as an API server stores them: a million within minutes.
"""

import itertools
import uuid
from collections.abc import Iterable, Iterator

import orjson
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import NAMESPACE, Crd, Document

# The most that etcd takes in one transaction.
_BATCH = 128
_CREATED = "2026-01-02T03:04:05Z"


def put_objects(plane: ControlPlane, crd: Crd, objects: Iterable[Document]) -> None:
    """
    Store objects with names of their own.

    Each gets a uid, the time of its creation, and ``managedFields`` with all fields of its spec.
    """
    keys = _stored(crd, objects)
    while batch := dict(itertools.islice(keys, _BATCH)):
        plane.etcd.put_many(batch)


def _stored(crd: Crd, objects: Iterable[Document]) -> Iterator[tuple[str, bytes]]:
    for obj in objects:
        name = obj["metadata"]["name"]
        spec: Document = {f"f:{field}": {} for field in obj.get("spec", {})}
        entry = {
            "manager": "bench",
            "operation": "Update",
            "apiVersion": obj["apiVersion"],
            "time": _CREATED,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": spec},
        }
        metadata = {
            "name": name,
            "namespace": NAMESPACE,
            "uid": str(uuid.uuid4()),
            "generation": 1,
            "creationTimestamp": _CREATED,
            "managedFields": [entry],
        }
        yield f"{crd.raw_prefix}{NAMESPACE}/{name}", orjson.dumps({**obj, "metadata": metadata})
