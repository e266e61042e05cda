"""
Nothing is lost without consent: random histories against an oracle that knows etcd's bytes.
"""

import os
import random
from collections.abc import Callable

import pytest

from espalier.crd.shown_fields import unshown_paths
from espalier.crd.structural import structural_of
from espalier.engine.policy.consent import NOTHING_SHOWN, ShownLoss
from espalier.engine.policy.evidence import NOT_SHOWN, Evidence, Verdict
from espalier.engine.policy.record import SchemaRecord, first_record, record_of_proof
from espalier.engine.ports import StoredMetadata
from tests.properties.histories import GROUP, SETTLE_SECONDS, Etcd, utc

HISTORIES = int(os.environ.get("ESPALIER_LOSS_HISTORIES", "2000"))
"""How many are played; 20,000 take two minutes."""
STEPS = 14
UNREADABLE_OBJECT = "?unreadable"

Judge = Callable[[Evidence, StoredMetadata], Verdict]


class Operator:
    """
    Keeps a record, judges objects, and rewrites those that lose nothing, or what was consented to.
    """

    def __init__(self, etcd: Etcd, judge: Judge) -> None:
        self.etcd = etcd
        self.judge = judge
        self.record: SchemaRecord | None = None
        self.incarnation = etcd.incarnation
        self.is_proved = False
        self.storages: frozenset[str] | None = None
        self.recorded_at = ""
        self.shown = NOTHING_SHOWN
        self.rewritten = 0
        self.proofs = 0
        self.lost: list[str] = []

    def look(self) -> None:
        definition = self.etcd.definition()
        if self.incarnation != self.etcd.incarnation:
            # The record is of another uid.
            self.forget()
        self.etcd.is_seen = True
        self.storages = self._storages()
        self._keep(
            first_record(definition)
            if self.record is None
            else self.record.with_definition(definition)
        )

    def _storages(self) -> frozenset[str] | None:
        storage = frozenset({self.etcd.storage})
        if self.record is None:
            return storage if self.etcd.generation == 1 else None
        is_next = self.etcd.generation - self.record.generation in (0, 1)
        return self.storages | storage if self.storages is not None and is_next else None

    def forget(self) -> None:
        """
        Somebody loses the record, and takes the pointer off to go on.
        """
        self.record, self.is_proved, self.recorded_at = None, False, ""
        self.storages = None
        self.incarnation = self.etcd.incarnation
        # Nobody can know any more that unknown fields were preserved, or until when.
        self.etcd.is_seen = False
        self.etcd.traced_at = self.etcd.changed_at

    def run(self, *, consents: bool) -> None:
        # The definition is read before its record is written.
        is_known = self.record is not None and self.record.generation == self.etcd.generation
        recorded_at = self.recorded_at if is_known else ""
        self.look()
        etcd, record = self.etcd, self.record
        if etcd.preserves:
            return
        evidence = Evidence(
            etcd.definition(),
            record,
            settle_seconds=SETTLE_SECONDS,
            now_seconds=etcd.now,
            is_proved=self.is_proved,
            storages=self.storages,
            recorded_at=recorded_at,
        )
        consented = self.shown if consents else NOTHING_SHOWN
        items: set[str] = set()
        for name in [*etcd.objects]:
            if etcd.objects[name].version not in etcd.shapes:
                # No server can read it, or write it; it keeps the run from being a proof.
                items.add(UNREADABLE_OBJECT)
                continue
            found = self._items(evidence, name)
            if found and not consented.covers(found):
                items |= found
                continue
            stored = etcd.objects[name]
            lost = stored.leaves - etcd.rewritten(name)
            if lost and not consented.covers(found):
                self.lost.append(f"{name}: {sorted(lost)} of {stored}")
            elif lost and not found:
                self.lost.append(f"{name}: {sorted(lost)} without a finding")
            etcd.rewrite(name)
            self.rewritten += 1
        self.shown = ShownLoss(frozenset(items))
        # The verify pass begins when every server stores the storage version.
        if not items and etcd.now - etcd.changed_at >= SETTLE_SECONDS:
            etcd.stored_versions = [etcd.storage]
            self._keep(record_of_proof(etcd.definition()))
            self.is_proved, self.storages = True, frozenset({etcd.storage})
            self.proofs += 1

    def _items(self, evidence: Evidence, name: str) -> frozenset[str]:
        verdict = self.judge(evidence, self.etcd.metadata(name))
        items = set(verdict.items)
        for version in verdict.compare_at:
            shown = self.etcd.shown(name, version)
            if self.etcd.conversion == "Webhook":
                items |= {f"{NOT_SHOWN} {version}{path}" for path in self._unshown(name, version)}
                continue
            after = self.etcd.shown(name, self.etcd.storage) & shown
            items |= {f"{version}.spec.{leaf}" for leaf in shown - after}
        return frozenset(items)

    def _unshown(self, name: str, version: str) -> frozenset[str]:
        etcd = self.etcd
        entries = [
            entry
            for entry in etcd.metadata(name).managed_fields
            if isinstance(entry, dict) and entry["apiVersion"] == f"{GROUP}/{version}"
        ]
        schemas = {each.name: structural_of(each) for each in etcd.definition().versions}
        stored_by = [schemas.get(each) for each in {*etcd.stored_versions, etcd.storage}]
        return unshown_paths(
            schemas[version], entries, etcd.shown_object(name, version), stored_by=stored_by
        )

    def _keep(self, record: SchemaRecord) -> None:
        if record != self.record:
            self.recorded_at = utc(self.etcd.now)
        self.record = record


def play_history(seed: int, judge: Judge) -> Operator:
    dice = random.Random(seed)  # noqa: S311 - a history is played again by its seed
    etcd = Etcd(dice)
    operator = Operator(etcd, judge)
    for _ in range(STEPS):
        etcd.step()
        chance = dice.random()
        if chance < 0.35:
            operator.look()
        elif chance < 0.38:
            operator.forget()
        elif chance < 0.65:
            operator.run(consents=dice.random() < 0.3)
    return operator


def by_evidence(evidence: Evidence, metadata: StoredMetadata) -> Verdict:
    return evidence.judge(metadata)


@pytest.mark.timeout(0)
def test_no_history_loses_what_was_not_consented_to() -> None:
    rewritten = proofs = 0
    for seed in range(HISTORIES):
        operator = play_history(seed, by_evidence)
        assert operator.lost == [], f"seed {seed}"
        rewritten += operator.rewritten
        proofs += operator.proofs

    # It is easy to lose nothing by writing nothing.
    assert rewritten > HISTORIES
    assert proofs > HISTORIES // 2


def _without_guard(evidence: Evidence, metadata: StoredMetadata) -> Verdict:
    del evidence, metadata
    return Verdict()


def _without_items(evidence: Evidence, metadata: StoredMetadata) -> Verdict:
    return Verdict(compare_at=evidence.judge(metadata).compare_at)


def _without_comparison(evidence: Evidence, metadata: StoredMetadata) -> Verdict:
    return Verdict(items=evidence.judge(metadata).items)


@pytest.mark.parametrize("judge", [_without_guard, _without_items, _without_comparison])
def test_without_the_guard_or_a_part_of_it_histories_lose_data(judge: Judge) -> None:
    assert any(play_history(seed, judge).lost for seed in range(HISTORIES))
