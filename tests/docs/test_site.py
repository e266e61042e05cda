"""
The site of the documentation builds, and needs nothing from elsewhere.
"""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.docs.reading import ROOT
from tests.docs.site import KINDS, build

_LOADED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}
_OF_STYLES = re.compile(r"""(?:url\(\s*["']?|@import\s+["'])([^"')]+)""")


class Page(HTMLParser):
    """
    A page of the site, by what a browser loads with it and by where it links to.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.styles: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.styles.append(given.get("style", ""))
        if tag == "a":
            self.links.append(given.get("href", ""))
        # A canonical link and links to pages are followed by people, not by browsers.
        if tag in _LOADED and given.get("rel") not in {"canonical", "next", "prev"}:
            self.loaded.append(given.get(_LOADED[tag], ""))
        self.loaded += [part.split()[0] for part in given.get("srcset", "").split(",") if part]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("docs")
    build(target / "built")
    return target / "built" / "site"


def references(site: Path) -> Iterator[tuple[Path, str]]:
    for path in site.rglob("*.html"):
        page = Page(path.read_text(encoding="utf-8"))
        yield from ((path, one) for one in page.loaded)
        yield from ((path, one) for style in page.styles for one in _OF_STYLES.findall(style))
    for path in site.rglob("*.css"):
        yield from ((path, one) for one in _OF_STYLES.findall(path.read_text(encoding="utf-8")))


def test_every_kind_of_page_is_in_the_site(site: Path) -> None:
    for folder in KINDS.values():
        written = {path.stem for path in (ROOT / "docs" / folder).glob("*.md")}
        built = {path.stem for path in (site / folder).glob("*.html")}
        assert built == {"index" if name == "README" else name for name in written}


def test_every_link_leads_to_a_page_or_a_file_of_the_site(site: Path) -> None:
    for path in site.rglob("*.html"):
        for one in Page(path.read_text(encoding="utf-8")).links:
            target = one.partition("#")[0]
            if target and "://" not in target and path.name != "404.html":
                place = path.parent / target
                assert place.is_file() or (place / "index.html").is_file(), (path, one)


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    found = list(references(site))

    assert len(found) > len(list(site.rglob("*.html")))
    assert [(path, one) for path, one in found if re.match(r"(?:[a-z]+:)?//", one)] == []


def test_all_that_is_loaded_is_there(site: Path) -> None:
    for path, one in references(site):
        target = one.partition("?")[0].partition("#")[0]
        if target and not target.startswith("data:"):
            # The page for what is not found may be shown at any address.
            base = site if path.name == "404.html" else path.parent
            assert (base / target.removeprefix("/")).is_file(), (path, one)
