"""
All that is logged is in the reference, and is a constant sentence.
"""

import logging
from pathlib import Path

import pytest

from tests.docs.log_messages import ADVICE, PAGE, NotConstantError, Sentence, page, sentences

HEAD = "import logging\nlogger = logging.getLogger(__name__)\n"


def test_the_page_is_what_the_source_logs() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run make docs"


def test_every_warning_has_advice_and_all_advice_is_used() -> None:
    found = sentences()

    assert {one.text for one in found if one.level >= logging.WARNING} <= set(ADVICE)
    assert set(ADVICE) <= {one.text for one in found}


def test_fields_are_found_where_they_are_made(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        HEAD
        + 'OTHER = "other"\n'
        + "other = logging.getLogger(OTHER)\n"
        + 'more = {"b": 1, "a": 2}\n'
        + 'logger.info("One.", extra=more)\n'
        + "class It:\n"
        + '    def act(self): other.error("Two.", extra=self._extra(1))\n'
        + '    def _extra(self, x): return {"c": x}\n'
    )

    assert sentences(tmp_path) == [
        Sentence("Two.", logging.ERROR, "other", ("c",)),
        Sentence("One.", logging.INFO, "one", ("a", "b")),
    ]


@pytest.mark.parametrize(
    "line",
    [
        'logger.info(f"Wrote {1}.")',
        'logger.info("Wrote %s.", 1)',
        "logger.info(sentence)",
        'logger.info("Wrote")',
        'logger.log(10, "Wrote.")',
        'logging.warning(f"{1}")',
        'logging.getLogger("x").info(str(1))',
        'logger.info("Wrote.", extra={**fields})',
        'logger.info("Wrote.", extra=unknown)',
        'logger.info("Wrote.", extra=dict(a=1))',
    ],
)
def test_what_cannot_be_listed_fails(tmp_path: Path, line: str) -> None:
    (tmp_path / "one.py").write_text(f"{HEAD}{line}\n")

    with pytest.raises(NotConstantError, match="one:3"):
        sentences(tmp_path)
