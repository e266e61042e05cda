"""
Definitions whose versions a webhook converts.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from espalier import names
from espalier.cluster.transport.paths import hash_of
from espalier.engine.status.text import MAX_NAMED
from tests.e2e.conftest import MakeCrd, StartOperator
from tests.e2e.controlplane.certificates import Authority
from tests.e2e.crds import CURRENT, VALID, Crd, schema, version
from tests.e2e.waiting import eventually
from tests.e2e.webhooks import Document, Refusal, Webhook, converting
from tests.e2e.writes import NAMESPACE

pytestmark = pytest.mark.e2e

OLD = {"size": {"type": "integer"}, "colour": {"type": "string"}}
NEW = {"size": {"type": "integer"}, "color": {"type": "string"}}
VERSIONS = [version("v1alpha1", schema(OLD)), version("v1", schema(NEW))]
COUNT = 120
WORDS = "no such colour at v1"


def renamed(obj: Document, wanted: str) -> Document:
    """
    Rename the colour to the field of the requested version.
    """
    spec = dict(obj.get("spec", {}))
    source, target = ("colour", "color") if wanted.endswith("/v1") else ("color", "colour")
    if source in spec:
        spec[target] = spec.pop(source)
    return {**obj, "apiVersion": wanted, "spec": spec}


@pytest.fixture
def refused() -> set[str]:
    """
    The names of the objects that the webhook refuses to convert to v1.
    """
    return set()


@pytest.fixture
def webhook(tmp_path: Path, refused: set[str]) -> Iterator[Webhook]:
    def convert(obj: Document, wanted: str) -> Document:
        if wanted.endswith("/v1") and obj["metadata"]["name"] in refused:
            raise Refusal(WORDS)
        return renamed(obj, wanted)

    served = Webhook(tmp_path / "webhook", converting(convert))
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


def flipped(crd: Crd, webhook: Webhook, count: int, *, shown: str = "") -> None:
    """
    Move the storage version to v1, and wait until the object ``shown`` is served at it.
    """
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
    if not shown:
        crd.wait_until_served("v1")
        return

    def is_shown() -> None:
        assert crd.plane.api.find(f"{crd.objects_path('v1')}/{shown}") is not None

    eventually(is_shown)


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


@pytest.mark.parametrize(
    ("plural", "wanted"), [("dyes", {3, 17}), ("inks", set(range(12))), ("stains", {*range(4, 20)})]
)
def test_what_the_webhook_refuses_is_named_with_its_words_and_the_others_are_moved(
    crd: MakeCrd,
    start_operator: StartOperator,
    webhook: Webhook,
    refused: set[str],
    plural: str,
    wanted: set[int],
) -> None:
    start_operator(page_size=8)
    dyes = crd(plural)
    refused |= {f"o{n:04}" for n in wanted}
    flipped(dyes, webhook, 20, shown=f"o{min(set(range(20)) - wanted):04}")

    dyes.label(mode="enforce")
    undecodable = dyes.wait_for(CURRENT, "False", "Undecodable", within_seconds=60)
    valid = dyes.wait_for(VALID, "Unknown", "Incomplete")

    for name in sorted(refused)[:MAX_NAMED]:
        named = f"default/{name} (the conversion webhook refuses it: {WORDS})"
        assert named in undecodable["message"]
        assert named in valid["message"]
    others = 20 - len(wanted)
    assert f"cannot read {len(wanted)} objects" in undecodable["message"]
    assert f"{others} other objects looked at" in undecodable["message"]
    assert dyes.stored_at() == {"v1alpha1": len(wanted), "v1": others}
    assert dyes.stored_versions() == ["v1alpha1", "v1"]

    refused.clear()
    dyes.wait_until_current(within_seconds=90)
    all_are_renamed(dyes, 20)
    assert dyes.stored_versions() == ["v1"]


def test_a_webhook_that_refuses_all_counts_as_away(
    crd: MakeCrd, start_operator: StartOperator, webhook: Webhook, refused: set[str]
) -> None:
    start_operator()
    hues = crd("hues")
    refused |= {f"o{n:04}" for n in range(1, 20)}
    flipped(hues, webhook, 20, shown="o0000")
    refused.add("o0000")

    hues.label(mode="enforce")
    waiting = hues.wait_for(CURRENT, "False", "WebhookUnavailable", within_seconds=60)

    assert WORDS in waiting["message"]
    assert hues.stored_at() == {"v1alpha1": 20}


def test_what_only_a_write_loses_stops_the_run_at_the_first_object(
    crd: MakeCrd, start_operator: StartOperator, tmp_path: Path
) -> None:
    tints = crd("tints")
    losing: list[bool] = []

    def convert(obj: Document, wanted: str) -> Document:
        # The archive is the last thing that is written before the object is.
        if wanted.endswith("/v1") and not losing and archived(tints):
            losing.append(True)
        made = renamed(obj, wanted)
        if wanted.endswith("/v1") and losing == [True]:
            del made["spec"]["size"]
        return made

    served = Webhook(tmp_path / "webhook", converting(convert))
    try:
        start_operator()
        flipped(tints, served, 20)
        tints.label(mode="enforce")
        stopped = tints.wait_for(CURRENT, "False", "ConversionLosesData", within_seconds=60)

        assert tints.stored_at() == {"v1alpha1": 19, "v1": 1}
        (lost,) = (obj for obj in tints.stored().values() if obj["apiVersion"].endswith("/v1"))
        assert lost["spec"] == {"color": f"c{int(lost['metadata']['name'][1:])}"}
        assert (
            f"the rewrite of default/{lost['metadata']['name']} has removed" in stopped["message"]
        )
        assert ".spec.size at v1, .spec.size at v1alpha1" in stopped["message"]
        assert len(archived(tints)) == 1

        losing[:] = [False]
        tints.plane.api.merge(tints.path, {"spec": {"names": {"shortNames": ["tt"]}}})
        consent_to_what_one_has_lost(tints)
        tints.wait_until_current(within_seconds=90)
        assert tints.stored_at() == {"v1": 20}
        kept = {name: "size" in obj["spec"] for name, obj in tints.stored().items()}
        assert sorted(kept.values()) == [False, *[True] * 19]
    finally:
        served.close()


def consent_to_what_one_has_lost(crd: Crd) -> None:
    """
    Wait until the object is left alone that has lost its size, and consent to that.

    The size was set once, and nothing shows that it is not stored any more.
    """
    left = crd.wait_for(CURRENT, "False", "WouldLoseData", within_seconds=60)
    assert "1 object of 20 left alone" in left["message"]
    assert ".spec.size at v1alpha1" in left["message"]
    crd.consent(left)


def archived(crd: Crd) -> list[Document]:
    """
    Return the Secrets that hold what was archived of a definition.
    """
    secrets = crd.plane.api.get(f"/api/v1/namespaces/{NAMESPACE}/secrets")["items"]
    wanted = hash_of(crd.name)
    return [one for one in secrets if one["metadata"]["labels"].get(names.CRD_HASH) == wanted]
