"""
What etcd and the audit logs show of a soak; the operator's own reports are not asked.
"""

import http
import json
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from tests.e2e.controlplane.auditing import Request
from tests.e2e.crds import Crd
from tests.e2e.writes import NAMESPACE


class Trim(NamedTuple):
    """
    A revision of etcd at which a definition's ``storedVersions`` lost an entry.
    """

    revision: int
    left: tuple[str, ...]


def trims_of(crd: Crd, *, after: int = 0) -> list[Trim]:
    """
    Return the trims of a definition after a revision, the newest first.
    """
    found: list[Trim] = []
    later: tuple[int, tuple[str, ...]] | None = None
    for revision, value in crd.plane.etcd.history(crd.raw_key):
        stored = tuple(json.loads(value).get("status", {}).get("storedVersions") or ())
        if later is not None and set(stored) - set(later[1]):
            found.append(Trim(*later))
        later = revision, stored
        if revision <= after:
            break
    return found


def false_trims(crd: Crd, trims: Iterable[Trim]) -> list[str]:
    """
    Name the trims at which objects were stored at another version than is left in the list.
    """
    found = []
    for trim in trims:
        old = [
            key
            for key, value in crd.plane.etcd.values(crd.raw_prefix, revision=trim.revision)
            if json.loads(value)["apiVersion"].rpartition("/")[2] not in trim.left
        ]
        if old:
            found.append(f"trimmed to {trim.left} while {len(old)} objects were stored otherwise")
    return found


def lost_objects(
    stored: Mapping[str, Mapping[str, Any]],
    expected: Mapping[str, int | None],
    uids: Mapping[str, str],
) -> list[str]:
    """
    Name the objects that are not what their last writer made of them, or were created anew.

    Args:
        expected: The value of each object; None for those that were deleted.
        uids: Those of the objects that were there at the beginning.
    """
    found = []
    for name, value in expected.items():
        spec = stored[name]["spec"] if name in stored else {"value": None}
        if spec["value"] != value:
            found.append(f"{name}: {spec['value']}, and not {value}")
    found += [f"{name}: came from nowhere" for name in stored.keys() - expected.keys()]
    for name in sorted(stored.keys() & uids.keys()):
        if stored[name]["spec"].get("note") != name:
            found.append(f"{name}: has lost what no one wrote")
        if stored[name]["metadata"]["uid"] != uids[name]:
            found.append(f"{name}: was created anew")
    return found


def erased_fields(crd: Crd, count: int) -> list[str]:
    """
    Name the objects that lost what the schema does not specify any more; no one consented.
    """
    stored = crd.stored()
    found = [name for name, obj in stored.items() if obj["spec"].get("secret") != name]
    if len(stored) != count:
        found.append(f"{len(stored)} of {count} objects with hidden fields are left")
    if set(crd.stored_versions()) != {"v1alpha1", "v1"}:
        found.append("trimmed over hidden fields")
    return found


class Tenure(NamedTuple):
    """
    From when on a replica held the Lease of the bucket.

    Attributes:
        since: By the clock of the API servers, never too early.
        credential: Of the token of the replica.
    """

    since: datetime
    credential: str


def tenures_of(requests: Iterable[Request], lease: str) -> list[Tenure]:
    """
    Return who wrote a Lease after another, the first one first.

    Who takes a Lease, renews it, or gives it back holds it until then: a write of somebody who has
    lost it is refused. What the Lease itself says comes from clocks that were stepped.
    """
    writes = sorted(
        Tenure(one.answered, one.credential)
        for one in requests
        if (one.resource, one.namespace, one.name) == ("leases", NAMESPACE, lease)
        and one.is_mutating
        and one.code < http.HTTPStatus.MULTIPLE_CHOICES
    )
    return [
        one
        for before, one in zip([None, *writes], writes, strict=False)
        if before is None or before.credential != one.credential
    ]


def writes_of(
    requests: Iterable[Request], crds: Iterable[Crd], credentials: Container[str]
) -> list[Request]:
    """
    Return the writes on objects by replicas, ordered by when a server received them.
    """
    plurals = {crd.plural for crd in crds}
    found = [
        one
        for one in requests
        if one.credential in credentials
        and one.is_mutating
        and one.resource in plurals
        and one.code < http.HTTPStatus.MULTIPLE_CHOICES
        and "dryRun" not in one.path
    ]
    return sorted(found, key=lambda one: one.received)


def fenced_writes(writes: Iterable[Request], tenures: Sequence[Tenure]) -> list[str]:
    """
    Name the writes that came from a replica after another one had taken the Lease.
    """
    place, holder = 0, ""
    late: list[str] = []
    for one in writes:
        while place < len(tenures) and tenures[place].since <= one.received:
            holder = tenures[place].credential
            place += 1
        if holder and holder != one.credential:
            late.append(f"{one.received} {one.verb} {one.name} by {one.credential}")
    return late
