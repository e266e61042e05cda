"""
``espalier check --update-of``: changes that stored objects or clients notice, and their policy.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

from espalier.cli import main
from espalier.cli.output.exit_codes import Exit
from tests.cli.manifests import WIDGETS, document_in

CHANGED = WIDGETS.replace("minimum: 1", "minimum: 2").replace("default: 3", "default: 4")


@pytest.mark.parametrize(
    ("policy", "levels", "code"),
    [
        (None, ["error", "warning"], Exit.FINDINGS),
        ("changes: {bound-narrowed: warning}\n", ["warning", "warning"], Exit.CLEAN),
        ("changes: {bound-narrowed: allowed, default-changed: error}\n", ["error"], Exit.FINDINGS),
        ("changes: {'*': allowed, default-changed: warning}\n", ["warning"], Exit.CLEAN),
    ],
)
def test_changes_are_what_the_policy_makes_of_them(
    tmp_path: Path, policy: str | None, levels: list[str], code: Exit
) -> None:
    (tmp_path / "old.yaml").write_text(WIDGETS)
    (tmp_path / "new.yaml").write_text(CHANGED)
    arguments = ["check", "--update-of", str(tmp_path / "old.yaml"), "-o", "json"]
    if policy is not None:
        (tmp_path / "policy.yaml").write_text(policy)
        arguments += ["--change-policy", str(tmp_path / "policy.yaml")]

    result = CliRunner().invoke(main, [*arguments, str(tmp_path / "new.yaml")])

    findings = document_in(result.stdout)["findings"]
    assert isinstance(findings, list)
    changed = [one for one in findings if isinstance(one, dict)]
    changed = [one for one in changed if str(one["rule"]).startswith("change/")]
    assert [one["level"] for one in changed] == levels
    assert {one["line"] for one in changed} == {CHANGED[: CHANGED.index("size:")].count("\n") + 1}
    assert result.exit_code == code


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            "changes:\n enum-add: error\n",
            "policy.yaml:2: unknown kind of change 'enum-add'",
        ),
        ("changes: {enum-added: fatal}\n", "policy.yaml: 'fatal' is no severity: use error"),
        ("bound-narrowed: error\n", "policy.yaml: not a policy of changes, such as: changes: {"),
    ],
)
def test_a_policy_that_cannot_be_read_is_a_problem(
    tmp_path: Path, policy: str, message: str
) -> None:
    (tmp_path / "crd.yaml").write_text(WIDGETS)
    (tmp_path / "policy.yaml").write_text(policy)
    crd = str(tmp_path / "crd.yaml")

    result = CliRunner().invoke(
        main, ["check", "--update-of", crd, "--change-policy", str(tmp_path / "policy.yaml"), crd]
    )

    assert message in result.stderr
    assert result.exit_code == Exit.UNREADABLE


def test_a_policy_is_for_updates(tmp_path: Path) -> None:
    (tmp_path / "crd.yaml").write_text(WIDGETS)
    crd = str(tmp_path / "crd.yaml")

    assert CliRunner().invoke(main, ["check", "--change-policy", crd, crd]).exit_code == Exit.USAGE
