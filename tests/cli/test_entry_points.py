"""
What every command has in common: errors, tracebacks, entry points, completion.
"""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from espalier import cli
from espalier.cli import main
from espalier.cli.options import reporting
from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.terminal import Terminal
from espalier.errors import SourceError
from tests.cli.golden import check_golden
from tests.cli.manifests import document_in


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@click.command()
@click.argument("what")
@reporting()
def breaking(*, terminal: Terminal, what: str) -> None:
    del terminal
    errors: dict[str, BaseException] = {
        "bug": ZeroDivisionError("x\x1b[2J"),
        "interrupt": KeyboardInterrupt(),
        "source": SourceError("crd.yaml", "cannot be read", 3),
    }
    raise errors[what]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tests.cli.breaking", sys.modules[__name__])
    monkeypatch.setattr(cli, "_COMMANDS", {"breaking": ("tests.cli.breaking", "")})


@pytest.mark.usefixtures("broken")
class TestWhatGoesWrong:
    def test_a_bug_is_one_line_that_says_how_to_see_more(self) -> None:
        result = run("breaking", "bug")

        assert result.stderr == (
            "espalier: internal error: ZeroDivisionError: x\\x1b[2J; please report it with -vv\n"
        )
        assert result.exit_code == Exit.INCOMPLETE

    def test_a_traceback_is_for_those_who_ask_for_it(self) -> None:
        once, twice = run("breaking", "source", "-v"), run("breaking", "source", "-vv")

        assert once.stderr == "espalier: crd.yaml:3: cannot be read\n"
        assert twice.stderr.startswith("Traceback (most recent call last):")
        assert twice.stderr.endswith("\nespalier: crd.yaml:3: cannot be read\n")
        assert once.exit_code == twice.exit_code == Exit.UNREADABLE

    def test_an_interrupt_is_incomplete(self) -> None:
        result = run("breaking", "interrupt")

        assert result.stderr.strip() == "espalier: interrupted"
        assert result.exit_code == Exit.INCOMPLETE


def test_kubectl_finds_it_as_a_plugin() -> None:
    for name in ("espalier", "kubectl-espalier"):
        (script,) = entry_points(group="console_scripts", name=name)
        assert script.load() is main


def test_the_version_is_reported_to_people_and_programs() -> None:
    document = document_in(run("version", "-o", "json").stdout)

    assert document["kind"] == "Version"
    assert run("version").stdout == run("--version").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_a_script_for_the_shell(shell: str) -> None:
    check_golden(f"completion.{shell}.txt", run("completion", shell).stdout)


def test_a_plugin_is_completed_under_its_own_name() -> None:
    result = CliRunner().invoke(main, ["completion", "bash"], prog_name="/bin/kubectl-espalier")

    assert "_KUBECTL_ESPALIER_COMPLETE=bash_complete" in result.stdout


def test_commands_and_options_are_completed() -> None:
    environment = {"COMP_WORDS": "espalier check --prof", "COMP_CWORD": "2"}

    result = CliRunner().invoke(
        main,
        [],
        prog_name="espalier",
        env={**environment, "_ESPALIER_COMPLETE": "bash_complete"},
    )

    assert result.stdout == "plain,--profile\n"


def test_a_reader_that_stops_gets_no_traceback(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / f"{number}.yaml").write_text("kind: Pod\n")

    with subprocess.Popen(  # noqa: S603 - the command line itself
        [sys.executable, "-m", "espalier", "check", "-o", "wide", tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""

    assert process.returncode == Exit.INCOMPLETE
