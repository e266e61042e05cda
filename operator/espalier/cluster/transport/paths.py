"""
The paths of API resources, and names for the objects that Espalier creates.
"""

import base64
import functools
import hashlib
import re
from urllib.parse import quote

import msgspec

from espalier.cluster.transport.json_codec import encode_json
from espalier.engine.ports import Endpoint, ObjectKey
from espalier.errors import UnusableNameError

DEFINITIONS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
"""The path of all CustomResourceDefinitions."""

NAMESPACES_PATH = "/api/v1/namespaces"

_HASH_CHARACTERS = 16
_FORM = "meta.k8s.io/v1"


# Names that need no quoting in a path, as nearly all do.
_PLAIN = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*", re.ASCII)


class _Token(msgspec.Struct):
    v: str
    start: str


_token = msgspec.json.Decoder(_Token)


def segment(text: str) -> str:
    """
    Return a name, quoted as one segment of a path.

    Raises:
        UnusableNameError: The name is empty, ``.`` or ``..``.
    """
    if _PLAIN.fullmatch(text):
        return text
    if text in {"", ".", ".."}:
        raise UnusableNameError(f"{text!r} is not a name")
    return quote(text, safe="")


@functools.lru_cache(maxsize=4096)
def collection_path(resource: Endpoint, *, namespace: str = "") -> str:
    """
    Return the path of all objects of a resource, or of those in one namespace.
    """
    group, version = segment(resource.group), segment(resource.version)
    place = f"/namespaces/{segment(namespace)}" if namespace else ""
    return f"/apis/{group}/{version}{place}/{segment(resource.plural)}"


def object_path(resource: Endpoint, key: ObjectKey) -> str:
    """
    Return the path of one object.
    """
    return f"{collection_path(resource, namespace=key.namespace)}/{segment(key.name)}"


def token_from(start: str) -> str:
    """
    Return a continue token with which a list continues at the newest resource version.

    Args:
        start: The key at which the list continues, below the resource's prefix in etcd.

    Source:
        apiserver, ``pkg/storage/continue.go``.
    """
    content = encode_json({"v": _FORM, "rv": -1, "start": start})
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def place_of_token(token: str) -> str | None:
    """
    Return the key at which a continue token continues, below the resource's prefix in etcd.

    Returns:
        The key; None if the token has an unknown form.
    """
    try:
        content = _token.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (ValueError, msgspec.MsgspecError):
        return None
    # The key begins with a slash if the list came from the server's cache, not if from etcd.
    return content.start.removeprefix("/") if content.v == _FORM else None


def definition_path(name: str) -> str:
    """
    Return the path of one CustomResourceDefinition.
    """
    return f"{DEFINITIONS_PATH}/{segment(name)}"


def hash_of(crd: str) -> str:
    """
    Return a hash of a definition's name that is valid in names and label values.
    """
    return hashlib.sha256(crd.encode()).hexdigest()[:_HASH_CHARACTERS]


def name_of(kind: str, crd: str, *, max_characters: int = 200) -> str:
    """
    Return the name of an object that belongs to a definition.

    Args:
        kind: The prefix, such as ``checkpoint`` or ``lease-part-3``.
        crd: The definition's name, of up to 253 characters.
        max_characters: The longest name; the end of the definition's name is cut off.

    Returns:
        A DNS subdomain that is unique to the definition and begins with its name.
    """
    room = max_characters - len(kind) - _HASH_CHARACTERS - 2
    readable = crd[:room].strip(".-")
    return f"{kind}-{readable}-{hash_of(crd)}"
