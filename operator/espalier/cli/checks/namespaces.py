"""
Do the namespaces that a user named exist? In one that does not, there is nothing to find.
"""

from collections.abc import Sequence

from espalier.cli.result import Finding, Level, Problem, Subject
from espalier.cluster import Cluster
from espalier.cluster.transport.client import ApiRequest
from espalier.cluster.transport.media_types import PARTIAL_TYPE
from espalier.cluster.transport.paths import NAMESPACES_PATH, segment
from espalier.errors import ForbiddenError, NotFoundError


async def missing_namespaces(
    connected: Cluster, names: Sequence[str], *, are_allowed: bool
) -> tuple[list[Problem], list[Finding]]:
    """
    Look for namespaces.

    Args:
        are_allowed: Whether a namespace that does not exist is only a warning.

    Returns:
        A problem for each that does not exist, and warnings, also for those of which the server
        does not let us know.

    Raises:
        ClusterError: The cluster could not be read.
    """
    problems: list[Problem] = []
    warnings: list[Finding] = []
    for name in dict.fromkeys(names):
        try:
            await _look_for(connected, name)
        except NotFoundError:
            text = f"there is no namespace {name}, so nothing of it was read"
            if are_allowed:
                warnings.append(_warning(name, text))
            else:
                problem = Problem(
                    source=name, message=f"{text}; --allow-missing takes it for empty"
                )
                problems.append(problem)
        except ForbiddenError:
            text = f"whether the namespace {name} exists is not known: no right to read it"
            warnings.append(_warning(name, text))
    return problems, warnings


async def _look_for(connected: Cluster, name: str) -> None:
    await connected.control.send(
        ApiRequest(
            verb="get",
            resource=f"namespaces {name}",
            method="GET",
            path=f"{NAMESPACES_PATH}/{segment(name)}",
            accept=PARTIAL_TYPE,
            is_read=True,
        )
    )


def _warning(name: str, text: str) -> Finding:
    subject = Subject(name=name)
    return Finding(level=Level.WARNING, rule="survey/namespace", subject=subject, message=text)
