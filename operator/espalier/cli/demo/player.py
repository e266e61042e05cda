"""
Carry out the steps of a chapter, and fail if one does not end as expected.

The operator runs beside this and learns of each step only through the API server.
"""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import assert_never

import orjson

from espalier.cli.demo.screen import Ending, Screen, readable
from espalier.cli.demo.stage import CRDS, Stage
from espalier.cli.demo.steps import (
    Archived,
    Await,
    Chapter,
    Compare,
    CreateObjects,
    Define,
    Display,
    Inherit,
    PatchDefinition,
    Remember,
    Say,
    Step,
    Versions,
)
from espalier.cli.demo.story import GROUP, name_of
from espalier.cli.output.error_exits import IncompleteError
from espalier.crd import Condition, Definition
from espalier.paths import JSON

NAMESPACE = "default"
_POLL_SECONDS = 0.05


class Player:
    """
    Play one chapter.

    Args:
        patience_seconds: The longest time that a step may wait for its result.
    """

    def __init__(
        self, chapter: Chapter, stage: Stage, screen: Screen, *, patience_seconds: float
    ) -> None:
        self._chapter = chapter
        self._stage = stage
        self._screen = screen
        self._patience_seconds = patience_seconds
        self._name = name_of(chapter.plural)
        self._remembered = ""
        self._last_condition: Condition | None = None

    async def play(self) -> Ending:
        """
        Carry out all steps.

        Raises:
            IncompleteError: A step did not end as expected.
        """
        for step in self._chapter.steps:
            await self._perform(step)
        last = self._last_condition
        return Ending(
            definition=self._name,
            condition=f"{last.type.rpartition('/')[2]} {last.status}" if last else "",
            stored_versions=(await self._definition()).stored_versions,
            outcome=self._chapter.outcome,
        )

    async def _perform(self, step: Step) -> None:
        match step:
            case Define(manifest):
                await self._define(dict(manifest))
            case Inherit(manifest):
                await self._inherit(dict(manifest), served=step.served)
            case CreateObjects():
                await self._create_objects(step)
            case PatchDefinition():
                self._screen.command(step.command)
                await self._stage.change(f"{CRDS}/{self._name}", step.patch)
            case Await():
                await self._await(step)
            case _:
                await self._show(step)

    async def _show(self, step: Display) -> None:
        match step:
            case Say(text):
                self._screen.say(text)
            case Remember():
                self._remembered = await self._stored()
            case Compare():
                await self._compare(step)
            case Versions(expected):
                await self._show_versions(expected)
            case Archived(entries):
                await self._show_archive(entries)
            case _:
                assert_never(step)

    async def _definition(self) -> Definition:
        return await self._stage.definition(self._name)

    async def _define(self, manifest: dict[str, JSON]) -> None:
        await self._stage.create(CRDS, manifest)
        await self._until(self._is_served, f"{self._name} is not served")
        self._screen.note(f"created {self._name}")

    async def _inherit(self, manifest: dict[str, JSON], *, served: bool) -> None:
        metadata: JSON = {
            "name": self._name,
            "uid": str(uuid.uuid4()),
            "generation": 1,
            "creationTimestamp": datetime.fromtimestamp(time.time(), UTC).strftime(
                "%Y-%m-%dT%H:%M:%SZ"
            ),
        }
        stored = {**manifest, "metadata": metadata, "status": {"storedVersions": ["v1"]}}
        key = f"/registry/apiextensions.k8s.io/customresourcedefinitions/{self._name}"
        await self._stage.store.write(key, orjson.dumps(stored))
        if served:
            await self._until(self._is_served, f"{self._name} is not served")
        self._screen.note(f"wrote {self._name} to etcd, as v1beta1 stored it")

    async def _is_served(self) -> bool:
        definition = await self._definition()
        if not definition.established:
            return False
        version = definition.storage.name
        return await self._stage.has(self._collection(version))

    def _collection(self, version: str) -> str:
        return f"/apis/{GROUP}/{version}/namespaces/{NAMESPACE}/{self._chapter.plural}"

    async def _create_objects(self, step: CreateObjects) -> None:
        for number in range(1, step.count + 1):
            body: dict[str, JSON] = {
                "apiVersion": f"{GROUP}/{step.version}",
                "kind": self._chapter.kind,
                "metadata": {"name": self._object_name(number)},
                "spec": dict(step.spec),
            }
            await self._stage.create(self._collection(step.version), body)
        self._screen.note(f"created {step.count} objects at {step.version}")

    def _object_name(self, number: int) -> str:
        return f"{self._chapter.kind.lower()}-{number:03d}"

    async def _await(self, step: Await) -> None:
        async def reached() -> bool:
            condition = (await self._definition()).condition(step.type)
            if condition != self._last_condition:
                if _without_time(condition) != _without_time(self._last_condition):
                    self._screen.condition(condition, step.type)
                self._last_condition = condition
            return condition is not None and _is_reached(condition, step)

        wanted = f"{step.status} {step.reason or ''}".strip()
        await self._until(reached, f"{self._name}: {step.type} did not become {wanted}")

    async def _stored(self) -> str:
        name = self._object_name(1)
        key = f"/registry/{GROUP}/{self._chapter.plural}/{NAMESPACE}/{name}"
        value = await self._stage.store.read(key)
        if value is None:
            raise IncompleteError(f"etcd has nothing under {key}")
        return readable(value)

    async def _compare(self, step: Compare) -> None:
        before, after = self._remembered, await self._stored()
        name = f"{self._chapter.plural}/{self._object_name(1)}"
        self._screen.difference(name, before, after)
        wrong = [
            *(text for text in step.gone if text not in before or text in after),
            *(text for text in step.came if text in before or text not in after),
            *(text for text in step.kept if text not in before or text not in after),
        ]
        if wrong:
            raise IncompleteError(f"{name} is not stored as expected: check {', '.join(wrong)}")

    async def _show_versions(self, expected: tuple[str, ...]) -> None:
        versions = (await self._definition()).stored_versions
        self._screen.versions(versions)
        if versions != expected:
            raise IncompleteError(
                f"{self._name}: storedVersions is {list(versions)}, expected {list(expected)}"
            )

    async def _show_archive(self, expected: int) -> None:
        definition = await self._definition()
        entries = [entry async for entry in self._stage.archived(definition)]
        if len(entries) != expected:
            raise IncompleteError(
                f"{self._name}: the archive has {len(entries)} entries, expected {expected}"
            )
        self._screen.archive(entries)

    async def _until(self, is_reached: Callable[[], Awaitable[bool]], failure: str) -> None:
        try:
            async with asyncio.timeout(self._patience_seconds):
                while not await is_reached():  # noqa: ASYNC110 - the change happens in the server
                    await asyncio.sleep(_POLL_SECONDS)
        except TimeoutError as error:
            raise IncompleteError(f"{failure} within {self._patience_seconds:.0f} s") from error


def _without_time(condition: Condition | None) -> tuple[str, str, str] | None:
    if condition is None:
        return None
    return condition.status, condition.reason, condition.message


def _is_reached(condition: Condition, step: Await) -> bool:
    return (
        condition.status == step.status
        and step.reason in (None, condition.reason)
        and step.mentions in condition.message
    )
