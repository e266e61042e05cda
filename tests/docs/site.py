"""
Builds the site of the documentation: ``make docs-site``.

The pages are copied first, with the README and the other pages of the repository's root, so that
links between them work. Files that pages link to and that are no pages are copied, too.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.docs.reading import ROOT

KINDS = {
    "Tutorial": "tutorial",
    "How-to": "how-to",
    "Reference": "reference",
    "Explanation": "explanation",
    "Operations": "operations",
    "Decisions": "decisions",
}
ROOTS = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "charts/espalier/README.md": "chart.md",
}
"""The pages that are not in docs, by their place in the site."""

DOCS = ROOT / "docs"
_FILES = "files"
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)


def build(target: Path) -> None:
    """
    Build the site below a folder: its sources in ``source``, its pages in ``site``.

    Raises:
        CalledProcessError: A link or an anchor leads nowhere, or a page is not in the navigation.
    """
    source = target / "source"
    shutil.rmtree(target, ignore_errors=True)
    for page in _pages():
        place = source / _place_of(page)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_moved(page, source), encoding="utf-8")
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    added = {"docs_dir": "source", "site_dir": "site", "nav": _navigation(source)}
    file = target / "mkdocs.yml"
    file.write_text(config + yaml.safe_dump(added, sort_keys=False), encoding="utf-8")
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    # Not --quiet: what is not logged does not count as a warning for --strict.
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--config-file",
        str(file),
    ]
    subprocess.run(command, env=environment, check=True)
    pages = sum(1 for _ in (target / "site").rglob("*.html"))
    sys.stdout.write(f"{target / 'site' / 'index.html'}: {pages} pages, every link leads on\n")


def _pages() -> list[Path]:
    return [*(ROOT / name for name in ROOTS), *sorted(DOCS.rglob("*.md"))]


def _place_of(path: Path) -> str:
    # The place of a page or a file in the site.
    name = str(path.relative_to(ROOT))
    if name in ROOTS:
        return ROOTS[name]
    if path == DOCS / "README.md":
        return "index.md"
    return str(path.relative_to(DOCS)) if path.is_relative_to(DOCS) else f"{_FILES}/{name}"


def _moved(page: Path, source: Path) -> str:
    # The text of a page, with links to where their targets are in the site.
    up = "../" * _place_of(page).count("/")

    def link(match: re.Match[str]) -> str:
        before, target, after = match.groups()
        path = (page.parent / target).resolve()
        if "://" in target or not path.is_file():
            return match[0]
        place = _place_of(path)
        if path.suffix != ".md":
            copy = source / place
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        return f"{before}{up}{place}{after}"

    return _LINK.sub(link, page.read_text(encoding="utf-8"))


def _navigation(source: Path) -> list[dict[str, object]]:
    kinds: list[dict[str, object]] = [
        {kind: list(_entries(source, folder))} for kind, folder in KINDS.items()
    ]
    roots = [{_title_of(source / place): place} for place in ROOTS.values()]
    return [
        {"Documentation": "index.md"},
        *kinds,
        {"Glossary": "glossary.md"},
        {"Project": roots},
    ]


def _entries(source: Path, folder: str) -> Iterator[dict[str, object]]:
    pages = sorted((source / folder).glob("*.md"), key=lambda page: page.name.lower())
    first = [page for page in pages if page.name == "README.md"]
    for page in [*first, *(page for page in pages if page not in first)]:
        yield {_title_of(page): str(page.relative_to(source))}
    for below in sorted(path for path in (source / folder).iterdir() if path.is_dir()):
        entries = list(_entries(source, str(below.relative_to(source))))
        if entries:
            yield {below.name.capitalize(): entries}


def _title_of(page: Path) -> str:
    found = _HEADING.search(page.read_text(encoding="utf-8"))
    assert found is not None, f"{page}: a page begins with its title"
    return found[1].replace("`", "")


if __name__ == "__main__":
    build(ROOT / "build" / "docs")
