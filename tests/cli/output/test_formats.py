"""
One result in all formats: golden outputs, and what readers of each format make of them.
"""

import itertools
import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result
from junitparser import Error, Failure, JUnitXml, Skipped
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Sarif

from espalier import cli
from espalier.cli import main
from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.formats import ALL, Options, render
from espalier.cli.output.terminal import exit_of_result
from espalier.cli.result import Column, Finding, Level, Problem, Subject, Table
from espalier.cli.result import Result as Told
from tests.cli.golden import check_golden
from tests.cli.manifests import DOUBTFUL, NOT_STRUCTURAL, STRUCTURAL, document_in

FINDING = Finding(
    level=Level.ERROR,
    rule="structural/type",
    subject=Subject(name="a.b", source="crds/a b,c:d.yaml", document=1, line=3, column=7),
    message="50% of\nit | is <wrong>\x1b[31m",
    path="spec.x",
    hint="mend it",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "bad.yaml").write_text(NOT_STRUCTURAL)
    (tmp_path / "crds" / "doubtful.yaml").write_text(DOUBTFUL)
    (tmp_path / "crds" / "good.yaml").write_text(STRUCTURAL)
    (tmp_path / "crds" / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\n")
    return tmp_path


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(main, arguments, env=environment)


@pytest.mark.parametrize("name", ALL)
def test_each_format_is_as_it_was_looked_at(folder: Path, name: str) -> None:
    del folder

    result = run("check", "crds", "missing.yaml", "-o", name)

    check_golden(f"check.{name}.txt", result.stdout)
    assert result.stderr == "espalier: missing.yaml: cannot be read: No such file or directory\n"
    assert result.exit_code == Exit.UNREADABLE


def test_json_and_yaml_are_the_same_document_of_the_published_shape(folder: Path) -> None:
    del folder

    document = document_in(run("check", "crds", "-o", "json").stdout)

    assert yaml.safe_load(run("check", "crds", "-o", "yaml").stdout) == document
    assert document["apiVersion"] == "cli.espalier.dev/v1alpha1"
    assert document["counts"] == {
        "definitions": 3,
        "structural": 2,
        "refused": 1,
        "profilesDiffer": 0,
        "errors": 2,
        "warnings": 1,
        "notes": 0,
    }


def test_the_published_schema_is_one_and_refuses_other_shapes() -> None:
    schema = json.loads(Path(cli.__file__).with_name("result.schema.json").read_text())

    jsonschema.Draft202012Validator.check_schema(schema)
    with pytest.raises(jsonschema.ValidationError):
        document_in('{"apiVersion": "cli.espalier.dev/v1alpha1", "kind": "CheckResult"}')


def test_sarif_is_of_the_standard(folder: Path) -> None:
    del folder

    log = json.loads(run("check", "crds", "missing.yaml", "-o", "sarif").stdout)

    # Generated from the standard's own JSON schema; it refuses fields that are not there.
    Sarif.model_validate(log)
    (told,) = log["runs"]
    places = [
        place["physicalLocation"]
        for result in told["results"]
        for place in result["locations"]
        if result["level"] == "error"
    ]
    assert places[0] == {
        "artifactLocation": {"uri": "crds/bad.yaml"},
        "region": {"startLine": 17, "startColumn": 13},
    }
    assert told["invocations"][0]["executionSuccessful"] is False
    assert {rule["id"] for rule in told["tool"]["driver"]["rules"]} == {
        result["ruleId"] for result in told["results"]
    }


def test_names_that_are_no_uris_are_quoted_in_sarif() -> None:
    told = Told(
        kind="CheckResult",
        summary="",
        findings=(FINDING,),
        problems=(Problem(source="-", message="x"), Problem(source="a b", message="y", line=2)),
    )
    log = json.loads(render(told, "sarif", Options()))

    Sarif.model_validate(log)
    (place,) = log["runs"][0]["results"][0]["locations"]
    assert place["physicalLocation"]["artifactLocation"] == {"uri": "crds/a%20b%2Cc%3Ad.yaml"}


def test_junit_opens_in_a_common_reader(folder: Path) -> None:
    del folder

    output = run("check", "crds", "missing.yaml", "-o", "junit").stdout
    report = JUnitXml.fromstring(output.encode())

    results = {
        case.classname: [type(result) for result in case.result]
        for suite in report
        for case in suite
    }
    assert results == {
        "crds/bad.yaml": [Failure, Failure],
        "crds/doubtful.yaml": [],
        "crds/good.yaml": [],
        "crds/pod.yaml:1:1": [Skipped],
        "missing.yaml": [Error],
    }
    assert (report.tests, report.failures, report.errors, report.skipped) == (5, 1, 1, 1)


def test_warnings_fail_junit_cases_only_if_they_are_to_fail(folder: Path) -> None:
    del folder

    output = run("check", "crds/doubtful.yaml", "-o", "junit", "--fail-on", "warning").stdout

    assert JUnitXml.fromstring(output.encode()).failures == 1


def test_no_character_breaks_xml() -> None:
    told = Told(kind="CheckResult", summary="", findings=(FINDING,))

    (suite,) = JUnitXml.fromstring(render(told, "junit", Options()).encode())

    assert "is <wrong>\ufffd[31m" in str(next(iter(suite)).result[0].text)


def test_annotations_are_one_line_whatever_is_in_them() -> None:
    told = Told(
        kind="CheckResult",
        summary="",
        findings=(FINDING,),
        problems=(Problem(source="-", message="unreadable"),),
    )

    assert render(told, "github", Options()).splitlines() == [
        (
            "::error file=crds/a b%2Cc%3Ad.yaml,line=3,col=7,title=structural/type"
            "::a.b: 50%25 of%0Ait | is <wrong>\x1b[31m%0Afix: mend it"
        ),
        "::error::unreadable",
    ]


def test_markdown_cells_hold_what_would_end_them() -> None:
    table = Table(columns=[Column(title="A")], rows=[["x|y"]], title="T")
    told = Told(kind="CheckResult", summary="s", findings=(FINDING,), tables=(table,))

    text = render(told, "markdown", Options())

    assert "50% of it \\| is \\<wrong\\>" in text
    assert "**T**\n\n| A |\n|---|\n| x\\|y |\n" in text


def test_a_name_cannot_steer_the_terminal(folder: Path) -> None:
    text = NOT_STRUCTURAL.replace("widgets.example.com", '"wid\\e[2Jgets"')
    (folder / "crd.yaml").write_text(text)

    result = run("check", "crd.yaml", "-o", "wide")

    assert "\x1b" not in result.output
    assert "wid\\x1b[2Jgets" in result.output


@pytest.mark.parametrize(
    ("arguments", "environment", "is_coloured"),
    [
        ([], {"FORCE_COLOR": "1"}, True),
        (["--no-color"], {"FORCE_COLOR": "1"}, False),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ([], {}, False),
    ],
)
def test_colours_are_for_those_who_want_them(
    folder: Path, arguments: list[str], environment: dict[str, str], *, is_coloured: bool
) -> None:
    del folder
    clean = {"NO_COLOR": "", "FORCE_COLOR": "", "TERM": "xterm-256color"}

    result = run("check", "crds", *arguments, **(clean | environment))

    assert ("\x1b[" in result.stdout) is is_coloured


def test_quiet_shows_findings_only(folder: Path) -> None:
    del folder

    lines = run("check", "crds", "--quiet").stdout.splitlines()

    assert len(lines) == 3
    assert all(": error: " in line or ": warning: " in line for line in lines)


def test_a_warning_that_comes_again_and_again_is_cut_short(folder: Path) -> None:
    many = "".join(f"                f{n}: {{type: string, default: a}}\n" for n in range(10))
    text = STRUCTURAL + "              properties:\n" + many
    (folder / "crd.yaml").write_text(text)

    short, wide = run("check", "crd.yaml"), run("check", "crd.yaml", "-o", "wide")

    assert short.stdout.count("warning:") == 3
    assert "widgets.example.com: 7 more of lint/nested-default; -o wide shows" in short.stdout
    assert wide.stdout.count("warning:") == 10
    assert short.exit_code == wide.exit_code == 0


def test_exit_codes_are_the_worst_that_happened() -> None:
    warning = Finding(level=Level.WARNING, rule="a/b", subject=Subject(name="x"), message="")
    note = Finding(level=Level.NOTE, rule="a/b", subject=Subject(name="x"), message="")
    problem = (Problem(source="x", message="y"),)
    told: dict[tuple[bool, bool, bool], set[tuple[Exit, Exit]]] = {}
    for errs, is_incomplete, is_unread in itertools.product((False, True), repeat=3):
        result = Told(
            kind="CheckResult",
            summary="",
            findings=(warning, note, *((FINDING,) if errs else ())),
            is_incomplete=is_incomplete,
            problems=problem if is_unread else (),
        )
        codes = [exit_of_result(result, fail_on=level) for level in (Level.ERROR, Level.WARNING)]
        told[errs, is_incomplete, is_unread] = {(codes[0], codes[1])}

    assert told[False, False, False] == {(Exit.CLEAN, Exit.FINDINGS)}
    assert told[True, False, False] == {(Exit.FINDINGS, Exit.FINDINGS)}
    assert told[True, True, False] == {(Exit.INCOMPLETE, Exit.INCOMPLETE)}
    assert told[True, True, True] == {(Exit.UNREADABLE, Exit.UNREADABLE)}
    assert told[False, False, True] == {(Exit.UNREADABLE, Exit.UNREADABLE)}
