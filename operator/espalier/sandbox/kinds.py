"""
The built-in kinds of the sandbox, and the description of a kind.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from espalier.sandbox.wire import Object

_NOTHING: Mapping[str, Object] = MappingProxyType({})
VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CRD_GROUP = "apiextensions.k8s.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """
    One resource at one version.

    Attributes:
        verbs: The verbs in the order of discovery documents.
        scaffold: Empty structs that objects of Go types always have; no field manager owns them.
        typed: Whether bodies and lists have the form of Go types.
    """

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    list_kind: str
    namespaced: bool = True
    has_status: bool = False
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = VERBS
    scaffold: Mapping[str, Object] = field(default_factory=lambda: _NOTHING, hash=False)
    typed: bool = True

    @property
    def api_version(self) -> str:
        """
        The apiVersion of the objects.
        """
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def prefix(self) -> str:
        """
        The prefix of the keys of all its objects, at any version.
        """
        if self.group and (not self.typed or self.group == CRD_GROUP):
            return f"/registry/{self.group}/{self.plural}/"
        return f"/registry/{self.plural}/"

    def key(self, namespace: str, name: str) -> str:
        """
        Return the key of one object.
        """
        return f"{self.prefix}{namespace}/{name}" if self.namespaced else f"{self.prefix}{name}"


def _builtin(  # noqa: PLR0913 - one row of a table
    group: str,
    version: str,
    plural: str,
    kind: str,
    *,
    namespaced: bool = True,
    has_status: bool = False,
    short_names: tuple[str, ...] = (),
    categories: tuple[str, ...] = (),
    verbs: tuple[str, ...] = VERBS,
    scaffold: Mapping[str, Object] = _NOTHING,
) -> Kind:
    return Kind(
        group=group,
        version=version,
        plural=plural,
        singular=kind.lower(),
        kind=kind,
        list_kind=f"{kind}List",
        namespaced=namespaced,
        has_status=has_status,
        short_names=short_names,
        categories=categories,
        verbs=verbs,
        scaffold=scaffold,
    )


CRDS = _builtin(
    CRD_GROUP,
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
    has_status=True,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    scaffold={"spec": {"names": {}}, "status": {"acceptedNames": {}}},
)
NAMESPACES = _builtin(
    "",
    "v1",
    "namespaces",
    "Namespace",
    namespaced=False,
    has_status=True,
    short_names=("ns",),
    scaffold={"spec": {}, "status": {}},
)
SECRETS = _builtin("", "v1", "secrets", "Secret")
REVIEWS = _builtin(
    "authorization.k8s.io",
    "v1",
    "selfsubjectaccessreviews",
    "SelfSubjectAccessReview",
    namespaced=False,
    verbs=("create",),
)
RULES_REVIEWS = _builtin(
    "authorization.k8s.io",
    "v1",
    "selfsubjectrulesreviews",
    "SelfSubjectRulesReview",
    namespaced=False,
    verbs=("create",),
)
BUILTINS = (
    _builtin("", "v1", "configmaps", "ConfigMap", short_names=("cm",)),
    _builtin("", "v1", "events", "Event", short_names=("ev",), scaffold={"source": {}}),
    NAMESPACES,
    SECRETS,
    _builtin("", "v1", "serviceaccounts", "ServiceAccount", short_names=("sa",)),
    CRDS,
    REVIEWS,
    RULES_REVIEWS,
    _builtin("coordination.k8s.io", "v1", "leases", "Lease", scaffold={"spec": {}}),
)
