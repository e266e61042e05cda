"""
Which rights a run needs, asked for before it writes anything.

A run that is restricted to namespaces asks for rights in these alone, so that a Role is enough.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from espalier.crd import Definition
from espalier.engine.coordination.run_context import RunContext
from espalier.engine.flowcontrol.calls import retry_while_unavailable
from espalier.engine.policy.labels import Policy
from espalier.engine.policy.plan import Legacy, Plan
from espalier.engine.policy.restrictions import restrictions_of
from espalier.engine.ports import Endpoint
from espalier.engine.ports.records import resource_of
from espalier.engine.rewriting.canary import needs_canary
from espalier.engine.settings import Ports
from espalier.engine.status.conditions import Reason, forbidden_message
from espalier.engine.status.text import enumerated
from espalier.errors import RunStoppedError
from espalier.plurals import counted

DEFINITIONS = Endpoint(
    group="apiextensions.k8s.io",
    version="v1",
    plural="customresourcedefinitions",
    kind="CustomResourceDefinition",
    namespaced=False,
)
LEASES = Endpoint(
    group="coordination.k8s.io", version="v1", plural="leases", kind="Lease", namespaced=True
)
CHECKPOINTS = Endpoint(
    group="", version="v1", plural="configmaps", kind="ConfigMap", namespaced=True
)
ARCHIVES = Endpoint(group="", version="v1", plural="secrets", kind="Secret", namespaced=True)

MAX_IN_COMMAND = 50
"""For so many namespaces the command that a message carries grants what is missing."""

SERVICE_ACCOUNT = "espalier"
"""The operator's, in the namespace where it keeps its things."""


class Need(NamedTuple):
    """
    Verbs on a resource, in one namespace, or in all if that is empty.

    A verb may name a subresource: ``update/status``.
    """

    resource: Endpoint
    verbs: tuple[str, ...]
    namespace: str = ""
    name: str = ""
    """Of the only object that they are needed on; empty for all."""


def needs_of(
    planned: Plan, *, namespace: str, secret_verbs: tuple[str, ...], only_failed: bool = False
) -> tuple[Need, ...]:
    """
    Return all API calls that a run makes, from its lease to its last step.

    Args:
        namespace: Where leases, checkpoints and archives are kept.
        secret_verbs: What the archive does with Secrets.
        only_failed: Whether only what had failed is tried again.
    """
    needs = [
        *needs_on_objects(planned.definition, planned.policy),
        Need(LEASES, ("get", "create", "patch"), namespace),
        Need(CHECKPOINTS, ("get", "create", "update"), namespace),
    ]
    if not restrictions_of(planned, None, only_failed=only_failed):
        needs.append(Need(DEFINITIONS, ("patch/status",), name=planned.definition.name))
    if secret_verbs and (_prunes(planned) or needs_canary(planned)):
        needs.append(Need(ARCHIVES, secret_verbs, namespace))
    return tuple(needs)


async def check_rights(context: RunContext[Plan]) -> None:
    """
    Ask for every right that a run needs, also for that of its last step.

    Raises:
        RunStoppedError: Some are missing; the message names them, and has commands that grant them.
    """
    planned, ports = context.planned, context.ports
    needs = needs_of(
        planned,
        namespace=ports.namespace,
        secret_verbs=ports.archive.secret_verbs,
        only_failed=context.settings.only_failed,
    )
    await _check(planned.resource, needs, ports)


async def check_reading(resource: Endpoint, namespaces: Sequence[str], ports: Ports) -> None:
    """
    Ask for what a survey needs.

    Args:
        namespaces: The only ones that are looked at; all if empty.

    Raises:
        RunStoppedError: As for ``check_rights``.
    """
    needs = [*needs_to_read(resource, namespaces)]
    needs.append(Need(CHECKPOINTS, ("get",), ports.namespace))
    await _check(resource, needs, ports)


def needs_to_read(resource: Endpoint, namespaces: Sequence[str]) -> Iterator[Need]:
    """
    Yield what a survey does with objects.
    """
    for name in namespaces or ("",):
        yield Need(resource, ("get", "list"), name)


def needs_on_objects(definition: Definition, policy: Policy) -> Iterator[Need]:
    """
    Yield what a run does with objects.
    """
    resource = resource_of(definition, definition.storage)
    prunes = definition.preserve_unknown_fields and policy.does("prune")
    verbs = ["get", "list"]
    annotates = policy.does("validate") and policy.does("annotate")
    if policy.does("migrate") or prunes or annotates:
        verbs.append("patch")
    if prunes:
        verbs.append("update")
        if definition.storage.has_status:
            verbs.append("update/status")
    for name in policy.namespaces or ("",):
        yield Need(resource, tuple(verbs), name)
    if prunes:
        # What comes later is seen by one watch on all namespaces.
        yield Need(resource, ("list", "watch") if policy.namespaces else ("watch",))


def _prunes(planned: Plan) -> bool:
    return isinstance(planned, Legacy) and planned.policy.does("prune")


async def _check(resource: Endpoint, needs: Sequence[Need], ports: Ports) -> None:
    missing = [need for need in [await _missing(need, ports) for need in needs] if need.verbs]
    if not missing:
        return
    everywhere = [need for need in missing if need.resource == resource and not need.namespace]
    within = [need for need in missing if need.resource == resource and need.namespace]
    texts = []
    if everywhere:
        texts.append(forbidden_message(resource, _verbs_of(everywhere)))
    if within:
        wanted = _verbs_of(need for need in needs if need.resource == resource and need.namespace)
        texts.append(
            _within_message(within, wanted, account=f"{ports.namespace}:{SERVICE_ACCOUNT}")
        )
    if ours := [need for need in missing if need.resource not in {resource, DEFINITIONS}]:
        texts.append(_own_message(ours))
    texts += [_status_message(need) for need in missing if need.resource == DEFINITIONS]
    raise RunStoppedError(Reason.FORBIDDEN, ". ".join(texts))


async def _missing(need: Need, ports: Ports) -> Need:
    verbs = await retry_while_unavailable(
        lambda: ports.rights.missing_verbs(
            need.resource, need.verbs, namespace=need.namespace, name=need.name
        ),
        ports.clock,
    )
    return need._replace(verbs=verbs)


def _verbs_of(needs: Iterable[Need]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(verb for need in needs for verb in need.verbs))


def _within_message(missing: Sequence[Need], wanted: Sequence[str], *, account: str) -> str:
    resource = str(missing[0].resource)
    names = [need.namespace for need in missing]
    plain = ",".join(dict.fromkeys(verb.partition("/")[0] for verb in wanted))
    resources = [resource, *(f"{resource}/status" for verb in wanted if verb.endswith("/status"))]
    role = f"espalier-{resource}"
    return (
        f"the operator may not {', '.join(_verbs_of(missing))} {resource} in"
        f" {counted(len(names), 'namespace')}: {enumerated(names)}. Grant it:"
        f" for namespace in {' '.join(names[:MAX_IN_COMMAND])}; do"
        f" kubectl create role {role} --namespace=$namespace --verb={plain}"
        f" --resource={','.join(resources)};"
        f" kubectl create rolebinding {role} --namespace=$namespace --role={role}"
        f" --serviceaccount={account}; done"
    )


def _status_message(missing: Need) -> str:
    return (
        f"the operator may not {', '.join(missing.verbs)} {missing.resource} {missing.name}."
        f" Grant it: espalier rbac {missing.name} | kubectl apply -f -"
    )


def _own_message(missing: Sequence[Need]) -> str:
    lacks = []
    for need in missing:
        where = f" in the namespace {need.namespace}" if need.namespace else ""
        # The core group has no name.
        lacks.append(f"{', '.join(need.verbs)} {str(need.resource).rstrip('.')}{where}")
    return (
        f"the operator may not {'; '.join(lacks)}. Apply Espalier's manifests again:"
        " kubectl apply -k manifests"
    )
