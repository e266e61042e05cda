"""
On a terminal: questions are asked, bars move, names stay whole, colours stop where they should.
"""

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from espalier.cli.output import progress_bar
from espalier.cli.output.console import TextConsole
from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.tables import print_result
from espalier.cli.output.terminal import Terminal
from espalier.cli.result import Column, Finding, Level, Result, Subject, Table
from tests.cli.golden import check_golden
from tests.cli.manifests import OBJECTS, WIDGETS
from tests.patience import PACE

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
SUBJECT = Subject(
    name="widgets.example.com", source="crds/widgets.yaml", document=1, line=3, column=7
)
RESULT = Result(
    kind="CheckResult",
    summary="1 definition checked",
    findings=(
        Finding(
            level=Level.ERROR,
            rule="structural/type",
            subject=SUBJECT,
            message="spec.versions[0].schema.openAPIV3Schema.properties[spec].type must be set",
            hint="add `type: object` here",
        ),
        Finding(level=Level.WARNING, rule="lint/x", subject=SUBJECT, message="y" * 1010),
    ),
    tables=(
        Table(
            columns=[Column(title="DEFINITION"), Column(title="CURRENT"), Column(title="MESSAGE")],
            rows=[
                ["widgets.example.com", "False Failed", "3 objects could not be rewritten: " * 3],
                ["a-definition-with-a-long-name.example.com", "True Verified", "all is well"],
            ],
        ),
    ),
)


def answered(answer: str, folder: Path) -> tuple[int, str]:
    """
    Run a command that asks, on a terminal of its own.
    """
    master, slave = pty.openpty()
    os.write(master, answer.encode())
    command = ["prune", "--crd", "crd.yaml", "--in-place", "objects.yaml"]
    result = subprocess.run(  # noqa: S603 - the command line itself
        [sys.executable, "-m", "espalier", *command],
        cwd=folder,
        stdin=slave,
        capture_output=True,
        text=True,
        check=False,
        timeout=PACE.scaled(60),
    )
    os.close(master)
    os.close(slave)
    return result.returncode, result.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "crd.yaml").write_text(WIDGETS)
    (tmp_path / "objects.yaml").write_text(OBJECTS)
    return tmp_path


def test_a_yes_writes(folder: Path) -> None:
    code, stderr = answered("y\n", folder)

    assert stderr.endswith("Write them? [y/N]: ")
    assert code == Exit.CLEAN
    assert "colour" not in (folder / "objects.yaml").read_text()


@pytest.mark.parametrize("answer", ["n\n", "\n"])
def test_anything_else_does_not(folder: Path, answer: str) -> None:
    code, stderr = answered(answer, folder)

    assert code == Exit.INCOMPLETE
    assert stderr.splitlines()[-1].endswith("espalier: not confirmed; nothing was done")
    assert (folder / "objects.yaml").read_text() == OBJECTS


@pytest.mark.parametrize("width", [80, 140])
def test_a_result_is_as_it_was_looked_at(width: int) -> None:
    for name in ("colour", "plain"):
        stream = io.StringIO()
        console = TextConsole(stream=stream, width=width, is_coloured=name == "colour")
        print_result(console, RESULT, is_wide=False, is_quiet=False)
        check_golden(f"terminal.{width}.{name}.txt", stream.getvalue())
        assert ("\x1b[" in stream.getvalue()) is (name == "colour")
        assert "a-definition-with-a-long-name" in _ESCAPE.sub("", stream.getvalue())


def test_a_bar_is_on_standard_error_and_only_where_it_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    told = {}
    for patience_seconds in (60.0, -1.0):
        monkeypatch.setattr(progress_bar, "_BAR_DELAY_SECONDS", patience_seconds)
        with Terminal().progress("checking") as advance:
            advance(0, total=2)
            advance(2, text="wid\x1bgets")
        told[patience_seconds] = capsys.readouterr()

    assert told[60.0] == ("", "")
    assert told[-1.0].out == ""
    text = _ESCAPE.sub("", told[-1.0].err)
    assert "wid\\x1bgets" in text
    assert "2/2" in text


def test_quiet_has_no_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(progress_bar, "_BAR_DELAY_SECONDS", -1.0)

    with Terminal(is_quiet=True).progress("checking") as advance:
        advance(1, total=2)

    assert capsys.readouterr() == ("", "")
