"""
Nothing asks an index for Espalier by its name alone, since there it is the name of another project.
"""

import re
from pathlib import Path

import pytest

from tests.docs.reading import PAGES, ROOT

SHOWN = [
    *PAGES,
    ROOT / "action.yml",
    ROOT / "Dockerfile",
    *sorted(path for path in (ROOT / "ci").rglob("*") if path.is_file()),
    *sorted(path for path in (ROOT / "manifests").rglob("*") if path.is_file()),
]
_BY_NAME = re.compile(
    r"\b(?:pip|pipx|uv|tool) (?:install|run|add)(?: -\S+)* '?\"?espalier\b(?! @)"
    r"|\buvx (?:--from )?'?\"?espalier\b(?! @)"
    r"|\bespalier=="
)


def by_name(text: str) -> list[str]:
    return [found[0] for found in _BY_NAME.finditer(text)]


def test_an_installation_by_name_is_recognized() -> None:
    for text in ("pip install --upgrade espalier", 'uvx --from "espalier==1"', "uvx espalier"):
        assert by_name(text)
    for text in ('pip install "espalier @ https://a/b.whl"', "pip install .", "espalier check"):
        assert not by_name(text)


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_it_is_installed_from_its_own_address(path: Path) -> None:
    assert by_name(path.read_text(encoding="utf-8")) == []
