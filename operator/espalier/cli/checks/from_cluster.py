"""
Read whole definitions from a cluster, for commands that otherwise read them from files.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from espalier.cli.checks.batch import BatchResult
from espalier.cli.checks.catalogue import DefinitionCatalogue
from espalier.cli.checks.definition import judge
from espalier.cli.checks.definition_names import full_names
from espalier.cli.checks.documents import problem_of
from espalier.cli.input.files import Document
from espalier.cli.options import Chosen, Target
from espalier.cli.progress import Advance
from espalier.cluster import Cluster
from espalier.cluster.transport.client import ApiRequest
from espalier.cluster.transport.json_codec import decode_json
from espalier.cluster.transport.paths import definition_path
from espalier.errors import NotFoundError, SourceError
from espalier.paths import JSON
from espalier.schema import Profile

_RESOURCE = "customresourcedefinitions.apiextensions.k8s.io"
_TYPE: dict[str, JSON] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
}


def judge_cluster(
    target: Target,
    choice: Chosen,
    profile: Profile,
    advance: Advance,
    *,
    minor: int | None = None,
) -> BatchResult:
    """
    Check definitions of a cluster, each as an update of itself, since it exists already.

    Args:
        choice: The definitions to check.
        minor: The oldest minor version of API servers to answer for; None for the newest.

    Raises:
        ConfigurationError: There is no usable kubeconfig.
        UsageError: A name stands for several definitions.
        ClusterError: The definitions could not be read.
    """
    return asyncio.run(_judge(target, choice, profile, advance, minor))


def fetch_definitions(target: Target, catalogue: DefinitionCatalogue) -> None:
    """
    Add all definitions of a cluster to a catalogue.

    Raises:
        ConfigurationError: There is no usable kubeconfig.
        ClusterError: The definitions could not be read.
    """
    asyncio.run(_add_definitions(target, catalogue))


async def _add_definitions(target: Target, catalogue: DefinitionCatalogue) -> None:
    async with target.connect() as connected:
        names = await connected.definitions.definition_names()
        async for manifest in manifests_of(connected, names, are_named=False):
            catalogue.add(manifest, where="the cluster")


async def manifests_of(
    connected: Cluster, names: Sequence[str], *, are_named: bool = True
) -> AsyncIterator[JSON]:
    """
    Yield definitions one by one, as the API server returns them.

    Args:
        names: The names of the definitions.
        are_named: Whether the user named them: then each must exist.

    Raises:
        ClusterError: A definition could not be read, or a named one does not exist.
    """
    for name in names:
        call = ApiRequest(
            verb="get",
            resource=f"{_RESOURCE} {name}",
            method="GET",
            path=definition_path(name),
            is_read=True,
        )
        try:
            manifest = decode_json(await connected.client.send(call))
        except NotFoundError:
            if are_named:
                raise
            # The definition was deleted after the names were listed.
            continue
        yield {**_TYPE, **manifest} if isinstance(manifest, dict) else manifest


async def _judge(
    target: Target, choice: Chosen, profile: Profile, advance: Advance, minor: int | None
) -> BatchResult:
    judged = BatchResult()
    async with target.connect() as connected:
        names = await full_names(connected, choice)
        advance(0, total=len(names))
        async for manifest in manifests_of(connected, names, are_named=bool(choice.names)):
            document = Document(source="", number=0, value=manifest)
            try:
                verdict = judge(document, profile=profile, old=manifest, minor=minor)
                judged.verdicts.append(verdict)
            except SourceError as error:
                judged.problems.append(problem_of(error))
            advance(len(judged.verdicts))
    return judged
