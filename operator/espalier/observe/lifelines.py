"""
Where a definition stands on its way from one version to the next: T1 to T4.

T1: it has one version, or no newer one that it stores yet. T2: it stores a newer one and still
serves the older. T3: it serves the older one no more, but objects may be stored at it. T4: none is,
so that it may be dropped.
"""

from typing import NamedTuple

from espalier.crd.version_names import version_priority
from espalier.observe.state import DefinitionState, VersionState


class Station(NamedTuple):
    """
    One of the four stations.
    """

    label: str
    text: str


STOPS = (
    Station("T1", "one version"),
    Station("T2", "old one served"),
    Station("T3", "old one stored"),
    Station("T4", "old one may go"),
)


def stop_of(definition: DefinitionState) -> int:
    """
    Return the index of the station in ``STOPS``.
    """
    older = _older(definition)
    stored = [one for one in older if one.is_stored]
    if not older:
        return 0
    if not stored:
        return 3
    return 1 if any(one.is_served for one in stored) else 2


def droppable(definition: DefinitionState) -> tuple[VersionState, ...]:
    """
    Return the older versions that may be dropped: they are not served, and nothing is stored.
    """
    return tuple(one for one in _older(definition) if not (one.is_stored or one.is_served))


def _older(definition: DefinitionState) -> list[VersionState]:
    # A version that was only just added is not an old one, unless something was stored at it.
    others = (one for one in definition.versions if not one.is_storage)
    storage = version_priority(definition.storage)
    return [one for one in others if one.is_stored or version_priority(one.name) < storage]
