import logging

import kopf

from espalier.handlers.kopf_settings import EndlessBackoffs, harden
from espalier.names import NEVER_USED_FINALIZER


def test_kopf_is_configured_to_write_nothing() -> None:
    settings = kopf.OperatorSettings()
    settings.peering.mandatory = True

    harden(settings)

    assert settings.persistence.finalizer == NEVER_USED_FINALIZER
    assert not settings.posting.enabled
    assert not settings.posting.loggers
    assert settings.posting.level > logging.CRITICAL
    assert settings.peering.standalone
    assert not settings.peering.mandatory
    assert settings.scanning.disabled
    assert settings.watching.chunk_size == 500
    patch = kopf.Patch()
    settings.persistence.diffbase_storage.store(body=kopf.Body({}), patch=patch, essence={})
    settings.persistence.progress_storage.touch(body=kopf.Body({}), patch=patch, value="now")
    assert patch == {}


def test_the_pauses_never_end_and_never_grow_beyond_half_a_minute() -> None:
    backoffs = EndlessBackoffs()
    pauses = iter(backoffs)

    first = [next(pauses) for _ in range(1000)]

    assert first[0] <= 0.5
    assert max(first) <= 30
    assert min(first[10:]) >= 15
    assert next(iter(backoffs)) <= 0.5
