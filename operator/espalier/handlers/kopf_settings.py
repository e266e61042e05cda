"""
Kopf's settings, so that Kopf watches and never writes.

By itself Kopf keeps its state on the objects that it watches: annotations, finalizers, Events,
and it even takes the finalizer of other Kopf operators off. Here each of those is off. The
manifests grant no patch on definitions either, and a test reads the request log.
"""

import logging
import random
from collections.abc import Iterable, Iterator
from typing import Any

import kopf

from espalier.names import NEVER_USED_FINALIZER

DEFINITIONS_A_PAGE = 500
"""Only their metadata are listed: see ``espalier.cluster.Cluster.open_session``."""


class NoDiffBase(kopf.DiffBaseStorage):
    """
    Remembers no last-handled state; this also spares two deep copies an event.
    """

    def build(self, *, body: Any, extra_fields: Any = None) -> Any:  # noqa: ARG002 - Kopf's
        """
        Find nothing worth comparing.
        """
        return {}

    def fetch(self, *, body: Any) -> None:
        """
        Remember nothing.
        """

    def store(self, *, body: Any, patch: Any, essence: Any) -> None:
        """
        Write nothing.
        """


class NoProgress(kopf.ProgressStorage):
    """
    Keeps no progress of handlers.
    """

    def fetch(self, *, key: Any, body: Any) -> None:
        """
        Remember nothing.
        """

    def store(self, *, key: Any, record: Any, body: Any, patch: Any) -> None:
        """
        Write nothing.
        """

    def purge(self, *, key: Any, body: Any, patch: Any) -> None:
        """
        Remove nothing.
        """

    def touch(self, *, body: Any, patch: Any, value: Any) -> None:
        """
        Touch nothing.
        """

    def clear(self, *, essence: Any) -> Any:
        """
        Leave the essence, which is empty already, as it is.
        """
        return essence


class EndlessBackoffs(Iterable[float]):
    """
    Pauses in seconds between Kopf's tries, growing to half a minute, with jitter, without an end.

    With an end to them, one restart of the API server would end the operator.
    """

    def __iter__(self) -> Iterator[float]:
        pause_seconds = 0.5
        while True:
            # Jitter against many operators returning at once; nothing secret depends on it.
            yield pause_seconds * random.uniform(0.5, 1.0)  # noqa: S311
            pause_seconds = min(pause_seconds * 2, 30.0)


def harden(settings: kopf.OperatorSettings) -> None:
    """
    Make Kopf write nothing, watch in pages, and outlive the API server's restarts.
    """
    settings.persistence.finalizer = NEVER_USED_FINALIZER
    settings.persistence.diffbase_storage = NoDiffBase()
    settings.persistence.progress_storage = NoProgress()
    settings.posting.enabled = False
    settings.posting.loggers = False
    # kopf.warn() ignores `enabled`, but not the level.
    settings.posting.level = logging.CRITICAL + 1
    settings.peering.standalone = True
    # `kopf run --peering` sets it; without peering Kopf would pause for ever.
    settings.peering.mandatory = False
    # The only kind that is watched is built in: no need to watch what kinds come and go.
    settings.scanning.disabled = True
    settings.watching.chunk_size = DEFINITIONS_A_PAGE
    settings.watching.connect_timeout = 10.0
    settings.watching.server_timeout = 300
    settings.networking.connect_timeout = 10.0
    settings.networking.request_timeout = 60.0
    settings.networking.error_backoffs = EndlessBackoffs()
