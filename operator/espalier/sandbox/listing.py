"""
Lists: pages, continue tokens and views.
"""

import base64
import binascii
from typing import NamedTuple

import orjson

from espalier.sandbox.calls import ObjectRequest, View, limit_of, revision_of
from espalier.sandbox.codecs import Codec
from espalier.sandbox.kinds import Kind
from espalier.sandbox.selecting import selector
from espalier.sandbox.store import CompactedError, Store
from espalier.sandbox.wire import Object, RequestRefusal, bad_request, details_of, qualified

_META = "meta.k8s.io/v1"
_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


class _Start(NamedTuple):
    """
    The start of a page.

    Attributes:
        revision: The revision to read; None for the newest.
        after: The first key of the page, relative to the listed prefix.
    """

    revision: int | None
    after: str


class _ListPage(NamedTuple):
    objects: list[Object]
    last: str
    remaining: int


def viewed(obj: Object, view: View) -> Object:
    """
    Return an object in the requested form.
    """
    if view is View.WHOLE:
        return obj
    return {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": obj["metadata"]}


def collection_prefix(kind: Kind, namespace: str) -> str:
    """
    Return the prefix of the keys of a collection.
    """
    return f"{kind.prefix}{namespace}/" if namespace else kind.prefix


class ListHandler:
    """
    List objects of a store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def list(self, codec: Codec, call: ObjectRequest) -> Object:
        """
        List a page.

        Raises:
            Refusal: 400; 410 with a fresh token; 500 for an object that cannot be decoded; 504 for
                a resource version in the future.
        """
        start = self._start(call)
        prefix = collection_prefix(codec.kind, call.target.namespace)
        revision = self._store.revision if start.revision is None else start.revision
        try:
            page = self._page(codec, call, prefix, start)
        except CompactedError as error:
            raise self._expired(start) from error
        metadata: Object = {"resourceVersion": str(revision)}
        if page.last:
            metadata["continue"] = _token(
                start.revision or revision, f"{page.last.removeprefix(prefix)}\0"
            )
            if selector(call.options) is None:
                metadata["remainingItemCount"] = page.remaining
        return _listed(codec.kind, page.objects, metadata, call.view)

    def get(self, codec: Codec, namespace: str, name: str) -> Object | None:
        """
        Return one object; None if there is none.

        Raises:
            Refusal: 500 if the object cannot be decoded.
        """
        stored = self._store.get(codec.kind.key(namespace, name))
        return None if stored is None else codec.read(stored)

    def _start(self, call: ObjectRequest) -> _Start:
        token, revision = call.options.get("continue"), call.options.get("resourceVersion", "")
        if token:
            if revision not in ("", "0"):
                text = "specifying resource version is not allowed when using continue"
                raise bad_request(text)
            return _read_token(token)
        if revision in ("", "0"):
            return _Start(None, "")
        wanted = revision_of(revision)
        if wanted > self._store.revision:
            raise self._too_large(wanted)
        exact = call.options.get("resourceVersionMatch") == "Exact"
        return _Start(wanted if exact else None, "")

    def _page(self, codec: Codec, call: ObjectRequest, prefix: str, start: _Start) -> _ListPage:
        limit, matches = limit_of(call.options), selector(call.options)
        objects: list[Object] = []
        corrupt: list[tuple[str, RequestRefusal]] = []
        last, remaining = "", 0
        after = f"{prefix}{start.after}" if start.after else ""
        for stored in self._store.scan(prefix, after=after, revision=start.revision):
            if limit and len(objects) >= limit:
                remaining += 1
                continue
            try:
                obj = codec.read(stored)
            except RequestRefusal as error:
                corrupt.append((stored.key, error))
                continue
            if matches is None or matches(obj):
                objects.append(obj)
                last = stored.key
        if corrupt:
            raise _unreadable(codec.kind, corrupt)
        return _ListPage(objects, last if remaining else "", remaining)

    def _expired(self, start: _Start) -> RequestRefusal:
        if not start.after:
            text = "The resourceVersion for the provided list is too old."
            return RequestRefusal(status=410, reason="Expired", message=text)
        fresh = _token(-1, start.after)
        return RequestRefusal(
            status=410, reason="Expired", message=_EXPIRED, metadata={"continue": fresh}
        )

    def _too_large(self, wanted: int) -> RequestRefusal:
        text = "Too large resource version"
        return RequestRefusal(
            status=504,
            reason="Timeout",
            message=f"Timeout: {text}: {wanted}, current: {self._store.revision}",
            details={
                "causes": [{"reason": "ResourceVersionTooLarge", "message": text}],
                "retryAfterSeconds": 1,
            },
        )


def _unreadable(kind: Kind, corrupt: list[tuple[str, RequestRefusal]]) -> RequestRefusal:
    causes = []
    for key, error in corrupt:
        _, _, detail = error.message.partition("AdditionalErrorMsg: ")
        text = (
            f"StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, "
            f"AdditionalErrorMsg: {detail}"
        )
        causes.append({"reason": "UnexpectedServerResponse", "message": text, "field": key})
    resource = qualified(kind.group, kind.plural)
    message = f"failed to read one or more {resource} from the storage: {causes[0]['message']}"
    if len(causes) > 1:
        message = f"{message} (and {len(causes) - 1} more)"
    details = details_of(kind.group, kind.plural, kind.prefix.removesuffix("/"))
    return RequestRefusal(
        status=500,
        reason="StorageReadError",
        message=message,
        details={**details, "causes": causes},
    )


def _listed(kind: Kind, objects: list[Object], metadata: Object, view: View) -> Object:
    if view is View.METADATA:
        return {
            "kind": "PartialObjectMetadataList",
            "apiVersion": _META,
            "metadata": metadata,
            "items": [viewed(obj, view) for obj in objects],
        }
    if kind.typed:
        # The items of a Go list have no apiVersion and no kind; the list has them.
        objects = [
            {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
            for obj in objects
        ]
    else:
        metadata = {"continue": "", **metadata}
    return {
        "kind": kind.list_kind,
        "apiVersion": kind.api_version,
        "metadata": metadata,
        "items": objects,
    }


def _token(revision: int, start: str) -> str:
    content = orjson.dumps({"v": _META, "rv": revision, "start": start})
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _read_token(token: str) -> _Start:
    try:
        padded = token + "=" * (-len(token) % 4)
        content = orjson.loads(base64.urlsafe_b64decode(padded))
        revision, start = content["rv"], content["start"]
    except (binascii.Error, ValueError, KeyError, TypeError) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from error
    return _Start(None if revision < 0 else revision, start)
