"""
Definitions whose versions a webhook converts.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.controlplane.certificates import Authority
from tests.e2e.crds import CURRENT, Crd, schema, version
from tests.e2e.waiting import eventually
from tests.e2e.webhooks import Document, Webhook, converting

pytestmark = pytest.mark.e2e

OLD = {"size": {"type": "integer"}, "colour": {"type": "string"}}
NEW = {"size": {"type": "integer"}, "color": {"type": "string"}}
VERSIONS = [version("v1alpha1", schema(OLD)), version("v1", schema(NEW))]
COUNT = 120


def renamed(obj: Document, wanted: str) -> Document:
    """
    Call the colour as the wanted version does.
    """
    spec = dict(obj.get("spec", {}))
    source, target = ("colour", "color") if wanted.endswith("/v1") else ("color", "colour")
    if source in spec:
        spec[target] = spec.pop(source)
    return {**obj, "apiVersion": wanted, "spec": spec}


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[Webhook]:
    served = Webhook(tmp_path / "webhook", converting(renamed))
    yield served
    served.close()


def conversion(webhook: Webhook, *, more: bytes = b"") -> Document:
    return {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": webhook.client_config(more=more),
            "conversionReviewVersions": ["v1"],
        },
    }


def flipped(crd: Crd, webhook: Webhook, count: int) -> None:
    crd.create(VERSIONS, storage="v1alpha1")
    crd.plane.api.merge(crd.path, {"spec": {"conversion": conversion(webhook)}})
    crd.add(
        "v1alpha1",
        *(
            crd.object("v1alpha1", f"o{n:04}", spec={"size": n, "colour": f"c{n}"})
            for n in range(count)
        ),
    )
    crd.set_versions(VERSIONS, storage="v1")
    crd.wait_until_served("v1")


def all_are_renamed(crd: Crd, count: int) -> None:
    assert crd.stored_at() == {"v1": count}
    assert {name: obj["spec"] for name, obj in crd.stored().items()} == {
        f"o{n:04}": {"size": n, "color": f"c{n}"} for n in range(count)
    }


def test_a_webhook_that_renames_is_waited_for_and_then_all_objects_are_moved(
    crd: MakeCrd, start_operator: StartOperator, webhook: Webhook
) -> None:
    start_operator()
    paints = crd("paints")
    flipped(paints, webhook, 20)
    webhook.is_broken = True

    paints.label(mode="enforce")
    waiting = paints.wait_for(CURRENT, "False", "WebhookUnavailable", within_seconds=60)

    assert "the conversion webhook did not answer" in waiting["message"]
    assert paints.stored_at() == {"v1alpha1": 20}

    webhook.is_broken = False
    done = paints.wait_until_current(within_seconds=90)
    all_are_renamed(paints, 20)
    assert paints.stored_versions() == ["v1"]
    assert (
        "Before the rewrite version v1alpha1 showed what the storage version did not"
        in (done["message"])
    )
    assert "spec.colour (20 objects" in done["message"]


def test_another_ca_bundle_in_the_middle_of_a_run_restarts_nothing(
    crd: MakeCrd, start_operator: StartOperator, webhook: Webhook, tmp_path: Path
) -> None:
    operator = start_operator(page_size=10, max_in_flight=2)
    inks = crd("inks")
    flipped(inks, webhook, COUNT)
    inks.label(mode="enforce")

    def some_are_rewritten() -> None:
        assert inks.stored_at().get("v1", 0) > COUNT // 4

    eventually(some_are_rewritten, within_seconds=60)
    assert inks.stored_at()["v1"] < COUNT
    generation = inks.read()["metadata"]["generation"]
    other = tmp_path / "other"
    other.mkdir()
    more = Authority(other).certificate.read_bytes()
    inks.plane.api.merge(inks.path, {"spec": {"conversion": conversion(webhook, more=more)}})
    assert inks.read()["metadata"]["generation"] == generation + 1

    inks.wait_until_current(within_seconds=90)

    all_are_renamed(inks, COUNT)
    log = operator.child.tail(lines=10_000)
    assert "starts over" not in log
    assert operator.child.exit_code is None
