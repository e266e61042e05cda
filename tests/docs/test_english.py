"""
The documentation keeps to plain English: these words are not in it.
"""

import re
from pathlib import Path

import pytest

from tests.docs.commands import PAGE as GENERATED
from tests.docs.reading import PAGES, ROOT, prose_of

# Instead of them: report, message, clients, repair, except, in order not to.
_NOT = re.compile(r"\b(told|tells?|whoever|nobody|lest|mend(?:s|ed)?|but for)\b", re.IGNORECASE)
_WRITTEN = [page for page in PAGES if page != GENERATED]


@pytest.mark.parametrize("page", _WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_plain_words_are_used(page: Path) -> None:
    assert _NOT.findall(prose_of(page)) == []
