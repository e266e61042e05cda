"""
What etcd and the audit logs show of a soak; the operator's own reports are not asked.
"""

import http
import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from tests.e2e.chaos.demanding import demand
from tests.e2e.controlplane.running import ControlPlane
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


def check_trims(crd: Crd, trims: Iterable[Trim]) -> None:
    """
    Demand that no object was stored at another version when the list lost its entry.
    """
    for trim in trims:
        old = [
            key
            for key, value in crd.plane.etcd.values(crd.raw_prefix, revision=trim.revision)
            if json.loads(value)["apiVersion"].rpartition("/")[2] not in trim.left
        ]
        demand(not old, f"trimmed to {trim.left} while {len(old)} objects were stored otherwise")


def check_objects(
    stored: Mapping[str, Mapping[str, Any]],
    expected: Mapping[str, int | None],
    uids: Mapping[str, str],
) -> None:
    """
    Demand that each object is what its last writer made of it, and was never created anew.

    Args:
        expected: The value of each object; None for those that were deleted.
        uids: Those of the objects that were there at the beginning.
    """
    wrong = [
        name
        for name, value in expected.items()
        if value != (stored[name]["spec"]["value"] if name in stored else None)
    ]
    demand(not wrong, f"{len(wrong)} objects are not as they were left, such as {wrong[:5]}")
    strange = stored.keys() - expected.keys()
    demand(not strange, f"{len(strange)} objects came from nowhere: {sorted(strange)[:5]}")
    noted = [name for name in stored.keys() & uids.keys() if stored[name]["spec"]["note"] != name]
    demand(not noted, f"{len(noted)} objects have lost what nobody wrote: {noted[:5]}")
    anew = [n for n in stored.keys() & uids.keys() if stored[n]["metadata"]["uid"] != uids[n]]
    demand(not anew, f"{len(anew)} objects were created anew: {anew[:5]}")


def check_hidden(crd: Crd, count: int) -> None:
    """
    Demand that what the schema does not show any more is in etcd still: nobody consented.
    """
    stored = crd.stored()
    lost = [name for name, obj in stored.items() if obj["spec"].get("secret") != name]
    demand(len(stored) == count, f"{len(stored)} of {count} objects with hidden fields are left")
    demand(not lost, f"hidden fields of {len(lost)} objects are erased: {lost[:5]}")
    demand(set(crd.stored_versions()) == {"v1alpha1", "v1"}, "trimmed over hidden fields")


class Tenure(NamedTuple):
    """
    From when on a replica held the Lease of the bucket.

    Attributes:
        since: By the clock of this machine, never too early.
        pid: Of its process.
    """

    since: datetime
    pid: int


def tenures_of(plane: ControlPlane, lease: str) -> list[Tenure]:
    """
    Return who held a Lease of the operator's, from etcd, the first one first.
    """
    found: list[Tenure] = []
    for _, value in plane.etcd.history(f"/registry/leases/{NAMESPACE}/{lease}"):
        spec = json.loads(value)["spec"]
        holder = spec.get("holderIdentity") or ""
        if not holder:
            continue
        # The timestamp is that of the second that had begun.
        since = datetime.fromisoformat(spec["acquireTime"]) + timedelta(seconds=1)
        tenure = Tenure(since, int(holder.rsplit("_", 2)[1]))
        if tenure not in found:
            found.append(tenure)
    return sorted(found)


def check_fenced(
    plane: ControlPlane,
    crds: Iterable[Crd],
    tenures: Iterable[Tenure],
    pids: Mapping[str, set[int]],
) -> int:
    """
    Demand that a replica wrote no object after another one had taken the Lease over.

    Args:
        pids: The processes of each replica, by the credential of its token.

    Returns:
        The number of writes that were looked at.
    """
    plurals = {crd.plural for crd in crds}
    writes = sorted(
        (one.received, one.credential)
        for one in plane.audit.requests()
        if one.credential in pids
        and one.is_mutating
        and one.resource in plurals
        and one.code < http.HTTPStatus.MULTIPLE_CHOICES
        and "dryRun" not in one.path
    )
    taken, place, holder = sorted(tenures), 0, 0
    late: list[str] = []
    for received, credential in writes:
        while place < len(taken) and taken[place].since <= received:
            holder = taken[place].pid
            place += 1
        if holder and holder not in pids[credential]:
            late.append(f"{received} by {sorted(pids[credential])} under {holder}")
    demand(not late, f"{len(late)} writes of fenced holders: {late[:3]}")
    return len(writes)
