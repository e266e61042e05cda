import io
import json
import logging
from collections.abc import Iterator

import pytest

from espalier.errors import ConfigurationError
from espalier.handlers.logs import configure_logging, read_levels

LOGGERS = (
    "espalier",
    "espalier.server_text",
    "espalier.engine",
    "espalier.cluster.transport.client",
    "kopf",
    "aiohttp.access",
)


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    loggers = [root, *(logging.getLogger(n) for n in LOGGERS)]
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

    configure_logging(stream, log_format="text", levels=["debug"])
    logging.getLogger("kopf.activities").info("Activity.")
    logging.getLogger("espalier.x").debug("Detail.")

    assert stream.getvalue().endswith("DEBUG espalier.x: Detail.\n")
    assert "Activity" not in stream.getvalue()


def test_the_server_s_own_texts_stay_out_of_a_log_of_everything(stream: io.StringIO) -> None:
    configure_logging(stream, log_format="text", levels=["debug"])
    logging.getLogger("espalier.server_text").debug("bad token hunter2")
    assert stream.getvalue() == ""

    configure_logging(stream, log_format="text", levels=["espalier.server_text=debug"])
    logging.getLogger("espalier.server_text").debug("bad token hunter2")
    assert stream.getvalue().endswith("bad token hunter2\n")


def test_a_module_has_its_own_level(stream: io.StringIO) -> None:
    levels = ["warning", "espalier.engine=debug,espalier.cluster.transport.client=info"]
    configure_logging(stream, log_format="text", levels=levels)

    for name in ("handlers.supervisor", "engine.runs.run", "cluster.transport.client"):
        logging.getLogger(f"espalier.{name}").debug("Detail.")
        logging.getLogger(f"espalier.{name}").info("News.")
    logging.getLogger("another").info("News.")

    assert [line.partition(" ")[2] for line in stream.getvalue().splitlines()] == [
        "DEBUG espalier.engine.runs.run: Detail.",
        "INFO espalier.engine.runs.run: News.",
        "INFO espalier.cluster.transport.client: News.",
    ]


def test_the_last_level_of_a_module_counts() -> None:
    texts = ["espalier.engine=debug ERROR", "espalier.engine=Info", "kopf=info"]

    assert read_levels(texts) == {"espalier.engine": 20, "": 40, "kopf": 20}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("loud", "'loud' is none of debug, info, warning, error, critical"),
        ("espalier.engine=", "'' is none of"),
        ("notset", "'notset' is none of"),
        ("20", "'20' is none of"),
        ("espalier.engin=debug", "'espalier.engin' is neither kopf nor a module of espalier"),
        ("espalier.errors.x=debug", "'espalier.errors.x' is neither"),
        ("espalier..engine=debug", "'espalier..engine' is neither"),
        ("os=debug", "'os' is neither"),
        ("=debug", "'' is neither"),
        ("kopf=debug", "kopf logs whole objects"),
    ],
)
def test_a_level_that_would_do_nothing_or_harm_is_refused(text: str, says: str) -> None:
    with pytest.raises(ConfigurationError, match="log level") as caught:
        read_levels(["info", text])

    assert says in str(caught.value)


def test_a_value_cannot_begin_a_line_of_its_own(stream: io.StringIO) -> None:
    configure_logging(stream, log_format="text")

    logging.getLogger("espalier.x").info(
        "Waiting.", extra={"error": "é\n2026 INFO x: forged\x1b[2J"}
    )

    assert stream.getvalue().endswith("Waiting. error=é\\n2026 INFO x: forged\\x1b[2J\n")
