from typing import Any

import pytest

from espalier.errors import ConflictError, NotFoundError, RejectedError, TransientError
from tests.cluster.scripted import Reply, Shelf, connected, status_of

KEY, OTHER = "bucket-0-of-2.json", "bucket-1-of-2.json"
KEPT = frozenset({KEY, OTHER})


def only(shelf: Shelf) -> dict[str, Any]:
    (held,) = shelf.objects.values()
    return held


def yes() -> bool:
    return True


async def test_each_replica_replaces_its_own_part_of_the_report() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        one, two = cluster.report("ns"), cluster.report("ns")
        with pytest.raises(NotFoundError):
            await one.read()
        await one.write({KEY: "a"}, kept=KEPT, may_begin=yes)
        await two.write({OTHER: "b"}, kept=KEPT, may_begin=yes)
        await one.write({KEY: "c"}, kept=KEPT, may_begin=yes)

        assert await two.read() == {KEY: "c", OTHER: "b"}
    held = only(shelf)
    assert held["metadata"]["name"] == "espalier-report"
    assert held["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "espalier"


async def test_what_is_of_no_bucket_is_removed_from_the_report() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        report = cluster.report("ns")
        await report.write({"bucket-0-of-1.json": "a"}, kept=(), may_begin=yes)
        only(shelf)["data"]["left"] = "x" * 1000
        await report.write({KEY: "b"}, kept=KEPT, may_begin=yes)

        assert await report.read() == {KEY: "b"}


async def test_nothing_is_sent_where_nothing_changes() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        report = cluster.report("ns")
        await report.write({KEY: "a"}, kept=KEPT, may_begin=yes)
        await report.write({KEY: "a"}, kept=KEPT, may_begin=yes)

    assert [method for method, _ in shelf.seen] == ["GET", "POST", "GET"]


async def test_a_report_that_is_not_ours_stays_as_it_is() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        report = cluster.report("ns")
        await report.write({KEY: "a"}, kept=KEPT, may_begin=yes)
        del only(shelf)["metadata"]["labels"]["app.kubernetes.io/managed-by"]
        with pytest.raises(RejectedError, match="does not have Espalier's label"):
            await report.write({KEY: "b"}, kept=KEPT, may_begin=yes)

        assert await report.read() == {KEY: "a"}


async def test_a_write_of_another_replica_meanwhile_is_not_undone() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        report = cluster.report("ns")
        await report.write({KEY: "a"}, kept=KEPT, may_begin=yes)
        shelf.refusals.append(("PUT", Reply(409, status_of(409, "Conflict"))))
        with pytest.raises(ConflictError):
            await report.write({KEY: "b"}, kept=KEPT, may_begin=yes)

        assert await report.read() == {KEY: "a"}


async def test_nothing_is_sent_once_the_lease_or_the_switch_forbids_it() -> None:
    shelf = Shelf()
    async with connected(shelf) as cluster:
        report = cluster.report("ns")
        with pytest.raises(TransientError):
            await report.write({KEY: "a"}, kept=KEPT, may_begin=lambda: False)
        assert shelf.objects == {}
        await report.write({KEY: "a"}, kept=KEPT, may_begin=yes)
        with pytest.raises(TransientError):
            await report.write({KEY: "b"}, kept=KEPT, may_begin=lambda: False)

        assert await report.read() == {KEY: "a"}
