"""
Several operators at once, each with a token of its own, so that the audit log tells them apart.
"""

import base64
import itertools
import json
from collections import defaultdict
from datetime import datetime
from pathlib import Path

from espalier.engine.coordination.buckets import bucket_of
from espalier.engine.ports.state import Bucket
from tests.e2e.controlplane.auditing import Request
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import GROUP, Crd
from tests.e2e.installing import token_of
from tests.e2e.operating import Operator
from tests.e2e.waiting import eventually
from tests.e2e.writes import ACCOUNT, NAMESPACE

LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
# The shortest that there is.
LEASE_SECONDS = 5


class ReplicaProcess:
    """
    One replica of the operator.

    Args:
        url: Of the API server, if it is not asked directly.
    """

    def __init__(
        self, plane: ControlPlane, suffix: str, *, url: str = "", **settings: object
    ) -> None:
        kubeconfig = plane.service_account_kubeconfig(NAMESPACE, ACCOUNT, suffix=suffix, url=url)
        self._plane = plane
        self._credential = credential_of(kubeconfig)
        self.operator = Operator(plane, kubeconfig, lease_seconds=LEASE_SECONDS, **settings)

    def requests(self, mark: dict[Path, int]) -> list[Request]:
        """
        Return what it asked for after a mark, ordered by when the server received it.
        """
        found = [r for r in self._plane.audit.requests(mark) if r.credential == self._credential]
        return sorted(found, key=lambda request: request.received)

    def writes(self, crd: Crd, mark: dict[Path, int]) -> list[Request]:
        """
        Return its writes on objects and on the status of a definition, whatever came of them.
        """
        return [
            request
            for request in self.requests(mark)
            if request.is_mutating
            and (
                (request.group, request.resource.partition("/")[0]) == (crd.group, crd.plural)
                or request.name == crd.name
            )
        ]

    def takes(self, bucket: str, mark: dict[Path, int]) -> list[Request]:
        """
        Return its successful writes on the Lease of a bucket.
        """
        return [
            request
            for request in self.requests(mark)
            if request.is_mutating
            and request.resource == "leases"
            and request.name == bucket
            and request.code < 300
        ]

    def wait_for_writes(self, crd: Crd, mark: dict[Path, int], *, count: int = 1) -> None:
        """
        Wait until it has written objects.
        """

        def has_written() -> None:
            written = [r for r in self.writes(crd, mark) if r.resource == crd.plural]
            assert len(written) >= count, self.operator.child.tail()

        eventually(has_written, within_seconds=60)


def holder_of(plane: ControlPlane, bucket: str) -> str:
    """
    Return the identity that holds the Lease of a bucket; empty if there is none.
    """
    found = plane.api.find(f"{LEASES}/{bucket}") or {}
    return str(found.get("spec", {}).get("holderIdentity") or "")


def wait_until_held(plane: ControlPlane, *buckets: str, parts: int = 1) -> None:
    """
    Wait until replicas hold the same number of buckets each.
    """

    def held() -> None:
        holders = [holder_of(plane, bucket) for bucket in buckets]
        counts = {holder: holders.count(holder) for holder in holders}
        assert "" not in counts
        assert len(counts) == parts, counts
        assert len({*counts.values()}) == 1, counts

    eventually(held, within_seconds=60)


def plurals_in_buckets(stem: str, count: int, *, each: int = 1) -> list[str]:
    """
    Return plurals of definitions of which the same number lies in each bucket.
    """
    found: dict[Bucket, list[str]] = defaultdict(list)
    for number in itertools.count():
        plural = f"{stem}{number}"
        own = found[bucket_of(f"{plural}.{GROUP}", count)]
        if len(own) < each:
            own.append(plural)
        if sum(map(len, found.values())) == count * each:
            return [plural for plurals in found.values() for plural in plurals]
    raise AssertionError


def times(requests: list[Request]) -> list[datetime]:
    """
    Return when the server received requests.
    """
    return [request.received for request in requests]


def credential_of(kubeconfig: Path) -> str:
    """
    Return what the audit log calls the token in a kubeconfig.
    """
    payload = token_of(kubeconfig).split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return f"JTI={claims['jti']}"
