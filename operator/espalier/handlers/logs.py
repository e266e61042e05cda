"""
How log records are written: a constant sentence, and the named values that belong to it.
"""

import logging
import time
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TextIO

import orjson

FORMATS = ("text", "json")

# What every record has; whatever else one carries was given as ``extra``.
_ORDINARY = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

run_id: ContextVar[str] = ContextVar("run_id", default="")
"""The run in which something is logged; empty outside of runs."""

# Kopf puts whole references and its settings into its records; they add no information.
_KOPF_ONLY = frozenset({"k8s_skip", "k8s_ref", "settings"})


class TextFormatter(logging.Formatter):
    """
    For people: ``2026-01-02T03:04:05Z INFO espalier.handlers: Sentence. crd=widgets``.
    """

    def format(self, record: logging.LogRecord) -> str:
        """
        Write one record; only a traceback takes more than one line.
        """
        values = "".join(f" {name}={value}" for name, value in _values(record).items())
        line = f"{_time(record)} {record.levelname} {record.name}: {record.getMessage()}{values}"
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return line


class JsonFormatter(logging.Formatter):
    """
    For machines: one JSON object a line.
    """

    def format(self, record: logging.LogRecord) -> str:
        """
        Write one record.
        """
        document: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_values(record),
        }
        if record.exc_info:
            document["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(document, default=str).decode()


def configure_logging(stream: TextIO, *, log_format: str, verbose: bool = False) -> None:
    """
    Send all log records of this process to a stream.

    Args:
        log_format: One of ``FORMATS``.
        verbose: Debug records of Espalier too; never those of Kopf, which hold whole objects.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.getLogger("espalier").setLevel(logging.DEBUG if verbose else logging.INFO)
    # A message of the API server about an object may hold its values.
    logging.getLogger("espalier.server_text").setLevel(logging.WARNING)
    # Its steps from start to stop are its own business; errors of its watch are everybody's.
    logging.getLogger("kopf").setLevel(logging.WARNING)
    logging.getLogger("aiohttp.access").setLevel(logging.WARNING)


def _values(record: logging.LogRecord) -> Mapping[str, object]:
    values: dict[str, object] = {
        name: value
        for name, value in vars(record).items()
        if name not in _ORDINARY and name not in _KOPF_ONLY
    }
    run = run_id.get()
    return {"run": run, **values} if run else values


def _time(record: logging.LogRecord) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
