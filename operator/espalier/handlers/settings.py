"""
The operator's settings: one frozen record, read once and handed down.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

from espalier.errors import ConfigurationError
from espalier.names import ENVIRONMENT_PREFIX, OPERATOR_NAMESPACE

PREFIX = ENVIRONMENT_PREFIX

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})

# The smallest and the largest value that make sense. A settle time of 0 is for tests and for
# servers that are known to be alone; a page is bounded by what the server hands out at once.
BOUNDS: Mapping[str, tuple[float, float]] = {
    "settle_seconds": (0, 3600),
    "page_size": (1, 10_000),
    "max_in_flight": (1, 256),
    "max_bytes_per_second": (1024, 1024**3),
    "max_writes_per_second": (0, 100_000),
    "max_runs": (1, 64),
    "lease_seconds": (5, 300),
    "buckets": (1, 64),
    "structural_grace_seconds": (0, 3600),
    "progress_seconds": (0, 3600),
    "resync_seconds": (1, 86_400),
    "resurvey_seconds": (1, 604_800),
    "survey_percent": (0.01, 100),
    "archive_max_bytes": (1024, 1024**3),
    "worker_processes": (1, 64),
    "object_deadline_seconds": (0.1, 3600),
    "probe_port": (0, 65_535),
    "metrics_port": (0, 65_535),
    "page_port": (0, 65_535),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """
    The operator's settings.

    Attributes:
        namespace: Where checkpoints, archives and leases are kept.
        settle_seconds: For so long a run has seen the definition unchanged before it verifies;
            until then a server may still store the version that was the storage version before.
        page_size: The most objects in a page.
        max_in_flight: The most rewrites at a time in one run.
        max_bytes_per_second: The most bytes that all runs together write to etcd.
        max_writes_per_second: The most writes in all runs together; 0 for no bound but the
            server's.
        max_runs: The most runs at a time.
        lease_seconds: How long the lease of a run, or of a bucket, lasts without renewal. After the
            death of its holder no other process writes for so long.
        buckets: How many parts the definitions are divided into. Each part is one replica's; with
            one, all but one replica wait.
        structural: Write ``NonStructuralSchema`` where the API server does not.
        structural_grace_seconds: How long the API server has to write ``NonStructuralSchema``.
        progress_seconds: The least time between two writes of mere progress.
        resync_seconds: The time between two readings of all definitions.
        resurvey_seconds: The least time between two surveys of objects.
        survey_percent: The most of its time that the surveys of one definition read: the interval
            grows with the objects.
        archive_max_bytes: The most bytes that the archives of removed data take together.
        worker_processes: The most processes that examine and compare objects for which the
            event loop has no time.
        object_deadline_seconds: How much CPU time one object may take there; one that takes more is
            not judged.
        probe_port: Serves ``/healthz`` and ``/readyz``; 0 serves nothing.
        metrics_port: Serves ``/metrics``; 0 serves nothing.
        page_port: Serves the page, on loopback only; 0 serves nothing.
        page_without_access_control: Serve the page on all addresses, to anyone who can reach them.
        page_messages: Show the messages of conditions on the page, which name objects.
        report: Keep the report in the ConfigMap ``espalier-report``.
        report_messages: Include the messages of conditions in it, which name objects.
        read_only: Forbid every write on objects and on stored versions.
        pause: Write nothing at all as long as the process runs.
    """

    namespace: str = OPERATOR_NAMESPACE
    settle_seconds: float = 30.0
    page_size: int = 500
    max_in_flight: int = 48
    max_bytes_per_second: int = 3 * 1024 * 1024
    max_writes_per_second: float = 0.0
    max_runs: int = 4
    lease_seconds: int = 15
    buckets: int = 1
    structural: bool = True
    structural_grace_seconds: float = 30.0
    progress_seconds: float = 10.0
    resync_seconds: float = 600.0
    resurvey_seconds: float = 3600.0
    survey_percent: float = 1.0
    archive_max_bytes: int = 64 * 1024 * 1024
    worker_processes: int = 2
    object_deadline_seconds: float = 5.0
    probe_port: int = 0
    metrics_port: int = 0
    page_port: int = 0
    page_without_access_control: bool = False
    page_messages: bool = False
    report: bool = True
    report_messages: bool = False
    read_only: bool = False
    pause: bool = False

    def __post_init__(self) -> None:
        if not self.namespace:
            raise ConfigurationError("namespace: must not be empty")
        for name, (least, most) in BOUNDS.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise ConfigurationError(f"{name}: {value} is not between {least} and {most}")


def read_settings(
    environment: Mapping[str, str], overrides: Mapping[str, object] | None = None
) -> Settings:
    """
    Read the settings from the environment, and then from the command line's flags.

    Args:
        environment: ``os.environ`` or a part of it; other variables are ignored.
        overrides: By the names of the settings; None stands for "not given".

    Raises:
        ConfigurationError: A value is no number, no truth value, or out of bounds.
    """
    given: dict[str, object] = {}
    for known in fields(Settings):
        text = environment.get(PREFIX + known.name.upper())
        if text is not None:
            given[known.name] = _read(known.name, text.strip(), known.default)
    given |= {name: value for name, value in (overrides or {}).items() if value is not None}
    return Settings(**given)  # type: ignore[arg-type]  # each was read by its field's default


def _read(name: str, text: str, default: object) -> object:
    variable = PREFIX + name.upper()
    match default:
        case bool():  # before int: True is an int to Python
            if text.lower() not in _TRUE | _FALSE:
                raise ConfigurationError(f"{variable}: {text!r} is neither true nor false")
            return text.lower() in _TRUE
        case int():
            try:
                return int(text)
            except ValueError:
                raise ConfigurationError(f"{variable}: {text!r} is no whole number") from None
        case float():
            return _seconds(variable, text)
        case _:
            return text


def _seconds(variable: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        unit = " of seconds" if variable.endswith("_SECONDS") else ""
        raise ConfigurationError(f"{variable}: {text!r} is no number{unit}")
    return value
