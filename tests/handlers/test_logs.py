import io
import json
import logging
from collections.abc import Iterator

import pytest

from espalier.handlers.logs import configure_logging


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    loggers = [root, *(logging.getLogger(n) for n in ("espalier", "kopf", "aiohttp.access"))]
    handlers, levels = list(root.handlers), [logger.level for logger in loggers]
    yield io.StringIO()
    root.handlers[:] = handlers
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


def test_json_lines_hold_the_sentence_and_the_named_values(stream: io.StringIO) -> None:
    configure_logging(stream, log_format="json")

    logging.getLogger("espalier.x").warning("Waiting.", extra={"crd": "widgets", "objects": 3})

    record = json.loads(stream.getvalue())
    assert record.pop("time").endswith("Z")
    assert record == {
        "level": "warning",
        "logger": "espalier.x",
        "message": "Waiting.",
        "crd": "widgets",
        "objects": 3,
    }


def test_a_text_line_names_the_values(stream: io.StringIO) -> None:
    configure_logging(stream, log_format="text")

    logging.getLogger("espalier.x").info("Waiting.", extra={"crd": "widgets"})

    assert stream.getvalue().partition(" ")[2] == "INFO espalier.x: Waiting. crd=widgets\n"


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_traceback_is_kept(stream: io.StringIO, log_format: str) -> None:
    configure_logging(stream, log_format=log_format)

    logging.getLogger("espalier.x").error("Died.", exc_info=ValueError("a bug"))

    assert "ValueError: a bug" in stream.getvalue()


def test_kopf_and_debug_records_stay_away_until_asked_for(stream: io.StringIO) -> None:
    configure_logging(stream, log_format="text")
    logging.getLogger("kopf.activities").info("Activity.")
    logging.getLogger("espalier.x").debug("Detail.")
    assert stream.getvalue() == ""

    configure_logging(stream, log_format="text", verbose=True)
    logging.getLogger("kopf.activities").info("Activity.")
    logging.getLogger("espalier.x").debug("Detail.")

    assert stream.getvalue().endswith("DEBUG espalier.x: Detail.\n")
    assert "Activity" not in stream.getvalue()


def test_the_server_s_own_texts_never_reach_the_operator_s_log(stream: io.StringIO) -> None:
    configure_logging(stream, log_format="text", verbose=True)
    logging.getLogger("espalier.server_text").debug("bad token hunter2")
    assert stream.getvalue() == ""
