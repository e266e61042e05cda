"""
Why a call failed: the status, who denied it, and the places of field errors.

The texts hold no values of objects: the client that talks to the server has removed them. They are
bounded here, and grouped by kind, so that a few causes are reported however many objects fail.
"""

import re

from espalier.engine.status.text import cut_in_the_middle, enumerated
from espalier.errors import ClusterError, RejectedError
from espalier.findings import ErrorType

MAX_TEXT_CHARACTERS = 200
"""Of one text of the server's; that of a policy or a rule may have thousands."""

MAX_CAUSE_CHARACTERS = 400

_NO_FIELD = "<nil>: "

_KINDS = "|".join(re.escape(kind.value.strip()) for kind in ErrorType)
_FIELD_ERROR = re.compile(rf"(?P<path>[^\s:\"]{{1,200}}): (?P<kind>{_KINDS})\b")
# Positions in lists and keys of maps differ from object to object.
_KEY = re.compile(r"\[[^\]]*\]")
# At the start: what an object holds may look the same.
_DENIED = re.compile(
    r"(?:[^\s\"]{1,512}(?: \"[^\"\s]{1,253}\")? is forbidden: )?"
    r"(?P<by>admission webhook \"[^\"\s]{1,253}\""
    r"|ValidatingAdmissionPolicy '[^'\s]{1,253}'(?: with binding '[^'\s]{1,253}')?)"
    r" denied (?:the )?request"
)
_UNREACHED = re.compile(r"failed calling webhook (?P<name>\"[^\"\s]{1,253}\")(?P<detail>.*)")


def cause_of(error: ClusterError) -> str:
    """
    Describe an error's cause: its status, the admission plugin that denied it, and the message.
    """
    status = _status(error)
    denied = _DENIED.match(error.detail)
    if denied is not None:
        return _bounded(f"{status}, denied by {denied['by']}")
    webhook = unreached_webhook(error)
    if webhook is not None:
        return _bounded(f"{status}, {_shortened(webhook[0])}")
    texts = _field_texts(error)
    if texts:
        causes = enumerated(map(_shortened, texts), separator="; ")
        return _bounded(f"{status}, {causes}")
    return f"{status}: {_shortened(error.detail)}" if error.detail else status


def message_of(error: ClusterError) -> str:
    """
    Describe the call that failed, and why it failed.
    """
    return f"{error.verb} {error.resource}: {cause_of(error)}"


def kind_of(error: ClusterError) -> str:
    """
    Return what causes are grouped by: an error's cause without the parts that differ.
    """
    status = _status(error)
    denied = _DENIED.match(error.detail)
    if denied is not None:
        return f"{status}, denied by {denied['by']}"
    webhook = unreached_webhook(error)
    if webhook is not None:
        return f"{status}, failed calling webhook {webhook['name']}"
    found = {
        f"{_KEY.sub('[*]', match['path'])}: {match['kind']}"
        for text in _field_texts(error)
        for match in _FIELD_ERROR.finditer(text)
    }
    return f"{status}, {enumerated(sorted(found))}" if found else status


def unreached_webhook(error: ClusterError) -> re.Match[str] | None:
    """
    Find an admission webhook that could not be called: its quoted ``name``, and the ``detail``.
    """
    return _UNREACHED.search(error.detail) if not isinstance(error, RejectedError) else None


def _status(error: ClusterError) -> str:
    status = f"{error.status} {error.reason}".strip() if error.status else error.reason
    return status or type(error).__name__


def _field_texts(error: ClusterError) -> list[str]:
    if isinstance(error, RejectedError) and error.causes:
        unique = list(dict.fromkeys(error.causes))
        # The server's own remark that it has not looked for more.
        texts = [text for text in unique if not text.startswith(_NO_FIELD)] or unique
        return texts if any(_FIELD_ERROR.search(text) for text in texts) else []
    first = _FIELD_ERROR.search(error.detail)
    return [] if first is None else [error.detail[first.start() :]]


def _shortened(text: str) -> str:
    return _cut(text, MAX_TEXT_CHARACTERS)


def _bounded(text: str) -> str:
    return _cut(text, MAX_CAUSE_CHARACTERS)


def _cut(text: str, length: int) -> str:
    return cut_in_the_middle(text, length)
