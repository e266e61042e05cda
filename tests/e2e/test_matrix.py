"""
The table of versions in the README is written by the runs; these tests need no server.
"""

from pathlib import Path

import pytest

from tests.docs.reading import ROOT
from tests.e2e.controlplane import assets
from tests.e2e.matrix import pythons
from tests.e2e.matrix.table import BEGIN, END, Row, rows_in, with_rows

OLD = Row("Python 3.12.1", "unit", "9 passed", "2026-01-02")
README = f"# Title\n\n{BEGIN}{END}\nmore\n"


def test_a_row_replaces_that_of_the_same_minor_version() -> None:
    newer = Row("Python 3.12.7", "unit", "2 failed, 8 passed", "2026-02-03", is_passed=False)
    other = Row("Kubernetes 1.34.4", "e2e", "7 passed; chaos passed", "2026-02-03")

    text = with_rows(with_rows(README, [OLD]), [newer, other])

    assert [row[:4] for row in rows_in(text)] == [other[:4], newer[:4]]
    assert text.startswith("# Title\n\n")
    assert text.endswith("\nmore\n")


def test_the_readme_names_only_releases_that_can_be_run() -> None:
    releases = {f"Kubernetes {name}" for name in assets.older_releases()}
    newest = assets.version().removeprefix("v")
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    known = (*releases, f"Kubernetes {newest}", "Python")

    assert (text.count(BEGIN), text.count(END)) == (1, 1)
    assert [row.name for row in rows_in(text) if not row.name.startswith(known)] == []


def test_an_interpreter_is_taken_from_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pythons.find("3.0") is None

    program = tmp_path / "python3.0"
    program.touch(mode=0o755)

    assert pythons.find("3.0") == str(program)


def test_each_file_of_modules_is_of_its_release() -> None:
    releases = assets.older_releases()

    assert releases
    for name, modules in releases.items():
        assert assets.version(modules).startswith(f"v{name}.")
