"""
The parts of a request: target, verb, options and body.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import orjson
import yaml

from espalier.sandbox.wire import Cause, Object, RequestRefusal, bad_request, invalid, server_error

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
STRATEGIC = "application/strategic-merge-patch+json"


class View(Enum):
    """
    The form in which the client wants objects.
    """

    WHOLE = "whole"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTarget:
    """
    The resource or object that a path names.

    Attributes:
        name: The object's name; empty for a collection.
        subresource: The subresource's name; empty for the main resource.
    """

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRequest:
    """
    One request for objects.

    Attributes:
        verb: The verb as RBAC names it.
        options: The query parameters.
        content_type: The media type, without parameters.
    """

    verb: str
    target: RequestTarget
    options: Mapping[str, str] = field(hash=False)
    content_type: str
    user_agent: str
    view: View
    body: bytes

    @property
    def dry_run(self) -> bool:
        """
        Whether nothing must be stored.
        """
        return self.options.get("dryRun") == "All"

    @property
    def force(self) -> bool:
        """
        Whether an apply takes over fields that other managers own.
        """
        return self.options.get("force") in ("true", "1")

    @property
    def manager(self) -> str:
        """
        The field manager of the query, else the program's name in the user agent.
        """
        return self.options.get("fieldManager") or self.user_agent.partition("/")[0]


def target_of(path: str) -> RequestTarget | None:
    """
    Parse the path of an object or a collection; return None for another path.
    """
    parts = [part for part in path.split("/") if part]
    match parts:
        case ["api", version, *rest] if rest:
            return _target("", version, rest)
        case ["apis", group, version, *rest] if rest:
            return _target(group, version, rest)
    return None


def _target(group: str, version: str, rest: list[str]) -> RequestTarget | None:
    namespace = ""
    # The subresources of a namespace look like collections in it.
    own = not group and rest[2:] in (["status"], ["finalize"])
    if rest[0] == "namespaces" and len(rest) > 2 and not own:  # noqa: PLR2004 - a name, a plural
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3:  # noqa: PLR2004 - a plural, a name, a subresource
        return None
    plural, name, subresource = [*rest, "", ""][:3]
    return RequestTarget(
        group=group,
        version=version,
        plural=plural,
        namespace=namespace,
        name=name,
        subresource=subresource,
    )


def verb_of(method: str, target: RequestTarget, options: Mapping[str, str]) -> str:
    """
    Return the verb of a request; empty for a method that is not served.
    """
    if method == "GET" and not target.name:
        return "watch" if options.get("watch") in ("1", "true") else "list"
    if method == "DELETE" and not target.name:
        return "deletecollection"
    verbs = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
    return verbs.get(method, "")


def view_of(accept: str) -> View:
    """
    Choose a view. There are no tables: a client that also accepts JSON gets JSON.
    """
    for offer in accept.split(","):
        if "as=PartialObjectMetadata" in offer:
            return View.METADATA
        if offer.strip() in ("application/json", "*/*"):
            return View.WHOLE
    return View.WHOLE


def check_media_type(call: ObjectRequest) -> None:
    """
    Refuse bodies that are not JSON; clients that prefer protobuf then send JSON.

    Raises:
        Refusal: 415.
    """
    if call.verb in ("create", "update") and call.content_type not in ("", "application/json"):
        raise RequestRefusal(
            status=415,
            reason="UnsupportedMediaType",
            message="the body of the request was in an unknown format - accepted media types "
            "include: application/json",
        )


def json_body(body: bytes, kind: str) -> Object:
    """
    Decode the body of a create or an update.

    Raises:
        Refusal: 400.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): "
            f"couldn't get version/kind; json parse error: {error}"
        ) from error
    if not isinstance(value, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind})")
    return value


def patch_body(body: bytes) -> Any:
    """
    Decode a JSON patch or a merge patch.

    Raises:
        Refusal: 400.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise bad_request(f"error decoding patch: {error}") from error


def apply_body(body: bytes) -> Object:
    """
    Decode an applied configuration, which is YAML.

    Raises:
        Refusal: 400.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            value = yaml.safe_load(body)
        except yaml.YAMLError as error:
            raise bad_request(f"error decoding YAML: {error}") from error
    if not isinstance(value, dict):
        raise bad_request("error decoding YAML: the configuration must be an object")
    return value


def delete_options(body: bytes) -> Object:
    """
    Decode the options of a delete.
    """
    return json_body(body, "DeleteOptions") if body.strip() else {}


_OPTIONS = {"patch": "PatchOptions", "create": "CreateOptions", "update": "UpdateOptions"}


def check_options(call: ObjectRequest) -> None:
    """
    Refuse invalid options.

    Raises:
        Refusal: 400 or 422.
    """
    kind = _OPTIONS.get(call.verb, "DeleteOptions")
    dry_run = call.options.get("dryRun")
    if dry_run not in (None, "", "All"):
        text = f'Unsupported value: ["{dry_run}"]: supported values: "All"'
        raise invalid("meta.k8s.io", kind, "", [Cause("FieldValueNotSupported", text, "dryRun")])
    if call.content_type == APPLY and not call.options.get("fieldManager"):
        text = "Required value: is required for apply patch"
        raise invalid("meta.k8s.io", kind, "", [Cause("FieldValueRequired", text, "fieldManager")])


def revision_of(text: str) -> int:
    """
    Read a resource version.

    Raises:
        Refusal: 500, as the API server does.
    """
    if not text.isdigit():
        raise server_error(f'strconv.ParseUint: parsing "{text}": invalid syntax')
    return int(text)


def limit_of(options: Mapping[str, str]) -> int:
    """
    Read the page size; 0 for no limit.

    Raises:
        Refusal: 400.
    """
    text = options.get("limit") or "0"
    if not text.lstrip("-").isdigit():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return max(int(text), 0)
