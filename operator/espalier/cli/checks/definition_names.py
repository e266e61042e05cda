"""
Which definitions does a user mean? They are named and selected as for kubectl.
"""

from collections.abc import Iterable, Sequence

import click

from espalier.cli.options import Chosen, without_kind
from espalier.cluster import Cluster
from espalier.crd import Definition
from espalier.errors import ForbiddenError, NotFoundError


async def full_names(connected: Cluster, choice: Chosen) -> tuple[str, ...]:
    """
    Return the full names of the definitions that a user asks for.

    Raises:
        UsageError: A name stands for several definitions.
        ClusterError: The definitions could not be listed.
    """
    if not choice.names:
        return await connected.definitions.definition_names(label_selector=choice.selector)
    found = {name: await _is_full(connected, name) for name in choice.names}
    known = () if all(found.values()) else await _all_definitions(connected)
    names = (name if found[name] else _the_only(name, known) for name in choice.names)
    return tuple(dict.fromkeys(names))


async def full_name(connected: Cluster, given: str) -> str:
    """
    Return the full name of a definition that is named by its plural, singular, kind or short name.

    Returns:
        The text itself if there is no such definition.

    Raises:
        UsageError: The name stands for several definitions.
        ClusterError: The definitions could not be listed.
    """
    name = without_kind(given)
    if await _is_full(connected, name):
        return name
    return _the_only(name, await _all_definitions(connected))


async def _is_full(connected: Cluster, name: str) -> bool:
    # With a dot it is a full name, as a rule: then nothing else has to be read.
    if "." not in name:
        return False
    try:
        await connected.definitions.get_resource_version(name)
    except NotFoundError:
        return False
    except ForbiddenError:
        pass
    return True


async def _all_definitions(connected: Cluster) -> Sequence[Definition]:
    found = [one async for one in connected.definitions.list_definitions()]
    return [one for one in found if isinstance(one, Definition)]


def full_names_among(given: Iterable[str], definitions: Sequence[Definition]) -> tuple[str, ...]:
    """
    Return the full names of definitions, as ``full_name``, where all definitions are known.

    Raises:
        UsageError: A name stands for several definitions.
    """
    known = {definition.name for definition in definitions}
    return tuple(name if name in known else _the_only(name, definitions) for name in given)


def _the_only(name: str, definitions: Sequence[Definition]) -> str:
    found = [one.name for one in definitions if _is_called(one, name)]
    if not found:
        # As in kubectl, a short name counts where no resource has the name itself.
        found = [one.name for one in definitions if _is_called(one, name, briefly=True)]
    if len(found) > 1:
        raise click.UsageError(
            f"{name} may be {', '.join(sorted(found))}: name one of them in full."
        )
    return found[0] if found else name


def _is_called(definition: Definition, name: str, *, briefly: bool = False) -> bool:
    stem, _, group = name.lower().partition(".")
    groups = {"", definition.group} | {
        f"{version.name}.{definition.group}" for version in definition.versions
    }
    names = {definition.plural, definition.singular, definition.kind.lower()}
    return group in groups and stem in (definition.short_names if briefly else names)
