"""
Paths of the API, and names that are safe in it.
"""

import base64
import functools
import hashlib
import re
from urllib.parse import quote

import msgspec

from espalier.cluster.transport.json_codec import encode_json
from espalier.engine.ports import Endpoint, ObjectKey

DEFINITIONS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
"""Where the CustomResourceDefinitions are."""

NAMESPACES_PATH = "/api/v1/namespaces"

_HASH_CHARACTERS = 16
_FORM = "meta.k8s.io/v1"


# What stands for itself in a path, as nearly all names do.
_PLAIN = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*", re.ASCII)


class _Token(msgspec.Struct):
    v: str
    start: str


_token = msgspec.json.Decoder(_Token)


def segment(text: str) -> str:
    """
    Quote one segment of a path.

    Raises:
        ValueError: It is empty, or would be another path.
    """
    if _PLAIN.fullmatch(text):
        return text
    if text in {"", ".", ".."}:
        raise ValueError(f"{text!r} is no name")
    return quote(text, safe="")


@functools.lru_cache(maxsize=4096)
def collection_path(resource: Endpoint, *, namespace: str = "") -> str:
    """
    The path of all objects of a resource, or of those in one namespace.
    """
    group, version = segment(resource.group), segment(resource.version)
    place = f"/namespaces/{segment(namespace)}" if namespace else ""
    return f"/apis/{group}/{version}{place}/{segment(resource.plural)}"


def object_path(resource: Endpoint, key: ObjectKey) -> str:
    """
    The path of one object.
    """
    return f"{collection_path(resource, namespace=key.namespace)}/{segment(key.name)}"


def token_from(start: str) -> str:
    """
    Make a continue token as the API server does that goes on at its newest resource version.

    Args:
        start: The first key that may come, below what is listed.

    Source:
        apiserver, ``pkg/storage/continue.go``.
    """
    content = encode_json({"v": _FORM, "rv": -1, "start": start})
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def place_of_token(token: str) -> str | None:
    """
    Read the first key that may come, below what is listed, from a continue token of a server.

    Returns:
        None if the token is of another form.
    """
    try:
        content = _token.decode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (ValueError, msgspec.MsgspecError):
        return None
    # A list from the server's cache gives a slash at the beginning, one from etcd does not.
    return content.start.removeprefix("/") if content.v == _FORM else None


def definition_path(name: str) -> str:
    """
    The path of one CustomResourceDefinition.
    """
    return f"{DEFINITIONS_PATH}/{segment(name)}"


def hash_of(crd: str) -> str:
    """
    A hash of a definition's name that fits into names and label values.
    """
    return hashlib.sha256(crd.encode()).hexdigest()[:_HASH_CHARACTERS]


def name_of(kind: str, crd: str, *, max_characters: int = 200) -> str:
    """
    Name an object of ours after a definition.

    Args:
        kind: What it is: ``checkpoint``, ``archive``, ``lease``.
        crd: The definition's name, of up to 253 characters.
        max_characters: The longest name; a part of the definition's name is cut off.

    Returns:
        A DNS subdomain that no other definition has, readable where that is possible.
    """
    room = max_characters - len(kind) - _HASH_CHARACTERS - 2
    readable = crd[:room].strip(".-")
    return f"{kind}-{readable}-{hash_of(crd)}"
