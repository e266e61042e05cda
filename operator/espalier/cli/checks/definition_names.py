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
    return tuple([await full_name(connected, name) for name in choice.names])


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
    if "." in name:
        # A full name, as a rule: then nothing else has to be read.
        try:
            await connected.definitions.get_resource_version(name)
        except NotFoundError:
            pass
        except ForbiddenError:
            return name
        else:
            return name
    found = [one async for one in connected.definitions.list_definitions()]
    return _the_only(name, [one for one in found if isinstance(one, Definition)])


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
