"""
Check that the defaults of a schema are pruned, and that their metadata is valid.

A ``DefaultCheck`` argument checks whether a default satisfies the value validations of its node.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple, Protocol

from msgspec import structs

from espalier.errors import MalformedValueError
from espalier.findings import ErrorType, FieldError
from espalier.golang.printing import aggregate
from espalier.paths import JSON, Key, Path
from espalier.schema.metadata.validation import check_embedded
from espalier.schema.model import Structural
from espalier.schema.normalization.embedded_resources import EmbeddedResources
from espalier.schema.normalization.pruning import prune
from espalier.schema.profile import Profile

_OWN_FIELDS = ("metadata", "apiVersion", "kind")
UNKNOWN_FIELDS = "must not have unknown fields"


class DefaultCheck(Protocol):
    """
    Check a value against the value validations of a schema.
    """

    def __call__(self, value: JSON, structural: Structural, path: Path) -> Iterable[FieldError]:
        """
        Return the errors of a value.

        Args:
            path: The path of the value, a prefix of the paths of all findings.
        """
        ...


def accept_any_value(value: JSON, structural: Structural, path: Path) -> Iterable[FieldError]:
    """
    Accept every value; for callers that do not check values.
    """
    del value, structural, path
    return ()


def check_defaults(
    structural: Structural | None,
    *,
    profile: Profile,
    judge: DefaultCheck,
    path: Path = (),
    require_pruned: bool = True,
) -> tuple[FieldError, ...]:
    """
    Return the errors of defaults, as an API server or the proposals report them.

    Args:
        structural: A structural schema; for any other schema the findings are meaningless.
        judge: Checks the values of defaults that have no other error. The API server does not check
            below ``additionalProperties``, the proposals do.
        path: The path of the schema, a prefix of the paths of all findings.
        require_pruned: Whether unknown fields are errors in the profile ``APISERVER``.

    Returns:
        The findings, node by node: a node comes before its items, and its items before its
        properties.

    Source:
        KEP-1101 (defaulting), "Validation"; apiextensions-apiserver,
        ``pkg/apiserver/schema/defaulting/validation.go``, ``ValidateDefaults``.
    """
    if structural is None:
        return ()
    root = structs.replace(structural, embedded_resource=True)
    check = _Check(profile, judge, require_pruned=require_pruned)
    return tuple(check.node(root, path, _SurroundingResource(root, ())))


class _SurroundingResource(NamedTuple):
    """
    The resource around a node, and the steps from it to the node.

    Attributes:
        inside_own_fields: Whether these steps go through apiVersion, kind or metadata.
        at_root: Whether the resource is the root itself, not an embedded one.
    """

    resource: Structural
    steps: tuple[str | int, ...]
    inside_own_fields: bool = False
    at_root: bool = True

    def object_with(self, default: JSON) -> JSON:
        """
        Return a resource with nothing but the default in it.
        """
        own_field, *steps = self.steps
        around = default
        for step in reversed(steps):
            around = [around] if isinstance(step, int) else {step: around}
        return {"apiVersion": "validation/v1", "kind": "Validation", str(own_field): around}


class _Check:
    def __init__(self, profile: Profile, judge: DefaultCheck, *, require_pruned: bool) -> None:
        self._kep = profile is Profile.KEP
        self._judge = judge
        self._require_pruned = require_pruned or self._kep

    def node(
        self, node: Structural, path: Path, around: _SurroundingResource
    ) -> Iterator[FieldError]:
        if node.embedded_resource and around.steps:
            around = _SurroundingResource(node, (), at_root=False)
        if node.default is not None:
            below = (*path, "default")
            if self._kep and around.at_root and around.steps[:1] == ("metadata",):
                detail = "must not be set inside the metadata of the root"
                yield _error(ErrorType.FORBIDDEN, below, node.default, detail)
            elif around.inside_own_fields:
                yield from self._within_own_fields(node, below, around)
            else:
                yield from self._ordinary(node, below)
        yield from self._children(node, path, around)

    def _children(
        self, node: Structural, path: Path, around: _SurroundingResource
    ) -> Iterator[FieldError]:
        if node.items is not None:
            inner = around._replace(steps=(*around.steps, 0))
            yield from self.node(node.items, (*path, "items"), inner)
        for name, child in node.properties.items():
            own = node.embedded_resource and name in _OWN_FIELDS
            inner = around._replace(
                steps=(*around.steps, name),
                inside_own_fields=around.inside_own_fields or own,
            )
            yield from self.node(child, (*path, "properties", Key(name)), inner)
        if self._kep and isinstance(node.additional_properties, Structural):
            inner = around._replace(steps=(*around.steps, "*"))
            below = (*path, "additionalProperties")
            yield from self.node(node.additional_properties, below, inner)

    def _within_own_fields(
        self, node: Structural, path: Path, around: _SurroundingResource
    ) -> Iterator[FieldError]:
        resource = around.object_with(node.default)
        try:
            coerced = _coerced(resource, around.resource, is_resource=True)
        except MalformedValueError as error:
            problem = str(error)
        else:
            found = check_embedded(coerced, around.resource, is_resource=True)
            messages = [str(error) for error in found]
            problem = aggregate(messages) if messages else ""
        if problem:
            detail = f"must result in valid metadata: {problem}"
            yield _error(ErrorType.INVALID, path, node.default, detail)
        else:
            yield from self._judge(node.default, node, path)

    def _ordinary(self, node: Structural, path: Path) -> Iterator[FieldError]:
        is_resource = node.embedded_resource
        malformed: FieldError | None = None
        value = node.default
        try:
            value = _coerced(node.default, node, is_resource=is_resource)
        except MalformedValueError as error:
            malformed = error.finding
        if self._require_pruned and not self._is_pruned(node, value):
            # The server decodes the default's metadata in place before it prints the default.
            yield _error(ErrorType.INVALID, path, value, UNKNOWN_FIELDS)
        if malformed is not None:
            yield replace(malformed, path=(*path, *malformed.path))
            return
        found = tuple(check_embedded(value, node, is_resource=is_resource, path=path))
        yield from found or self._judge(value, node, path)

    def _is_pruned(self, node: Structural, value: JSON) -> bool:
        # Unknown fields of metadata do not count: the server's pruning keeps them, and the
        # proposals' pruning finds none after decoding.
        profile = Profile.KEP if self._kep else Profile.APISERVER
        pruned = prune(value, node, profile=profile, is_resource=node.embedded_resource)
        return not pruned.removed


def _coerced(value: JSON, node: Structural, *, is_resource: bool) -> JSON:
    resources = EmbeddedResources(node, is_resource=is_resource)
    return resources.coerce(value, drop_malformed=False).value


def _error(type_: ErrorType, path: Path, value: JSON, detail: str) -> FieldError:
    return FieldError(type=type_, path=path, value=value, detail=detail, origin="default")
