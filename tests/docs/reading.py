"""
The documentation as tests see it: all of its text, its blocks, its links.
"""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
README = ROOT / "README.md"
PAGES = [
    README,
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    ROOT / "charts" / "espalier" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


class Session(NamedTuple):
    """
    A command of a ``console`` block, and the output that it is said to have.
    """

    command: str
    output: str


def blocks(page: Path, language: str) -> list[str]:
    """
    The blocks of a page in one language.
    """
    text = page.read_text(encoding="utf-8")
    return [body for found, body in _BLOCK.findall(text) if found == language]


def sessions(page: Path) -> list[Session]:
    """
    The commands of a page's ``console`` blocks.
    """
    found = []
    for block in blocks(page, "console"):
        assert block.startswith("$ "), f"{page}: a console block begins with its command"
        command, _, output = block.removeprefix("$ ").partition("\n")
        found.append(Session(command, output))
    return found


def links(page: Path) -> list[str]:
    """
    The links of a page that stay in the repository.
    """
    return [target for target in _LINK.findall(prose_of(page)) if "://" not in target]


def prose_of(page: Path) -> str:
    """
    The text of a page without its blocks of code.
    """
    return _CODE.sub("", text_of(page))


def text_of(page: Path) -> str:
    """
    The text of a page.
    """
    return page.read_text(encoding="utf-8")


def reference() -> str:
    """
    All of ``docs/reference``, as one text.
    """
    pages = sorted((ROOT / "docs" / "reference").glob("*.md"))
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)
