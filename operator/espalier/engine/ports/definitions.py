"""
The ports to the CustomResourceDefinitions, and to what this process may do.
"""

from collections.abc import Sequence
from typing import Protocol

from espalier.crd import Condition, Definition
from espalier.engine.ports.records import Endpoint


class Definitions(Protocol):
    """
    The CustomResourceDefinitions. Errors as for ``Objects``.
    """

    async def get_definition(self, name: str) -> Definition:
        """
        Read one from etcd, not from a cache.
        """

    async def get_resource_version(self, name: str) -> str:
        """
        Read the resource version of one, likewise; little is read for it.
        """

    async def set_stored_versions(
        self, definition: Definition, versions: Sequence[str]
    ) -> Definition:
        """
        Replace ``status.storedVersions`` by a merge patch with uid and resourceVersion.

        Raises:
            ConflictError: The definition changed since it was read.
        """

    async def apply_conditions(
        self, definition: Definition, conditions: Sequence[Condition], *, field_manager: str
    ) -> None:
        """
        Server-side apply of ``status.conditions`` with the definition's uid; none takes ours away.
        """

    async def other_migrations(self, definition: Definition) -> tuple[str, ...]:
        """
        Name the server's own migrations of these objects that have not come to their end.

        Returns:
            None where the server knows no such thing.

        Raises:
            ForbiddenError: It does not let us look.
        """


class MarkedDefinitions(Definitions, Protocol):
    """
    What Espalier has left on definitions.
    """

    async def get_with_managers(self, name: str) -> tuple[Definition, frozenset[str]]:
        """
        Read one from etcd, and the managers that its managedFields name.

        Raises:
            MalformedDefinitionError: It cannot be read as a definition.
        """

    async def remove_metadata(
        self, definition: Definition, what: str, names: Sequence[str]
    ) -> None:
        """
        Take labels or annotations off by a merge patch with the definition's uid.

        Args:
            what: ``labels`` or ``annotations``.
        """


class Rights(Protocol):
    """
    What the process may do.
    """

    async def missing_verbs(
        self, resource: Endpoint, verbs: Sequence[str], *, namespace: str = "", name: str = ""
    ) -> tuple[str, ...]:
        """
        Ask by SelfSubjectAccessReview which verbs are not granted.

        Args:
            verbs: Each may name a subresource: ``update/status``.
            namespace: Where; empty for all namespaces at once.
            name: Of the only object that they are needed on; empty for all objects.
        """
