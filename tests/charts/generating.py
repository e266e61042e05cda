"""
The parts of the chart that are written from elsewhere: settings, versions, README and copied files.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from espalier import __version__
from espalier.cli.commands.operator import operator
from espalier.handlers.settings import BOUNDS, Settings

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "espalier"
MONITORING = ROOT / "manifests" / "components" / "monitoring"
COPIED = ("rules.yaml", "dashboard.json")

# The pod's own namespace, which the chart passes by a field reference.
NOT_A_VALUE = {"namespace"}
# What the manifests set: the ports of the Deployment.
PORTS = {"probe_port": 8080, "metrics_port": 8081, "page_port": 8082}

_SETTINGS = re.compile(r"(  # settings: begin\n).*(  # settings: end\n)", re.DOTALL)
_TABLE = re.compile(r"(<!-- values: begin -->\n).*(<!-- values: end -->\n)", re.DOTALL)
_VERSION = re.compile(r"^(version|appVersion): .*$", re.MULTILINE)


def camel(name: str) -> str:
    """
    Return the value's name for a setting: ``settleSeconds`` for ``settle_seconds``.
    """
    first, *others = name.split("_")
    return first + "".join(other.title() for other in others)


def setting_schemas() -> dict[str, dict[str, Any]]:
    """
    The JSON schema of each setting, by the value's name.
    """
    texts = {param.name: getattr(param, "help", None) for param in operator.params}
    made = {}
    for known in fields(Settings):
        if known.name in NOT_A_VALUE:
            continue
        kind = {bool: "boolean", int: "integer", float: "number"}[type(known.default)]
        text = re.sub(r"  \[default: .*\]$", "", texts[known.name] or "")
        schema = {"description": text, "type": [kind, "null"], "default": _plain(known.default)}
        if known.name in BOUNDS:
            schema["minimum"], schema["maximum"] = BOUNDS[known.name]
        made[camel(known.name)] = schema
    return made


def schema() -> str:
    """
    Return ``values.schema.json`` with the settings of today.
    """
    document = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    document["properties"]["settings"] = {
        "type": "object",
        "additionalProperties": False,
        "properties": setting_schemas(),
    }
    return json.dumps(document, indent=2) + "\n"


def values() -> str:
    """
    Return ``values.yaml`` with the settings of today.
    """
    lines = []
    for known in fields(Settings):
        if known.name not in NOT_A_VALUE:
            value = PORTS.get(known.name, "null")
            default = json.dumps(_plain(known.default))
            if known.name == "structural":
                default = "that of rbac.structural"
            lines.append(f"  {camel(known.name)}: {value}  # default: {default}\n")
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    return _SETTINGS.sub(lambda found: found[1] + "".join(lines) + found[2], text)


def readme() -> str:
    """
    Return ``README.md`` with a row for each value.
    """
    shown = yaml.safe_load(values())
    rows = "".join(
        f"| `{'.'.join(path)}` | {_types(schema)} | {_shown(shown, path)} |"
        f" {schema['description']}{_bounds(schema)} |\n"
        for path, schema in leaves(json.loads(schema()))
    )
    table = "| value | type | default | what it does |\n|---|---|---|---|\n" + rows
    text = (CHART / "README.md").read_text(encoding="utf-8")
    return _TABLE.sub(lambda found: found[1] + table + found[2], text)


def leaves(
    schema: dict[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """
    The values that are no groups of others, with their paths.
    """
    for name, below in schema["properties"].items():
        if "properties" in below and "description" not in below:
            yield from leaves(below, (*path, name))
        else:
            yield (*path, name), below


def manifest() -> str:
    """
    Return ``Chart.yaml`` with the version of the package.
    """
    text = (CHART / "Chart.yaml").read_text(encoding="utf-8")
    return _VERSION.sub(rf"\1: {__version__}", text)


def generated() -> dict[Path, str]:
    """
    The files of the chart that are written from elsewhere, wholly or in part.
    """
    return {
        CHART / "Chart.yaml": manifest(),
        CHART / "values.yaml": values(),
        CHART / "values.schema.json": schema(),
        CHART / "README.md": readme(),
        **{
            CHART / "files" / name: (MONITORING / name).read_text(encoding="utf-8")
            for name in COPIED
        },
    }


def write() -> None:
    """
    Write them.
    """
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")


def _plain(default: Any) -> Any:
    return int(default) if isinstance(default, float) and default.is_integer() else default


def _types(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" if value else '`""`' for value in schema["enum"])
    found = schema["type"]
    return found if isinstance(found, str) else found[0]


def _shown(shown: Any, path: tuple[str, ...]) -> str:
    for name in path:
        shown = (shown or {}).get(name)
    text = json.dumps(shown)
    return "see `values.yaml`" if len(text) > 40 else f"`{text}`"


def _bounds(schema: dict[str, Any]) -> str:
    if "default" in schema:
        default = f" The operator's default: {json.dumps(schema['default'])}"
        if "minimum" in schema:
            return f"{default}; between {schema['minimum']:g} and {schema['maximum']:.15g}."
        return f"{default}."
    return ""


if __name__ == "__main__":
    write()
