"""
Which rights a run needs, asked for before it writes anything.
"""

from espalier.engine.calling import patiently
from espalier.engine.conditions import Reason, forbidden_message
from espalier.engine.planning import Legacy, Plan
from espalier.engine.ports import Resource
from espalier.engine.settings import Ports
from espalier.errors import RunStoppedError

DEFINITIONS = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    namespaced=False,
)


def needed_verbs(planned: Plan) -> tuple[str, ...]:
    """
    Name the verbs on the objects of a definition.
    """
    if not isinstance(planned, Legacy):
        return ("get", "list", "patch")
    verbs = ("get", "list", "watch", "patch", "update")
    return (*verbs, "update/status") if planned.definition.storage.has_status else verbs


async def check_rights(planned: Plan, ports: Ports) -> None:
    """
    Ask for every right that the run needs, also for that of its last step.

    Raises:
        RunStoppedError: One is missing; the message has the command that grants it.
    """
    resource = planned.resource
    missing = await patiently(
        lambda: ports.rights.missing_verbs(resource, needed_verbs(planned)), ports.clock
    )
    if missing:
        raise RunStoppedError(Reason.FORBIDDEN, forbidden_message(resource, missing))
    missing = await patiently(
        lambda: ports.rights.missing_verbs(DEFINITIONS, ("patch/status",)), ports.clock
    )
    if missing:
        raise RunStoppedError(
            Reason.FORBIDDEN,
            "the operator may not patch customresourcedefinitions/status, so it could not trim"
            " storedVersions in the end; apply Espalier's manifests again:"
            " kubectl apply -k manifests",
        )
