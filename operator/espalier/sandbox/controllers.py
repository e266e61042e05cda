"""
The API server's controllers for definitions: names, ``NonStructuralSchema`` and deletion.

One task follows the store. It accepts the names of a new definition and establishes it at once,
writes ``NonStructuralSchema`` once for each generation after a chosen delay, and removes a deleted
definition together with its objects. Unlike in an API server, names never conflict.
"""

import asyncio
import time

from espalier.crd import nonstructural_condition, read_definition
from espalier.errors import DefinitionError
from espalier.names import ESTABLISHED, NAMES_ACCEPTED, NON_STRUCTURAL_SCHEMA
from espalier.sandbox import ownership
from espalier.sandbox.catalogue import CodecCatalogue
from espalier.sandbox.kinds import CRDS
from espalier.sandbox.ownership import Writer
from espalier.sandbox.store import Store, Stored
from espalier.sandbox.wire import Object, RequestRefusal
from espalier.sandbox.writing import CLEANUP, utc_now

_MANAGER = "kube-apiserver"


class Controllers:
    """
    The API server's own controllers.

    Args:
        structural_delay_seconds: The delay from a change to the check for
            ``NonStructuralSchema``; None turns the check off.
    """

    def __init__(
        self, store: Store, catalogue: CodecCatalogue, *, structural_delay_seconds: float | None
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._delay_seconds = structural_delay_seconds
        self._written: dict[str, int] = {}
        self._due: dict[str, float] = {}
        self._revisions: dict[str, int] = {}

    async def run(self) -> None:
        """
        Follow the store until cancelled.
        """
        changed = self._store.watch()
        try:
            while True:
                changed.clear()
                self.settle()
                await self._wait(changed)
        finally:
            self._store.unwatch(changed)

    def settle(self) -> None:
        """
        Do all work that is due now.
        """
        for stored in list(self._store.scan(CRDS.prefix)):
            if self._revisions.get(stored.key) != stored.revision:
                self._revisions[stored.key] = stored.revision
                self._see(stored)
        for key, due in list(self._due.items()):
            if due <= time.monotonic():
                del self._due[key]
                self._check(key)

    async def _wait(self, changed: asyncio.Event) -> None:
        seconds = None
        if self._due:
            seconds = max(min(self._due.values()) - time.monotonic(), 0)
        try:
            await asyncio.wait_for(changed.wait(), seconds)
        except TimeoutError:
            return

    def _see(self, stored: Stored) -> None:
        obj = self._read(stored.key)
        if obj is None:
            return
        if "deletionTimestamp" in obj["metadata"]:
            self._remove(stored.key, obj)
            return
        conditions = (obj.get("status") or {}).get("conditions") or []
        if not any(condition.get("type") == ESTABLISHED for condition in conditions):
            self._write(stored.key, obj, _established(obj))
        generation = obj["metadata"].get("generation", 0)
        is_open = generation > self._written.get(stored.key, 0)
        if self._delay_seconds is not None and is_open and stored.key not in self._due:
            self._due[stored.key] = time.monotonic() + self._delay_seconds

    def _check(self, key: str) -> None:
        obj = self._read(key)
        if obj is None:
            return
        try:
            condition = nonstructural_condition(read_definition(obj))
        except DefinitionError:
            return
        status = obj.get("status") or {}
        conditions: list[Object] = list(status.get("conditions") or [])
        old = next((c for c in conditions if c.get("type") == NON_STRUCTURAL_SCHEMA), None)
        new = None
        if condition is not None:
            stays = old is not None and old["status"] == condition.status
            new = {
                "type": condition.type,
                "status": condition.status,
                "lastTransitionTime": old["lastTransitionTime"] if old and stays else utc_now(),
                "reason": condition.reason,
                "message": condition.message,
            }
        if new != old:
            self._written[key] = obj["metadata"].get("generation", 0)
            kept = [c for c in conditions if c is not old]
            self._write(key, obj, {**status, "conditions": [*kept, *([new] if new else [])]})

    def _read(self, key: str) -> Object | None:
        stored = self._store.get(key)
        if stored is None:
            return None
        try:
            return self._catalogue.definitions.read(stored)
        except (RequestRefusal, KeyError, TypeError):
            return None

    def _write(self, key: str, live: Object, status: Object) -> None:
        codec = self._catalogue.definitions
        new = {**live, "status": status}
        writer = Writer(
            name=_MANAGER,
            operation="Update",
            api_version=codec.kind.api_version,
            subresource="status",
            now=utc_now(),
        )
        fields = ownership.track_update(live, new, codec.shape, writer)
        if fields:
            new["metadata"] = {**live["metadata"], "managedFields": fields}
        self._store.put(key, codec.store(new))

    def _remove(self, key: str, obj: Object) -> None:
        spec = obj["spec"]
        objects = f"/registry/{spec['group']}/{spec['names']['plural']}/"
        for stored in list(self._store.scan(objects)):
            self._store.delete(stored.key)
        left = [name for name in obj["metadata"].get("finalizers", []) if name != CLEANUP]
        if not left:
            self._store.delete(key)
            self._revisions.pop(key, None)
            self._due.pop(key, None)
            self._written.pop(key, None)


def _established(obj: Object) -> Object:
    status, now = obj.get("status") or {}, utc_now()
    names = obj["spec"]["names"]
    accepted = {
        "type": NAMES_ACCEPTED,
        "status": "True",
        "lastTransitionTime": now,
        "reason": "NoConflicts",
        "message": "no conflicts found",
    }
    established = {
        "type": ESTABLISHED,
        "status": "True",
        "lastTransitionTime": now,
        "reason": "InitialNamesAccepted",
        "message": "the initial names have been accepted",
    }
    storage = [v["name"] for v in obj["spec"]["versions"] if v.get("storage")]
    return {
        **status,
        "conditions": [accepted, established, *(status.get("conditions") or [])],
        "acceptedNames": names,
        "storedVersions": status.get("storedVersions") or storage,
    }
