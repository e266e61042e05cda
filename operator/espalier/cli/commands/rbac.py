"""
``espalier rbac``: print the roles that let the operator work on definitions.
"""

import asyncio
from collections.abc import Sequence

import click

from espalier import crd
from espalier.cli.checks.definition_names import full_name
from espalier.cli.checks.documents import is_definition
from espalier.cli.checks.from_cluster import manifests_of
from espalier.cli.input.files import expand, read_documents
from espalier.cli.options import Target, reporting, targeting
from espalier.cli.options.namespaces import namespace_names
from espalier.cli.output.json_writer import write_json
from espalier.cli.output.terminal import Terminal
from espalier.cli.output.yaml_writer import write_yaml
from espalier.engine import roles_of
from espalier.errors import SourceError
from espalier.paths import JSON


@click.command()
@click.argument("names", nargs=-1, metavar="[CRD...]")
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE",
    help="Read definitions from a file, a folder or - instead of the cluster.",
)
@click.option(
    "-n",
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="NAME",
    callback=namespace_names,
    help="Only in this namespace; may be given more than once.",
)
@targeting()
@reporting(formats=("yaml", "json"), fails=False)
def rbac(
    *,
    terminal: Terminal,
    target: Target,
    names: tuple[str, ...],
    files: tuple[str, ...],
    namespaces: tuple[str, ...],
) -> None:
    """
    Print the roles that let the operator work on definitions, for kubectl apply.

    Each definition gets a ClusterRole that the operator's own aggregates: what a run does with its
    objects, and patches of the status of this definition alone. With -n, or with the annotation
    espalier.dev/namespaces, rights on objects are in a Role and a RoleBinding in each namespace
    instead. Labels count: mode observe only reads. Writes nothing.

    \b
    Examples:
      espalier rbac widgets.example.com | kubectl apply -f -
      espalier rbac -f config/crd/ -n team-a -n team-b > roles.yaml

    \b
    Exit codes:
      0  the roles are printed
      2  the command line or the kubeconfig is not valid
      3  the cluster or a file could not be read, or there is no such definition
    """
    if bool(names) == bool(files):
        raise click.UsageError("Name definitions of the cluster, or files with -f: one of both.")
    manifests = _read(files) if files else asyncio.run(_fetch(target, names))
    roles: list[JSON] = []
    for manifest in manifests:
        definition = crd.read_definition(manifest)
        if namespaces and not definition.namespaced:
            raise click.UsageError(f"{definition.name} is cluster-scoped: leave -n out.")
        roles += roles_of(
            definition, namespaces=namespaces, operator_namespace=target.operator_namespace
        )
    write = write_json if terminal.output == "json" else write_yaml
    click.echo(write(roles), nl=False)


def _read(files: Sequence[str]) -> list[JSON]:
    found: list[JSON] = []
    for file in files:
        documents = [one for source in expand([file]) for one in read_documents(source)]
        manifests = [one.value for one in documents if is_definition(one)]
        if not manifests:
            raise SourceError(file, "no CustomResourceDefinition in it")
        found += manifests
    return found


async def _fetch(target: Target, names: Sequence[str]) -> list[JSON]:
    async with target.connect() as connected:
        full_names = [await full_name(connected, name) for name in names]
        return [manifest async for manifest in manifests_of(connected, full_names)]
