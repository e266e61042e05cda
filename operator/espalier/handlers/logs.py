"""
How log records are written: a constant sentence, and the named values that belong to it.
"""

import importlib.util
import logging
import re
import time
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import TextIO

import orjson

from espalier.errors import ConfigurationError

FORMATS = ("text", "json")
LEVELS: Mapping[str, int] = MappingProxyType(
    {
        name: getattr(logging, name.upper())
        for name in ("debug", "info", "warning", "error", "critical")
    }
)

_PRODUCT = "espalier"
# A message of the API server about an object may hold its values.
_SERVER_TEXT = "espalier.server_text"
_KOPF = "kopf"
_NAME = re.compile(r"espalier(\.[a-z_][a-z0-9_]*)*")

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
        values = "".join(f" {name}={_line(value)}" for name, value in _values(record).items())
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


def read_levels(texts: Iterable[str]) -> Mapping[str, int]:
    """
    Read the levels of modules.

    Args:
        texts: Each holds ``LEVEL`` or ``MODULE=LEVEL``, or several of these with commas or spaces
            between them; the last one for a module counts.

    Returns:
        The levels by the names of their modules; ``LEVEL`` alone is that of ``""``.

    Raises:
        ConfigurationError: There is no such level or module, or the module may not have the level.
    """
    found: dict[str, int] = {}
    for part in (part for text in texts for part in re.split(r"[,\s]+", text) if part):
        module, has_module, level = part.rpartition("=")
        if level.lower() not in LEVELS:
            raise ConfigurationError(
                f"log level: {part!r}: {level!r} is none of {', '.join(LEVELS)}"
            )
        if has_module and not _is_module(module):
            raise ConfigurationError(
                f"log level: {part!r}: {module!r} is neither kopf nor a module of espalier"
            )
        found[module] = LEVELS[level.lower()]
        if module == _KOPF and found[module] < logging.INFO:
            raise ConfigurationError(
                f"log level: {part!r}: below info, kopf logs whole objects; use info or higher"
            )
    return found


def configure_logging(stream: TextIO, *, log_format: str, levels: Iterable[str] = ()) -> None:
    """
    Send all log records of this process to a stream.

    Args:
        log_format: One of ``FORMATS``.
        levels: As ``read_levels`` reads them. A level without a module is that of Espalier; other
            libraries log warnings only if it is higher, and never below info.

    Raises:
        ConfigurationError: As ``read_levels``.
    """
    by_module = read_levels(levels)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    general = by_module.get("", logging.INFO)
    root.setLevel(max(general, logging.INFO))
    logging.getLogger(_PRODUCT).setLevel(general)
    logging.getLogger(_SERVER_TEXT).setLevel(max(general, logging.WARNING))
    # Its steps from start to stop are its own business; errors of its watch are everybody's.
    logging.getLogger(_KOPF).setLevel(max(general, logging.WARNING))
    logging.getLogger("aiohttp.access").setLevel(max(general, logging.WARNING))
    for module, level in by_module.items():
        if module:
            logging.getLogger(module).setLevel(level)


def _is_module(name: str) -> bool:
    if name in {_KOPF, _SERVER_TEXT}:
        return True
    if not _NAME.fullmatch(name):
        return False
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _line(value: object) -> str:
    # A value from elsewhere must not begin a line that looks like a record.
    text = str(value)
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    return character if character.isprintable() else ascii(character)[1:-1]


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
