"""
By which schema can today's objects be judged, if a definition changes?

Objects are read through the definition that the cluster has. What a conversion webhook will make of
them nobody knows before it is called, so that objects are judged no further than without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from espalier.crd import Definition
from espalier.engine.status.text import enumerated


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """
    How the objects of a definition are read and judged for a plan.

    Attributes:
        definition: The live definition; objects are read at its storage version.
        candidate: The changed definition; objects are judged by its storage version's schema. None
            if they cannot be judged at all.
        unjudged: Sentences on what cannot be judged; empty if everything can.
    """

    definition: Definition
    candidate: Definition | None
    unjudged: tuple[str, ...] = ()


def forecast_of(live: Definition, candidate: Definition) -> Forecast:
    """
    Decide how to read and judge the objects of a definition that is about to change.

    Raises:
        NoStorageVersionError: Not exactly one version is marked.
    """
    before, after = live.storage.name, candidate.storage.name
    others = [name for name in live.stored_versions if name != after]
    if candidate.conversion == "None" or before == after:
        unjudged = _of_stored_elsewhere(live, candidate, others)
        return Forecast(definition=live, candidate=candidate, unjudged=unjudged)
    if live.conversion != "None" and after in _served(live):
        text = (
            f"objects were read at {after} as today's webhook converts them; another release of the"
            " webhook may convert otherwise"
        )
        read = _with_storage(live, after)
        return Forecast(definition=read, candidate=candidate, unjudged=(text,))
    if before not in {one.name for one in candidate.versions}:
        text = (
            f"the version {before} is dropped, at which objects are stored, and a webhook converts:"
            " no object was judged"
        )
        return Forecast(definition=live, candidate=None, unjudged=(text,))
    text = (
        f"the storage version moves from {before} to {after}, and a webhook converts: objects were"
        f" judged as {before}, and what it makes of them at {after} was not judged"
    )
    judged = _with_storage(candidate, before)
    return Forecast(definition=live, candidate=judged, unjudged=(text,))


def _served(definition: Definition) -> set[str]:
    return {one.name for one in definition.versions if one.served}


def _of_stored_elsewhere(
    live: Definition, candidate: Definition, others: Sequence[str]
) -> tuple[str, ...]:
    if not others or (live.conversion == "None") == (candidate.conversion == "None"):
        return ()
    stored = f"objects may be stored at {enumerated(others)}"
    if candidate.conversion == "None":
        text = (
            f"{stored}, and the webhook that converts them is dropped: fields that it renames or"
            " moves would be lost, which was not judged"
        )
    else:
        text = f"{stored}; what the new webhook makes of them was not judged"
    return (text,)


def _with_storage(definition: Definition, name: str) -> Definition:
    return replace(
        definition,
        versions=tuple(replace(one, storage=one.name == name) for one in definition.versions),
    )
