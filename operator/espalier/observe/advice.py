"""
What only a person ends, and the command for it.

A run that waits for time, for another process or for the API server waits for nobody.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from espalier.engine.status.conditions import Reason
from espalier.observe.lifelines import droppable
from espalier.observe.state import DefinitionState


class Advice(NamedTuple):
    """
    What a person may do.

    Attributes:
        text: In one sentence.
        command: To copy.
        is_urgent: Whether nothing goes on until it is done.
    """

    text: str
    command: str
    is_urgent: bool = True


_SURVEY = "espalier survey {name} -o wide"
_SHOW = "kubectl describe crd {name}"
_EDIT = "kubectl edit crd {name}"
_CHECK = "espalier check --cluster {name}"

_BY_REASON: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        Reason.WOULD_LOSE_DATA: (
            "A rewrite of some objects would lose data. Specify it, or consent to this loss.",
            _SURVEY,
        ),
        Reason.CONVERSION_LOSES_DATA: (
            "The conversion webhook loses data. Repair it, or consent to exactly this loss.",
            "espalier archive show {name}",
        ),
        Reason.NO_SCHEMA: ("The storage version has no schema. Write one.", _CHECK),
        Reason.NON_STRUCTURAL: ("The schemas are not structural. Repair them.", _CHECK),
        Reason.STORAGE_VERSION_NOT_SERVED: (
            "The storage version is not served. Serve it for the run.",
            _EDIT,
        ),
        Reason.FORBIDDEN: ("A right is missing. Grant it.", _SHOW),
        Reason.WEBHOOK_UNAVAILABLE: (
            "A webhook does not answer. Repair it.",
            "kubectl get crd {name} -o jsonpath='{{.spec.conversion}}'",
        ),
        Reason.ADMISSION_MUTATES: (
            "Admission changes more than the schema does. Exclude these objects for the run.",
            "kubectl get mutatingwebhookconfigurations",
        ),
        Reason.UNDECODABLE: (
            "Stored objects cannot be read. Repair or delete them.",
            _SURVEY,
        ),
        Reason.ARCHIVE_FULL: (
            "The archive is full. Save old pages and remove them, or give it more room.",
            "espalier archive export ./archive",
        ),
        Reason.RECORD_UNREADABLE: (
            "The record of the schemas cannot be read. Bring it back, or give it up.",
            "espalier cleanup --record {name}",
        ),
        Reason.OTHER_OPERATOR: (
            "Another operator keeps the record of this definition.",
            "espalier cleanup --record {name}",
        ),
        Reason.FAILED: ("Some objects could not be rewritten. Look at them.", _SURVEY),
        Reason.NOT_NORMAL: (
            "Clients write through an older version. Move them to the storage version.",
            _SHOW,
        ),
    }
)

# Of what a message holds, only these are commands; nothing else of it is shown as one.
_COMMAND = re.compile(
    r"kubectl label crd [\w.-]+ espalier\.dev/loss=[0-9a-f]+ --overwrite"
    r"|kubectl create clusterrole [\w.-]+ --verb=[\w,]+ --resource=[\w.,/-]+"
    r" && kubectl label clusterrole [\w.-]+ [\w./-]+=true"
    r"|espalier rbac [\w.-]+ \| kubectl apply -f -"
    r"|kubectl apply -k manifests"
)

_PROGRAM = re.compile(r"(?:^|(?<=\| )|(?<=&& ))(?:kubectl|espalier)\b")


def advice_for(definition: DefinitionState) -> Iterator[Advice]:
    """
    Yield what waits for a person; nothing if nothing does.
    """
    for one in _advice_of(definition):
        yield one._replace(command=_in_cluster(one.command, definition.cluster))


def _in_cluster(command: str, cluster: str) -> str:
    """
    Name the cluster in each part of a command, so that it does not change another one.
    """
    if not cluster:
        return command
    return _PROGRAM.sub(lambda found: f"{found[0]} --context {shlex.quote(cluster)}", command)


def _advice_of(definition: DefinitionState) -> Iterator[Advice]:
    current, valid = definition.current, definition.valid
    if current is not None and current.status != "True" and current.reason in _BY_REASON:
        text, command = _BY_REASON[current.reason]
        # Not written here, for the digest of a loss and the missing verbs stand in the message.
        found = None if definition.is_foreign else _COMMAND.search(current.message)
        yield Advice(text, found[0] if found else command.format(name=definition.name))
    if valid is not None and valid.reason == "Invalid":
        yield Advice(
            "Stored objects violate the schema. Some of them may not be writable any more.",
            _SURVEY.format(name=definition.name),
        )
    if current is not None and current.status == "True":
        for one in droppable(definition):
            yield Advice(
                f"No object is stored at {one.name} any more, and it is not served. It may be"
                " dropped.",
                f"espalier can-drop {one.name} {definition.name}",
                is_urgent=False,
            )
