"""
What to do about objects that the server cannot read depends on why it cannot.
"""

from espalier.engine import Reason
from espalier.errors import UndecodableError
from tests.engine.runs.pruned import a_cluster, run_on
from tests.fakes.widgets import WIDGETS

TEXT = "request to convert CR from an invalid group/version: example.com/v1beta1"


async def test_a_version_that_the_definition_lacks_is_to_be_put_back() -> None:
    cluster = a_cluster()
    error = UndecodableError(
        verb="list",
        resource=WIDGETS,
        status=500,
        reason="StorageReadError",
        detail=f"data from the storage is not transformable: {TEXT}",
        keys=("/example.com/widgets/default/w003",),
    )
    for call in ("list_metadata", "list_objects"):
        cluster.fail(call, error, times=8)

    outcome = await run_on(cluster)

    message = outcome.conditions[0].message
    assert outcome.reason == Reason.UNDECODABLE
    assert "default/w003 (stored at v1beta1, which is not in spec.versions)" in message
    assert (
        "Put v1beta1 back into spec.versions, with its schema of then and with served: true"
        in message
    )
    assert "Repair or delete" not in message


async def test_bytes_that_cannot_be_decoded_are_to_be_repaired() -> None:
    cluster = a_cluster()
    next(iter(cluster.etcd.values())).is_broken = True

    outcome = await run_on(cluster)

    assert "Repair or delete what is stored" in outcome.conditions[0].message
