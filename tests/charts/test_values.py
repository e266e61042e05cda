"""
The chart's values: each setting is one, nothing else is accepted, and each is documented.
"""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from espalier import __version__
from espalier.cli.commands.operator import operator
from espalier.handlers.settings import BOUNDS, Settings
from tests.charts.generating import CHART, NOT_A_VALUE, camel, generated, leaves

SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
GROUPS_OF_HELM = {"global"}
BY_OPTION = {
    "log_format": "logFormat",
    "log_levels": "logLevels",
    "verbose": "verbose",
    "request_seconds": "requestTimeout",
}
# A pod connects by its ServiceAccount.
OF_A_KUBECONFIG = {"kubeconfig", "context", "user", "groups", "uid"}


@pytest.mark.parametrize("path", list(generated()), ids=lambda path: path.name)
def test_generated_files_are_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == generated()[path], "run make docs"


def test_every_setting_is_a_value() -> None:
    names = {camel(known.name) for known in fields(Settings)} - NOT_A_VALUE

    assert set(VALUES["settings"]) == names
    assert set(SCHEMA["properties"]["settings"]["properties"]) == names


def test_every_option_of_the_operator_is_a_value() -> None:
    options = {param.name for param in operator.params if isinstance(param, click.Option)}
    settings = {known.name for known in fields(Settings)}

    assert options - settings == {*BY_OPTION, *OF_A_KUBECONFIG}
    assert set(BY_OPTION.values()) <= set(VALUES)


def test_the_bounds_are_those_of_the_settings() -> None:
    schemas = SCHEMA["properties"]["settings"]["properties"]

    bounds = {
        name: (schema["minimum"], schema["maximum"])
        for name, schema in schemas.items()
        if "minimum" in schema
    }

    assert bounds == {camel(name): pair for name, pair in BOUNDS.items()}


def objects(schema: Any) -> list[dict[str, Any]]:
    """
    Every schema with properties, at any depth.
    """
    if isinstance(schema, list):
        return [found for item in schema for found in objects(item)]
    if not isinstance(schema, dict):
        return []
    below = [found for item in schema.values() for found in objects(item)]
    return [schema, *below] if isinstance(schema.get("properties"), dict) else below


def test_unknown_values_are_refused_at_every_depth() -> None:
    found = objects(SCHEMA)
    environment = SCHEMA["properties"]["extraEnv"]["items"]

    assert len(found) > 15
    assert [schema for schema in found if schema.get("additionalProperties") is not False] == [
        environment
    ]


def test_every_value_has_a_schema_and_every_schema_a_value() -> None:
    documented = {path for path, _ in leaves(SCHEMA)} - {(name,) for name in GROUPS_OF_HELM}
    for path in documented:
        below: Any = VALUES
        for name in path:
            assert name in below, path
            below = below[name]
    assert {path[0] for path in documented} == set(VALUES)


def test_the_chart_has_the_version_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))

    assert chart["version"] == chart["appVersion"] == __version__
