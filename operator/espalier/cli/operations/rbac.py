"""
Print the roles that let the operator work on definitions.
"""

import asyncio
from collections.abc import Sequence

import click

from espalier import crd
from espalier.cli.checks.definition_names import full_names
from espalier.cli.checks.documents import is_definition
from espalier.cli.checks.from_cluster import manifests_of
from espalier.cli.input.files import expand, read_documents
from espalier.cli.options import Chosen, Target
from espalier.cli.output.json_writer import write_json
from espalier.cli.output.yaml_writer import write_yaml
from espalier.engine import roles_of
from espalier.errors import SourceError
from espalier.paths import JSON


def write_roles(
    target: Target,
    choice: Chosen,
    files: Sequence[str],
    *,
    namespaces: Sequence[str],
    output: str,
) -> str:
    """
    Return the roles of definitions as YAML or JSON.

    Args:
        choice: The definitions of the cluster, unless there are files.
        namespaces: The only ones to work on; those of each definition's annotation if empty.

    Raises:
        UsageError: A name stands for several definitions, or a definition has no namespaces.
        EspalierError: The cluster or a file could not be read.
    """
    manifests = _read(files) if files else asyncio.run(_fetch(target, choice))
    roles: list[JSON] = []
    for manifest in manifests:
        definition = crd.read_definition(manifest)
        if namespaces and not definition.namespaced:
            raise click.UsageError(f"{definition.name} is cluster-scoped: leave -n out.")
        roles += roles_of(
            definition, namespaces=namespaces, operator_namespace=target.operator_namespace
        )
    return write_json(roles) if output == "json" else write_yaml(roles)


def _read(files: Sequence[str]) -> list[JSON]:
    found: list[JSON] = []
    for file in files:
        documents = [one for source in expand([file]) for one in read_documents(source)]
        manifests = [one.value for one in documents if is_definition(one)]
        if not manifests:
            raise SourceError(file, "no CustomResourceDefinition in it")
        found += manifests
    return found


async def _fetch(target: Target, choice: Chosen) -> list[JSON]:
    async with target.connect() as connected:
        names = await full_names(connected, choice)
        return [manifest async for manifest in manifests_of(connected, names)]
