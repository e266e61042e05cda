"""
Read whole definitions from a cluster, for commands that otherwise read them from files.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from espalier import cluster
from espalier.cli.checks.batch import BatchResult
from espalier.cli.checks.catalogue import DefinitionCatalogue
from espalier.cli.checks.definition import judge
from espalier.cli.checks.documents import problem_of
from espalier.cli.input.files import Document
from espalier.cli.options import Target
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
    names: Sequence[str],
    profile: Profile,
    advance: Advance,
    *,
    minor: int | None = None,
) -> BatchResult:
    """
    Check definitions of a cluster, each as an update of itself, since it exists already.

    Args:
        names: The names of the definitions; all definitions if this is empty.
        minor: The oldest minor version of API servers to answer for; None for the newest.

    Raises:
        ConfigurationError: There is no usable kubeconfig.
        ClusterError: The definitions could not be read.
    """
    return asyncio.run(_judge(target, names, profile, advance, minor))


def fetch_definitions(target: Target, catalogue: DefinitionCatalogue) -> None:
    """
    Add all definitions of a cluster to a catalogue.

    Raises:
        ConfigurationError: There is no usable kubeconfig.
        ClusterError: The definitions could not be read.
    """
    asyncio.run(_add_definitions(target, catalogue))


async def _add_definitions(target: Target, catalogue: DefinitionCatalogue) -> None:
    async with cluster.connect(target.kubeconfig, context=target.context) as connected:
        async for manifest in manifests_of(connected, ()):
            catalogue.add(manifest, where="the cluster")


async def manifests_of(connected: Cluster, names: Sequence[str]) -> AsyncIterator[JSON]:
    """
    Yield definitions one by one, as the API server returns them.

    Args:
        names: The names of the definitions; all definitions if this is empty.

    Raises:
        ClusterError: A definition could not be read, or a named one does not exist.
    """
    for name in names or await connected.definitions.definition_names():
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
            if names:
                raise
            # The definition was deleted after the names were listed.
            continue
        yield {**_TYPE, **manifest} if isinstance(manifest, dict) else manifest


async def _judge(
    target: Target, names: Sequence[str], profile: Profile, advance: Advance, minor: int | None
) -> BatchResult:
    judged = BatchResult()
    async with cluster.connect(target.kubeconfig, context=target.context) as connected:
        total = len(names or await connected.definitions.definition_names())
        advance(0, total=total)
        async for manifest in manifests_of(connected, names):
            document = Document(source="", number=0, value=manifest)
            try:
                verdict = judge(document, profile=profile, old=manifest, minor=minor)
                judged.verdicts.append(verdict)
            except SourceError as error:
                judged.problems.append(problem_of(error))
            advance(len(judged.verdicts))
    return judged
