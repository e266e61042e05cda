"""
What users of kubectl type is understood.
"""

import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from espalier.cli import complete_for_kubectl, main
from espalier.cli.arguments import as_meant
from espalier.cli.output.exit_codes import Exit
from tests.cli.clusters import site
from tests.cli.manifests import STRUCTURAL, WIDGETS, document_in

NAME = "widgets.example.com"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("version -o=json", "version -o json"),
        ("survey -n=blue -o=json", "survey -n blue -o json"),
        ("survey --namespace=blue", "survey --namespace=blue"),
        ("help", "--help"),
        ("help archive list", "archive list --help"),
        ("--context a --kubeconfig=b survey x", "survey x --context a --kubeconfig=b"),
        ("-n blue survey", "survey -n blue"),
        ("--context a archive list -- -x", "archive list --context a -- -x"),
        ("--context a", "--context a"),
        ("--version", "--version"),
        ("check -f crd.yaml", "check crd.yaml"),
        ("validate --crd a --filename=b", "validate --crd a b"),
        ("plan -f crd.yaml", "plan -f crd.yaml"),
        ("--as=a --as-group b survey", "survey --as=a --as-group b"),
        ("--request-timeout 5s status", "status --request-timeout 5s"),
        ("archive --context a list x", "archive list x --context a"),
        ("check crd/widgets.yaml", "check crd/widgets.yaml"),
        ("restore x --archive-folder crd/x", "restore x --archive-folder crd/x"),
        ("check -- -o=json", "check -- -o=json"),
        ("", ""),
    ],
)
def test_what_is_typed_is_read_as_it_is_meant(typed: str, meant: str) -> None:
    assert as_meant(typed.split()) == meant.split()


def test_a_format_may_follow_an_equals_sign(tmp_path: Path) -> None:
    (tmp_path / "crd.yaml").write_text(STRUCTURAL)

    result = run("check", "-o=json", "-f", str(tmp_path / "crd.yaml"))

    assert document_in(result.stdout)["kind"] == "CheckResult"
    assert result.exit_code == Exit.CLEAN


def test_help_is_a_command() -> None:
    assert run("help", "check").stdout == run("check", "--help").stdout
    assert run("help").stdout == run("--help").stdout


async def test_a_definition_may_be_named_as_for_kubectl() -> None:
    async with site(WIDGETS) as cluster:
        after = await cluster.run("status", f"crd/{NAME}", "-o", "json")

    assert document_in(after.stdout)["kind"] == "StatusList"


def test_kubectl_completes_the_plugin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (script,) = entry_points(group="console_scripts", name="kubectl_complete-espalier")
    assert script.load() is complete_for_kubectl
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-espalier", "check", "--update"])

    complete_for_kubectl()

    text = "Check each as an update of the definition of the same name in this file or folder."
    # The last line is cobra's directive: no files are offered beside these.
    assert capsys.readouterr().out == f"--update-of\t{text}\n:4\n"
