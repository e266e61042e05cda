"""
``--kubernetes-version`` of ``espalier check`` and ``espalier validate``.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from espalier.cli import main
from espalier.cli.output.exit_codes import Exit
from tests.cli.manifests import RULED

WITH_IP = RULED.replace("self.size < 9 || has(self.mode)", "!has(self.mode) || isIP(self.mode)")
NAMED = RULED.replace("mode: {type: string,", "mode: {type: string, format: k8s-short-name,")
OBJECT = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n"


def run(folder: Path, *arguments: str, **files: str) -> Result:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return CliRunner().invoke(main, [*arguments])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("version", "code"),
    [("1.30", Exit.FINDINGS), ("v1.30.4", Exit.FINDINGS), ("1.31", Exit.CLEAN)],
)
def test_a_function_that_a_server_lacks_is_an_error(folder: Path, version: str, code: Exit) -> None:
    result = run(folder, "check", "--kubernetes-version", version, "crd.yaml", crd=WITH_IP)

    assert result.exit_code == code
    found = "rule: needs 1.31: `isIP`; an older API server refuses the definition" in result.stdout
    assert found is (code is Exit.FINDINGS)


@pytest.mark.parametrize("version", ["1.24", "1.99", "2.0", "x", "1.30-x"])
def test_an_unknown_version_is_a_usage_error(folder: Path, version: str) -> None:
    result = run(folder, "check", "--kubernetes-version", version, "crd.yaml", crd=WITH_IP)

    assert result.exit_code == Exit.USAGE


@pytest.mark.parametrize(("version", "code"), [("1.29", Exit.FINDINGS), ("1.30", Exit.CLEAN)])
def test_old_values_are_tolerated_since_1_30(folder: Path, version: str, code: Exit) -> None:
    options = ("--crd", "crd.yaml", "--update-of", "old.yaml", "--kubernetes-version", version)
    old, new = OBJECT + "spec: {size: 0}\n", OBJECT + "spec: {size: 0, mode: x}\n"

    result = run(folder, "validate", *options, "new.yaml", crd=RULED, old=old, new=new)

    assert result.exit_code == code


@pytest.mark.parametrize(("version", "code"), [("1.34", Exit.CLEAN), ("1.35", Exit.FINDINGS)])
def test_a_format_that_a_server_does_not_know_is_not_checked(
    folder: Path, version: str, code: Exit
) -> None:
    options = ("--crd", "crd.yaml", "--kubernetes-version", version)

    result = run(
        folder, "validate", *options, "a.yaml", crd=NAMED, a=OBJECT + "spec: {mode: A.B}\n"
    )

    assert result.exit_code == code


@pytest.mark.parametrize(("version", "code"), [("1.35", Exit.CLEAN), ("1.36", Exit.FINDINGS)])
@pytest.mark.parametrize(
    ("type_", "value"),
    [("type: integer, format: int32", "2147483648"), ("type: number, format: float", "1.0e39")],
)
def test_ranges_of_numbers_are_checked_since_1_36(
    folder: Path, version: str, code: Exit, type_: str, value: str
) -> None:
    crd = RULED.replace("size: {type: integer", f"size: {{{type_}")
    obj = f"{OBJECT}spec: {{size: {value}, mode: x}}\n"
    assert type_ in crd

    result = run(
        folder,
        "validate",
        "--crd",
        "crd.yaml",
        "--kubernetes-version",
        version,
        "obj.yaml",
        crd=crd,
        obj=obj,
    )

    assert result.exit_code == code, result.output
