"""
``espalier validate``: violations with places, and what is not known is never valid.
"""

import sys
from collections import Counter
from pathlib import Path
from types import FrameType

import pytest
from click.testing import CliRunner, Result

from espalier.cli import main
from espalier.cli.checks import object as validity
from espalier.cli.checks.object import ObjectStatus
from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.formats import ALL
from espalier.schema import NO_JUDGE
from tests.cli.clusters import site
from tests.cli.golden import check_golden
from tests.cli.manifests import INVALID, NOT_STRUCTURAL, RULED, STRUCTURAL, WIDGETS, document_in

COMPILERS = {
    "espalier.schema.parsing.parse",
    "espalier.schema.structural.invariants.check_structural",
    "espalier.schema.normalization.compiler.compiled",
    "espalier.schema.prefilter.json_schema.translate",
    "espalier.schema.rules.compilation.compile_rules",
    "espalier.schema.validation.dispatch.plans_of",
}
STATUS = WIDGETS + (
    "            status: {type: object, properties: {ready: {type: boolean}}}\n"
    "      subresources: {status: {}}\n"
)
GOOD = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: good}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crd.yaml").write_text(WIDGETS)
    (tmp_path / "ruled.yaml").write_text(RULED)
    (tmp_path / "invalid.yaml").write_text(INVALID)
    (tmp_path / "good.yaml").write_text(GOOD)
    return tmp_path


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["validate", *arguments], input=stdin)


def compilations(text: str, *arguments: str) -> Counter[str]:
    """
    Count the calls of everything that reads or compiles a schema while a text is validated.
    """
    counted: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        place = f"{frame.f_globals.get('__name__')}.{frame.f_code.co_name}"
        if event == "call" and place in COMPILERS:
            counted[place] += 1

    sys.setprofile(count)
    try:
        result = run("--crd", "ruled.yaml", *arguments, "-", stdin=text)
    finally:
        sys.setprofile(None)
    assert result.exit_code == Exit.FINDINGS, result.output
    return counted


def statuses(result: Result) -> list[str]:
    items = document_in(result.stdout)["items"]
    assert isinstance(items, list)
    return [str(item["status"]) for item in items if isinstance(item, dict)]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ALL)
def test_each_format_is_as_it_was_looked_at(name: str) -> None:
    result = run("--crd", "crd.yaml", "-o", name, "invalid.yaml", "good.yaml")

    check_golden(f"validate.{name}.txt", result.stdout)
    assert result.exit_code == Exit.INCOMPLETE


@pytest.mark.usefixtures("folder")
def test_the_proposals_messages_are_available() -> None:
    result = run("--crd", "crd.yaml", "--profile", "kep", "invalid.yaml")

    text = "Widget Blue_: spec.size in body should be greater than or equal to 1\n"
    assert f"invalid.yaml:5:3: error: {text}" in result.stdout


@pytest.mark.usefixtures("folder")
def test_valid_objects_are_clean() -> None:
    result = run("--crd", "crd.yaml", "good.yaml")

    assert result.stdout == "1 object: 1 valid\n"
    assert result.exit_code == Exit.CLEAN


@pytest.mark.usefixtures("folder")
def test_violations_alone_are_findings() -> None:
    text = GOOD + "spec: {size: 0}\n"

    assert run("--crd", "crd.yaml", "-", stdin=text).exit_code == Exit.FINDINGS


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("mode", "fail_on", "code"),
    [
        ("strict", "error", Exit.FINDINGS),
        ("warn", "error", Exit.CLEAN),
        ("warn", "warning", Exit.FINDINGS),
        ("ignore", "warning", Exit.CLEAN),
    ],
)
@pytest.mark.parametrize("member", ["colour: red\n", "spec: {size: 1, size: 2}\n"])
def test_unknown_and_duplicate_fields_are_what_the_field_validation_makes_of_them(
    member: str, mode: str, fail_on: str, code: Exit
) -> None:
    options = ["--field-validation", mode, "--fail-on", fail_on]

    assert run("--crd", "crd.yaml", *options, "-", stdin=GOOD + member).exit_code == code


@pytest.mark.usefixtures("folder")
def test_field_validation_is_strict_as_kubectls() -> None:
    result = run("--crd", "crd.yaml", "-", stdin=GOOD + "colour: red\n")

    text = "colour: unknown field: an API server refuses it"
    assert result.stdout.startswith(f"-:4:1: error: Widget good: {text}\n")
    assert result.exit_code == Exit.FINDINGS


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "where"),
    [
        (GOOD + "spec:\n  size: 1\n  mode: a\n  size: 2\n", "-:7:3"),
        (
            """{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "good"},
"spec": {"size": {"x": [1]},\n"mode": "a",\n"size": 2}}""",
            "-:4:1",
        ),
    ],
)
def test_a_duplicate_field_is_shown_at_its_last_place(text: str, where: str) -> None:
    result = run("--crd", "crd.yaml", "-", stdin=text)

    message = "spec.size: duplicate field: an API server refuses it"
    assert result.stdout.splitlines()[0] == f"{where}: error: Widget good: {message}"


@pytest.mark.usefixtures("folder")
def test_the_last_of_duplicate_fields_counts() -> None:
    text = GOOD + "spec: {size: 1, size: 0}\n"

    result = run("--crd", "crd.yaml", "--field-validation", "ignore", "-", stdin=text)

    assert "spec.size: Invalid value: 0" in result.stdout


@pytest.mark.usefixtures("folder")
def test_rules_are_evaluated() -> None:
    text = GOOD + "spec: {size: 9}\n"

    result = run("--crd", "ruled.yaml", "-", stdin=text)

    assert "-:4:1: error: Widget good: spec: Invalid value: " in result.stdout
    assert result.stdout.splitlines()[0].endswith(": large ones need a mode")
    assert result.exit_code == Exit.FINDINGS


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("old", [(), ("--update-of", "good.yaml")], ids=["create", "update"])
def test_a_schema_is_compiled_once_for_all_objects(old: tuple[str, ...]) -> None:
    text = GOOD + "spec: {size: 9, mode: 7}\n---\n"

    compiled = compilations(text * 30, *old)

    assert compiled == compilations(text * 60, *old)
    assert compiled["espalier.schema.parsing.parse"] == 1
    assert compiled["espalier.schema.rules.compilation.compile_rules"] == 1


@pytest.mark.usefixtures("folder")
def test_rules_that_are_not_evaluated_leave_an_object_unchecked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(validity, "_RULES", NO_JUDGE)

    strict = run("--crd", "ruled.yaml", "-o", "json", "good.yaml")
    lenient = run("--crd", "ruled.yaml", "--allow-unchecked", "good.yaml")

    assert statuses(strict) == [ObjectStatus.NOT_CHECKED]
    assert strict.exit_code == Exit.INCOMPLETE
    assert "1 object: 1 not fully checked\n" in lenient.stdout
    assert lenient.exit_code == Exit.CLEAN


def test_a_missing_schema_is_a_status_of_its_own(folder: Path) -> None:
    (folder / "bare.yaml").write_text(STRUCTURAL.partition("      schema:")[0])
    (folder / "bad.yaml").write_text(NOT_STRUCTURAL)
    other = GOOD.replace("Widget", "Gadget")

    without = run("--crd", "bare.yaml", "-o", "json", "good.yaml")
    unfit = run("--crd", "bad.yaml", "-o", "json", "good.yaml")
    unknown = run("--crd", "crd.yaml", "-", stdin=other)
    lenient = run("--crd", "crd.yaml", "--allow-unchecked", "-", stdin=other)

    assert statuses(without) == statuses(unfit) == [ObjectStatus.NO_SCHEMA]
    assert without.exit_code == unfit.exit_code == unknown.exit_code == Exit.INCOMPLETE
    assert "there is no schema for it\n" in unknown.stdout
    assert lenient.exit_code == Exit.CLEAN


def test_a_version_that_is_not_served_takes_nothing(folder: Path) -> None:
    (folder / "unserved.yaml").write_text(WIDGETS.replace("served: true", "served: false"))
    text = "an API server refuses it (404): widgets.example.com serves only"

    missing = run("--crd", "crd.yaml", "-", stdin=GOOD.replace("v1", "v3"))
    unserved = run("--crd", "unserved.yaml", "good.yaml")

    assert f"{text} v1\n" in missing.stdout
    assert f"{text} no version\n" in unserved.stdout
    assert missing.exit_code == unserved.exit_code == Exit.FINDINGS


def test_the_status_of_a_new_object_is_not_validated(folder: Path) -> None:
    (folder / "crd.yaml").write_text(STATUS)
    text = GOOD + "status: {ready: maybe}\n"

    created = run("--crd", "crd.yaml", "-", stdin=text)
    written = run("--crd", "crd.yaml", "--subresource", "status", "-", stdin=text)

    dropped = "status: not stored: on create, an API server drops the status; see --subresource\n"
    assert created.stdout == f"-:4:1: note: Widget good: {dropped}1 object: 1 valid\n"
    assert "error: Widget good: status.ready: Invalid value" in written.stdout
    assert written.exit_code == Exit.FINDINGS


def test_a_status_can_be_required_of_new_objects(folder: Path) -> None:
    needed = STATUS.replace(
        "          type: object\n", "          type: object\n          required: [status]\n", 1
    )
    (folder / "crd.yaml").write_text(needed)

    result = run("--crd", "crd.yaml", "-", stdin=GOOD + "status: {ready: true}\n")

    assert "error: Widget good: status: Required value\n" in result.stdout


@pytest.mark.usefixtures("folder")
def test_a_version_without_the_subresource_takes_no_status() -> None:
    result = run("--crd", "crd.yaml", "--subresource", "status", "good.yaml")

    assert "(404): v1 of widgets.example.com has no status subresource\n" in result.stdout
    assert result.exit_code == Exit.FINDINGS


def test_the_namespace_of_a_cluster_scoped_object_is_cleared(folder: Path) -> None:
    (folder / "crd.yaml").write_text(WIDGETS.replace("Namespaced", "Cluster"))
    text = GOOD.replace("name: good", "name: good, namespace: x")

    result = run("--crd", "crd.yaml", "-", stdin=text)

    assert "note: Widget x/good: metadata.namespace: not stored" in result.stdout
    assert result.exit_code == Exit.CLEAN


def test_an_update_is_forgiven_what_was_wrong_before(folder: Path) -> None:
    (folder / "before.yaml").write_text(GOOD + "spec: {size: 0}\n")
    (folder / "after.yaml").write_text(GOOD + "spec: {size: 0, mode: fast}\n")

    assert run("--crd", "crd.yaml", "after.yaml").exit_code == Exit.FINDINGS
    result = run("--crd", "crd.yaml", "--update-of", "before.yaml", "after.yaml")
    assert result.stdout == "1 object: 1 valid\n"


@pytest.mark.usefixtures("folder")
def test_what_cannot_be_decoded_is_invalid() -> None:
    text = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: 7}\n"

    result = run("--crd", "crd.yaml", "-o", "json", "-", stdin=text)

    assert statuses(result) == [ObjectStatus.INVALID]


@pytest.mark.usefixtures("folder")
async def test_the_definitions_of_a_cluster_will_do() -> None:
    async with site(WIDGETS) as cluster:
        result = await cluster.run("validate", "--cluster", "good.yaml", "invalid.yaml")

    assert result.stdout.endswith("4 objects: 2 valid, 1 invalid, 1 without a schema\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--crd", "crd.yaml", "--update-of", "good.yaml", "--profile", "kep", "good.yaml"],
        ["--crd", "crd.yaml", "--subresource", "status", "--profile", "kep", "good.yaml"],
        ["good.yaml"],
        ["--crd", "-", "-"],
        ["--crd", "crd.yaml", "--update-of", "-", "-"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("folder")
def test_senseless_command_lines_are_usage_errors(arguments: list[str]) -> None:
    assert run(*arguments).exit_code == Exit.USAGE
