"""
``espalier plan`` and ``survey`` name objects near what etcd takes in one request.
"""

from pathlib import Path

import pytest

from espalier.cli.output.exit_codes import Exit
from espalier.engine.surveys.size import MAX_REQUEST_BYTES
from tests.cli.clusters import site, widget
from tests.cli.manifests import WIDGETS, items_in

MOST = f"{MAX_REQUEST_BYTES:,} bytes that etcd takes in one request by default"


def with_default(size: int) -> str:
    return f"{WIDGETS}                more: {{type: string, default: {'y' * size}}}\n"


def sized(name: str, size: int, char: str = "x") -> str:
    return widget(name, f"{{open: {{text: {char * size}}}}}")


@pytest.mark.parametrize(
    ("growth", "expected", "exit_code"),
    [
        (100_000, [], Exit.CLEAN),
        (500_000, [("warning", "near to")], Exit.CLEAN),
        (800_000, [("error", "larger than")], Exit.FINDINGS),
    ],
)
async def test_a_plan_names_what_new_defaults_make_too_large(
    tmp_path: Path, growth: int, expected: list[tuple[str, str]], exit_code: Exit
) -> None:
    file = tmp_path / "new.yaml"
    file.write_text(with_default(growth))
    async with site(WIDGETS, [sized("small", 10), sized("big", 800_000)]) as cluster:
        result = await cluster.run("plan", "-f", str(file))
        document = await cluster.run("plan", "-f", str(file), "-o", "json")

    lines = [line for line in result.stdout.splitlines() if "etcd" in line]
    assert len(lines) == len(expected)
    for line, (level, words) in zip(lines, expected, strict=True):
        text = f"with the new defaults it is {words} the {MOST} (1 object: default/big)"
        assert line.startswith(f"{level}: widgets.example.com: {text}; the largest is default/big")
    (item,) = items_in(document.stdout)
    assert item["large"]["objects"] == len(expected)
    assert (item["largestBytes"] > 800_000 + growth) is bool(expected)
    assert result.exit_code == exit_code


async def test_what_is_large_today_is_news_to_no_plan(tmp_path: Path) -> None:
    file = tmp_path / "new.yaml"
    file.write_text(with_default(10))
    # The server stores each of these characters as six.
    async with site(WIDGETS, [sized("big", 220_000, "<")]) as cluster:
        plan = await cluster.run("plan", "-f", str(file))
        survey = await cluster.run("survey")

    assert "etcd" not in plan.stdout
    assert f"it is near to the {MOST} (1 object: default/big)" in survey.stdout
    assert plan.exit_code == survey.exit_code == Exit.CLEAN
