"""
Read members of decoded JSON, each as the type that it must have.
"""

import binascii
import re
from collections.abc import Iterator

from espalier.errors import MalformedDefinitionError
from espalier.paths import JSON, Path
from espalier.schema.values import type_of

_INT32 = range(-(1 << 31), 1 << 31)


class Fields:
    """
    The members of one object; a null counts as absent.

    Raises:
        MalformedDefinitionError: A member has the wrong JSON type.
    """

    __slots__ = ("_members", "path")

    def __init__(self, value: JSON, path: Path) -> None:
        if not isinstance(value, dict):
            raise MalformedDefinitionError(path, "must be an object")
        self._members = value
        self.path = path

    def raw(self, name: str) -> JSON:
        """
        Return a member unchanged.
        """
        return self._members.get(name)

    def text(self, name: str) -> str:
        """
        Return a text; empty if it is absent.
        """
        return self.optional_text(name) or ""

    def optional_text(self, name: str) -> str | None:
        """
        Return a text; None if it is absent.
        """
        value = self._members.get(name)
        if value is not None and not isinstance(value, str):
            raise MalformedDefinitionError((*self.path, name), "must be a string")
        return value

    def flag(self, name: str) -> bool:
        """
        Return a boolean; False if it is absent.
        """
        value = self._members.get(name)
        if value is not None and not isinstance(value, bool):
            raise MalformedDefinitionError((*self.path, name), "must be true or false")
        return value is True

    def integer(self, name: str, *, default: int) -> int:
        """
        Return an integer of 32 bits.
        """
        value = self._members.get(name)
        if value is None:
            return default
        if type_of(value) != "integer" or not isinstance(value, int):
            raise MalformedDefinitionError((*self.path, name), "must be an integer")
        if value not in _INT32:
            raise MalformedDefinitionError((*self.path, name), "must be an integer of 32 bits")
        return value

    def data(self, name: str) -> bytes:
        """
        Return the bytes that a base64 text encodes; empty if it is absent.
        """
        # Go's decoder ignores line breaks.
        encoded = re.sub("[\r\n]", "", self.text(name))
        try:
            return binascii.a2b_base64(encoded, strict_mode=True)
        except ValueError as error:
            raise MalformedDefinitionError((*self.path, name), "must be base64") from error

    def object(self, name: str) -> "Fields | None":
        """
        Return an object's members; None if it is absent.
        """
        value = self._members.get(name)
        return None if value is None else Fields(value, (*self.path, name))

    def required_object(self, name: str) -> "Fields":
        """
        Return an object's members; those of an empty object if it is absent.
        """
        return self.object(name) or Fields({}, (*self.path, name))

    def list(self, name: str) -> tuple[JSON, ...]:
        """
        Return a list; empty if it is absent.
        """
        value = self._members.get(name)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise MalformedDefinitionError((*self.path, name), "must be a list")
        return tuple(value)

    def objects(self, name: str) -> "Iterator[Fields]":
        """
        Yield the members of the objects in a list.
        """
        for index, value in enumerate(self.list(name)):
            yield Fields({} if value is None else value, (*self.path, name, index))

    def texts(self, name: str) -> tuple[str, ...]:
        """
        Return a list of texts; empty if it is absent.
        """
        texts = []
        for index, value in enumerate(self.list(name)):
            if not isinstance(value, str):
                raise MalformedDefinitionError((*self.path, name, index), "must be a string")
            texts.append(value)
        return tuple(texts)
