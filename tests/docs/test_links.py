"""
Every link and every module that the documentation names leads somewhere, and every page is linked.
"""

import importlib
import re
from pathlib import Path

import pytest

from espalier.cluster.transport.client import SERVER_TEXT_LOGGER
from tests.docs.reading import PAGES, ROOT, links, text_of

PACKAGE = ROOT / "operator" / "espalier"
DOCS = ROOT / "docs"
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_NEVER = "operator/__init__.py"  # it is named because it must not exist
_MODULE = re.compile(r"`espalier((?:\.\w+)+)`")
_FILE = re.compile(r"`([\w./-]+/[\w.-]+\.(?:py|json|yaml))`")


def ident(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """
    The anchors of a page's headings, as GitHub makes them.
    """
    headings = _HEADING.findall(text_of(page))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=ident)
def test_links_lead_somewhere(page: Path) -> None:
    for target, _, anchor in (link.partition("#") for link in links(page)):
        found = page.parent / target if target else page
        assert found.exists(), target
        if anchor:
            assert anchor in anchors(found), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=ident)
def test_files_that_are_named_exist(page: Path) -> None:
    for name in _FILE.findall(text_of(page)):
        assert name == _NEVER or any((root / name).exists() for root in (ROOT, PACKAGE)), name


@pytest.mark.parametrize("page", PAGES, ids=ident)
def test_modules_that_are_named_exist(page: Path) -> None:
    for name in _MODULE.findall(text_of(page)):
        if f"espalier{name}" == SERVER_TEXT_LOGGER:
            continue
        *parents, last = name.strip(".").split(".")
        folder = PACKAGE.joinpath(*parents)
        if not ((folder / last).is_dir() or folder.joinpath(f"{last}.py").is_file()):
            # Not a module, so a name in the module above it.
            assert hasattr(importlib.import_module(".".join(["espalier", *parents])), last), name


def test_every_page_can_be_reached_from_the_first_one() -> None:
    reached, left = set[Path](), [DOCS / "README.md"]
    while left:
        page = left.pop().resolve()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            left += [page.parent / link.partition("#")[0] for link in links(page)]

    assert [ident(page) for page in sorted(DOCS.rglob("*.md")) if page not in reached] == []


def test_pages_stand_in_the_folder_of_their_kind() -> None:
    kinds = {"decisions", "explanation", "how-to", "operations", "reference", "tutorial"}

    assert {path.name for path in DOCS.glob("*.md")} == {"README.md", "glossary.md"}
    assert {path.parent.name for path in DOCS.glob("*/*.md")} == kinds


def test_the_architecture_has_one_line_for_each_folder() -> None:
    tree = text_of(DOCS / "explanation" / "architecture.md").partition("```text\n")[2]
    tree = tree.partition("```")[0]
    shown = re.findall(r"(\w+)/ ", tree)
    folders = [path for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE]

    assert sorted(shown) == sorted(path.parent.name for path in folders)
    modules = {path.name for path in PACKAGE.glob("[a-z]*.py")}
    assert set(re.findall(r"(\w+\.py) ", tree)) == modules
