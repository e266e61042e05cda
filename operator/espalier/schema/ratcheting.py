"""
Ratcheting: errors that an old value had already are tolerated in an update.

An API server ignores the errors of a value that equals the correlated old value. The schema defines
the correlation: members of objects are correlated by name, items of lists of the type map by their
keys, and items of other lists are not correlated.
"""

from collections.abc import Hashable

from msgspec import Struct

from espalier.paths import JSON
from espalier.schema.model import Structural
from espalier.schema.values import equal_json

TYPE_FIELDS = ("apiVersion", "kind")
"""Fields of the root that are never ratcheted: old and new are converted to the same type."""


class Correlation:
    """
    A value, the correlated old value, and the schema of both.

    Comparisons are cached, and a parent's comparison uses those of its members.

    Source:
        apiserver, ``pkg/cel/common/equality.go``, ``CorrelatedObject``.
    """

    __slots__ = ("_equal", "_members", "_old_items", "old", "structural", "value")

    def __init__(self, value: JSON, old: JSON, structural: Structural) -> None:
        self.value = value
        self.old = old
        self.structural = structural
        self._equal: bool | None = None
        self._members: dict[str | int, Correlation] = {}
        self._old_items: _OldItems | None = None

    def key(self, name: str) -> "Correlation | None":
        """
        Return the correlation of an object's member; None if it is new or has no schema.
        """
        if name in self._members:
            return self._members[name]
        if not (isinstance(self.value, dict) and isinstance(self.old, dict)):
            return None
        child = self.structural.child(name)
        if child is None or name not in self.value or name not in self.old:
            return None
        return self._remember(name, self.value[name], self.old[name], child)

    def index(self, index: int) -> "Correlation | None":
        """
        Return the correlation of a list's item; None if it is new or the list is no map.
        """
        if index in self._members:
            return self._members[index]
        items = self.structural.items
        old_items = self._keyed()
        if items is None or old_items is None or not isinstance(self.value, list):
            return None
        old = old_items.get(self.value[index])
        return None if old is None else self._remember(index, self.value[index], old, items)

    def is_unchanged(self) -> bool:
        """
        Report whether the value counts as equal to the old one.

        A member without a schema makes its object unequal, whatever its value.
        """
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _remember(
        self, step: str | int, value: JSON, old: JSON, structural: Structural
    ) -> "Correlation":
        self._members[step] = found = Correlation(value, old, structural)
        return found

    def _keyed(self) -> "_OldItems | None":
        if self.structural.list_type != "map" or not isinstance(self.value, list):
            return None
        if self._old_items is None and isinstance(self.old, list):
            self._old_items = _OldItems(self.old, self.structural)
        return self._old_items

    def _compare(self) -> bool:
        value, old = self.value, self.old
        if isinstance(value, dict) and isinstance(old, dict):
            return len(value) == len(old) and all(map(_is_unchanged, map(self.key, value)))
        if isinstance(value, list) and isinstance(old, list) and self._keyed() is not None:
            members = map(self.index, range(len(value)))
            return len(value) == len(old) and all(map(_is_unchanged, members))
        return equal_json(value, old)


def _is_unchanged(member: Correlation | None) -> bool:
    return member is not None and member.is_unchanged()


class _OldItems:
    """
    The old items of a list of the type map, by key; the first one if several have the same key.

    Source:
        apiserver, ``pkg/cel/common/maplist.go``, ``MakeMapList``.
    """

    def __init__(self, items: list[JSON], structural: Structural) -> None:
        self._names = structural.list_map_keys
        self._items: dict[Hashable, JSON] = {}
        if structural.type == "array" and self._names:
            for item in items:
                key = self._key(item)
                if key is not None:
                    self._items.setdefault(key, item)

    def get(self, item: JSON) -> JSON:
        """
        Return the old item with the same key; None if there is none.
        """
        key = self._key(item)
        return None if key is None else self._items.get(key)

    def _key(self, item: JSON) -> Hashable:
        if not isinstance(item, dict):
            return None
        keys: list[Hashable] = []
        for name in self._names:
            member = item.get(name)
            if member is None or isinstance(member, (dict, list)):
                return None
            # 1, 1.0 and true are different in Go, but equal in Python. The server joins the texts
            # of several keys, with six digits after the point: smaller differences do not count.
            is_joined = len(self._names) > 1 and isinstance(member, float)
            keys.append((member.__class__, f"{member:f}" if is_joined else member))
        return tuple(keys)


class Tolerance(Struct, frozen=True):
    """
    Which failures of CEL rules an update tolerates at one value.

    Attributes:
        here: The value's own correlation; None if it has none, or if nothing is tolerated.
        around: The correlation of the nearest parent that has one; None at the root.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/cel/validation.go``,
        ``ratchetingOptions``.
    """

    here: Correlation | None = None
    around: Correlation | None = None

    def key(self, name: str) -> "Tolerance":
        """
        Return the tolerance of an object's member.
        """
        if self.here is None:
            return self
        if self.around is None and name in TYPE_FIELDS:
            return NO_TOLERANCE
        return Tolerance(self.here.key(name), self.here)

    def index(self, index: int) -> "Tolerance":
        """
        Return the tolerance of a list's item.
        """
        return self if self.here is None else Tolerance(self.here.index(index), self.here)

    def within_all_of(self) -> "Tolerance":
        """
        Return the tolerance of a member of ``allOf``: only the parent's correlation counts there.
        """
        return Tolerance(None, self.around)

    def forgives(self) -> bool:
        """
        Report whether a rule that does not use ``oldSelf`` may fail here.
        """
        judged = self.around if self.here is None else self.here
        return judged is not None and judged.is_unchanged()


NO_TOLERANCE = Tolerance()
"""The tolerance of a creation: nothing is tolerated."""
