"""
Objects that the API server itself cannot read: which ones they are, and how lists get past them.

One such object makes every list fail that has it on its page. So pages are made smaller until the
page is that object alone. Where the server names it, the list goes on right behind it; where it
does not, the object is the one after the last that was listed, and the list goes on with the next
namespace.
"""

from espalier.engine.ports import ObjectKey, Objects
from espalier.errors import UndecodableError

SHRINKING = 4
"""By how much a page is made smaller, and larger again when it is past the object."""


class Skipper:
    """
    Keeps the names of what was passed over.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._names: dict[str, None] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """
        The objects that cannot be read: ``namespace/name``, or where they are.
        """
        return tuple(self._names)

    def token_behind(
        self, error: UndecodableError, *, namespace: str, after: ObjectKey | None
    ) -> str | None:
        """
        Take note of the one object of a page, and tell where the list goes on.

        Args:
            namespace: That is listed; empty for all.
            after: The object that was listed last; None at the beginning.

        Returns:
            A continue token; None if nobody knows what comes next, so that the list ends here.
        """
        key = key_of_storage_key(error.keys[0]) if error.keys else None
        if key is not None:
            self._names[str(key)] = None
            return self._objects.token_after(key, namespace=namespace)
        if after is None:
            self._names["the first one" + (f" in {namespace}" if namespace else "")] = None
            return None
        self._names[f"the one after {after}"] = None
        if namespace or not after.namespace:
            return None
        return self._objects.token_after_namespace(after.namespace)


def key_of_storage_key(text: str) -> ObjectKey | None:
    """
    Read the key of an object in etcd: ``/GROUP/PLURAL/NAMESPACE/NAME``, or without the namespace.
    """
    parts = text.strip("/").split("/")
    match parts[2:]:
        case [name] if name:
            return ObjectKey("", name)
        case [namespace, name] if namespace and name:
            return ObjectKey(namespace, name)
        case _:
            return None
