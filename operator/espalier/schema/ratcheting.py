"""
What was there before is tolerated: old values, and which of them are the same as new ones.

An API server forgives an update the errors of a value that is equal to the old value in the same
place. Which place is the same is for the schema to say: keys of objects by their names, items of
lists that are maps by their keys, and items of other lists not at all.
"""

from collections.abc import Hashable
from dataclasses import dataclass

from espalier.paths import JSON
from espalier.schema.model import Structural
from espalier.schema.values import equal_json

TYPE_FIELDS = ("apiVersion", "kind")
"""Fields of the root that forgive nothing: old and new are converted to the same type."""


class Correlation:
    """
    A value, the old value in the same place, and the schema of both.

    Comparisons are remembered, and those of members serve for their parents.

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
        Go to a member of an object; None if it is new, or if no schema knows it.
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
        Go to an item of a list that is a map; None if it is new, or if the list is no map.
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
        Tell whether the value counts as equal to the old one.

        A member that no schema knows makes its object unequal, whatever it holds.
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
    The old items of a list that is a map, by their keys; of several with one key, the first.

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
        Find the old item of the same key; None if there is none.
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
            # 1, 1.0 and true are different in Go, but equal in Python. Of several keys the server
            # joins the texts, with six digits after the point: tinier differences are none.
            is_joined = len(self._names) > 1 and isinstance(member, float)
            keys.append((member.__class__, f"{member:f}" if is_joined else member))
        return tuple(keys)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """
    What an update forgives the CEL rules of one place.

    Attributes:
        here: None where the place cannot be correlated, or where nothing is forgiven.
        around: The nearest place above that could be; None at the root.

    Source:
        apiextensions-apiserver, ``pkg/apiserver/schema/cel/validation.go``,
        ``ratchetingOptions``.
    """

    here: Correlation | None = None
    around: Correlation | None = None

    def key(self, name: str) -> "Tolerance":
        """
        Go to a member of an object.
        """
        if self.here is None:
            return self
        if self.around is None and name in TYPE_FIELDS:
            return NO_TOLERANCE
        return Tolerance(self.here.key(name), self.here)

    def index(self, index: int) -> "Tolerance":
        """
        Go to an item of a list.
        """
        return self if self.here is None else Tolerance(self.here.index(index), self.here)

    def within_all_of(self) -> "Tolerance":
        """
        Go to a member of ``allOf``: it is forgiven only what is the same in the place above.
        """
        return Tolerance(None, self.around)

    def forgives(self) -> bool:
        """
        Tell whether a rule that does not use ``oldSelf`` may fail here.
        """
        judged = self.around if self.here is None else self.here
        return judged is not None and judged.is_unchanged()


NO_TOLERANCE = Tolerance()
"""What a creation forgives: nothing."""
