"""
``espalier status``: all definitions, and how far each is.
"""

import pytest
import yaml

from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.formats import TABULAR
from espalier.crd import Condition
from tests.cli.clusters import NAME, Site, site
from tests.cli.golden import check_golden
from tests.cli.manifests import WIDGETS, items_in


async def labelled(cluster: Site) -> None:
    other = yaml.safe_load(WIDGETS.replace("widget", "gadget").replace("Widget", "Gadget"))
    await cluster.define(other)
    definition = await cluster.change({"metadata": {"labels": {"espalier.dev/mode": "enforce"}}})
    condition = Condition(
        type="espalier.dev/StoredObjectsCurrent",
        status="False",
        reason="Rewriting",
        message="rewriting: 5 of 10 objects",
        last_transition_time="2026-01-02T03:04:05Z",
    )
    await cluster.connected.definitions.apply_conditions(
        definition, [condition], field_manager="espalier"
    )


@pytest.mark.parametrize("name", TABULAR)
async def test_each_format_is_as_it_was_looked_at(name: str) -> None:
    async with site(WIDGETS) as cluster:
        await labelled(cluster)
        result = await cluster.run("status", "-o", name)

    check_golden(f"status.{name}.txt", result.stdout)
    assert result.exit_code == Exit.CLEAN
    if name == "json":
        assert len(items_in(result.stdout)) == 2


async def test_only_those_that_are_labelled_or_named() -> None:
    async with site(WIDGETS) as cluster:
        await labelled(cluster)
        some = await cluster.run("status", "--labelled")
        one = await cluster.run("status", "gadgets.example.com")
        none = await cluster.run("status", NAME, "none.example.com")

    assert some.stdout.endswith("1 definition, 1 labelled\n")
    assert one.stdout.endswith("1 definition, 0 labelled\n")
    assert none.stderr == "espalier: none.example.com: the definition does not exist\n"
    assert none.exit_code == Exit.UNREADABLE


async def test_names_that_are_not_accepted_are_reported() -> None:
    async with site(WIDGETS) as cluster:
        definition = await cluster.change({})
        condition = Condition(
            type="NamesAccepted",
            status="False",
            reason="ShortNamesConflict",
            message='"widget" is already in use',
            last_transition_time="2026-01-02T03:04:05Z",
        )
        await cluster.connected.definitions.apply_conditions(
            definition, [condition], field_manager="test"
        )
        result = await cluster.run("status")

    text = 'NamesAccepted is False, ShortNamesConflict: "widget" is already in use'
    assert f"warning: {NAME}: {text}\n" in result.stdout
    assert result.exit_code == Exit.CLEAN
