"""
``espalier demo``: the whole story, once, in a process of its own; and how it fails.
"""

import io

import pytest
from rich.console import Console

from espalier.cli.demo.player import Player
from espalier.cli.demo.screen import Screen, readable
from espalier.cli.demo.stage import CRDS, Stage
from espalier.cli.demo.steps import (
    Await,
    Chapter,
    Compare,
    CreateObjects,
    Define,
    PatchDefinition,
    Remember,
    Say,
    Versions,
)
from espalier.cli.demo.story import STORY
from espalier.cli.output.error_exits import IncompleteError
from espalier.crd import Condition
from espalier.names import NON_STRUCTURAL_SCHEMA, STORED_OBJECTS_VALID
from tests.cli.stages import empty_stage

DEFINITION = STORY[0].steps[1]


def test_the_story_ends_by_itself_as_promised(demo_output: str) -> None:
    for text in (
        "status.storedVersions: [v1alpha1, v1]",
        "status.storedVersions: [v1]",
        '-  "apiVersion": "demo.espalier.dev/v1alpha1",',
        "StoredObjectsCurrent False WouldLoseData",
        "StoredObjectsCurrent True Verified",
        'default/hedge-001: add /spec/gardener {"name":"Ida"}',
        "NonStructuralSchema True Violations",
        "mazes.demo.espalier.dev",
    ):
        assert text in demo_output
    # Without a terminal there are no colours.
    assert "\x1b" not in demo_output


def chapter(*steps: object) -> Chapter:
    return Chapter(title="t", plural="trees", kind="Tree", outcome="o", steps=steps)  # type: ignore[arg-type]


async def play(stage: Stage, *steps: object) -> None:
    screen = Screen.on_stdout()
    await Player(chapter(*steps), stage, screen, patience_seconds=0.3).play()


async def test_a_condition_that_does_not_come_is_reported() -> None:
    async with empty_stage() as stage:
        with pytest.raises(IncompleteError, match="X did not become True within 0 s"):
            await play(stage, DEFINITION, Await(type="X", status="True"))


async def test_an_object_that_is_not_stored_as_promised_is_reported() -> None:
    plant = CreateObjects(version="v1alpha1", count=1, spec={"species": "pear"})
    async with empty_stage() as stage:
        with pytest.raises(IncompleteError, match='is not stored as expected: check "pear"'):
            await play(stage, DEFINITION, plant, Remember(), Compare(gone=('"pear"',)))


async def test_other_stored_versions_than_promised_are_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with empty_stage() as stage:
        with pytest.raises(IncompleteError, match=r"storedVersions is \['v1alpha1'\]"):
            await play(stage, DEFINITION, Versions(("v2",)))

    assert "status.storedVersions: [v1alpha1]" in capsys.readouterr().out


async def test_a_change_is_shown_as_a_person_would_make_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    change = PatchDefinition(
        patch={"metadata": {"labels": {"a": "b"}}}, command="kubectl label ..."
    )
    async with empty_stage() as stage:
        await play(stage, DEFINITION, change)
        definition = await stage.definition("trees.demo.espalier.dev")

    assert "$ kubectl label ..." in capsys.readouterr().out
    assert definition.labels == {"a": "b"}


async def test_namespaces_are_made_once() -> None:
    async with empty_stage() as stage:
        await stage.ensure_namespace("new")
        await stage.ensure_namespace("new")

        assert await stage.has("/api/v1/namespaces/new")
        assert not await stage.has(f"{CRDS}/none")


def test_every_chapter_defines_what_it_is_about() -> None:
    for told in STORY:
        assert any(getattr(step, "manifest", None) for step in told.steps)
        assert isinstance(told.steps[-1], (Versions, Compare, Await)) or told.plural == "hedges"


def test_stored_objects_are_shown_without_managed_fields() -> None:
    assert readable(b'{"metadata":{"name":"a","managedFields":[1]}}') == (
        '{\n  "metadata": {\n    "name": "a"\n  }\n}'
    )


def test_the_definition_of_the_first_chapter_is_the_second_step() -> None:
    assert isinstance(DEFINITION, Define)


def test_the_story_is_as_wide_as_the_terminal_and_commands_are_not_broken() -> None:
    stream = io.StringIO()
    screen = Screen(Console(file=stream, width=80))

    for chapter_ in STORY:
        for step in chapter_.steps:
            if isinstance(step, Say):
                screen.say(step.text)
    told = stream.getvalue().splitlines()
    command = f"kubectl label crd vines.demo.espalier.dev {'x' * 60}"
    screen.command(command)
    screen.invite("In another terminal:", command)

    assert max(map(len, told)) in range(70, 81)
    # Only the last line of a paragraph is short: none was broken twice.
    assert [line for line in told if len(line) < 60 and not line.endswith((".", ":"))] == []
    assert stream.getvalue().count(command) == 2


def test_a_definition_that_is_not_structural_is_not_shown_in_green() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, color_system="standard", _environ={})
    screen = Screen(console)

    for name in (NON_STRUCTURAL_SCHEMA, STORED_OBJECTS_VALID):
        found = Condition(type=name, status="True", reason="Because", message="")
        screen.condition(found, name)

    faulty, valid = [line for line in stream.getvalue().splitlines() if "True" in line]
    assert "\x1b[1;31mTrue Because" in faulty
    assert "\x1b[1;32mTrue Because" in valid
