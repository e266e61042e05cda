"""
Exceptions with fields, whose classes cost next to nothing to define.

A dataclass compiles its methods from text, which takes longer than loading many a module, and a
command raises hardly any of the errors that there are.
"""

from inspect import get_annotations
from typing import Any, ClassVar, Self, dataclass_transform


@dataclass_transform(eq_default=False)
class RecordedError(Exception):
    """
    An exception with the fields that its class annotates, in their order; those of its base first.

    To type checkers it is a dataclass. It compares by identity, as exceptions do.

    Args:
        kw_only: Whether the fields of the class can be given by name only.
    """

    _names: ClassVar[tuple[str, ...]] = ()
    _positional: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        """
        Note the fields of a class.
        """
        own = tuple(name for name in get_annotations(cls) if name[0] != "_")
        cls._names = (*cls._names, *own)
        if not kw_only:
            cls._positional = (*cls._positional, *own)

    def __init__(self, *values: Any, **named: Any) -> None:
        """
        Set the fields.

        Raises:
            TypeError: A field has no value, two, or does not exist.
        """
        known = self._names
        given = dict(zip(self._positional, values, strict=False))
        if len(given) < len(values) or not given.keys().isdisjoint(named):
            raise TypeError(f"{type(self).__name__}: too many values")
        given |= named
        lacking = [name for name in known if name not in given and not hasattr(type(self), name)]
        if lacking or not given.keys() <= {*known}:
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(known)}")
        self.__dict__.update(given)

    def replaced(self, **changes: Any) -> Self:
        """
        Return a copy, with other values for some fields, and without a traceback.
        """
        return type(self)(**{name: getattr(self, name) for name in self._names} | changes)

    def __repr__(self) -> str:
        """
        Write the fields with their names.
        """
        if not self._names:
            return super().__repr__()
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._names)
        return f"{type(self).__qualname__}({fields})"
