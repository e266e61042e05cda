"""
The violations that validation finds, and the position of the checked value.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from espalier.findings import ErrorType
from espalier.paths import JSON, Path
from espalier.schema.model import Structural


class Violation(NamedTuple):
    """
    A value's violation of a keyword.

    Attributes:
        path: The path of the value; None if the server reports only that of the whole value.
        text: The validator's message, which contains the value's name.
        detail: The message of the field error, if it differs.
    """

    keyword: str
    type: ErrorType
    path: Path | None
    value: JSON
    text: str
    detail: str | None = None


class ValueViolations:
    """
    The violations of one value and of its contents.

    Attributes:
        violations: The violations by their messages; only the first one with each message is kept.
        matches: How many checks succeeded, as the server counts; the best member of a junctor has
            the most.
    """

    __slots__ = ("matches", "violations")

    def __init__(self) -> None:
        self.violations: dict[str, Violation] = {}
        self.matches = 0

    def add(self, violation: Violation) -> None:
        """
        Add a violation, unless there is one with the same message.
        """
        self.violations.setdefault(violation.text, violation)

    def merge(self, other: "ValueViolations") -> None:
        """
        Add the violations and matches of another result.
        """
        for text, violation in other.violations.items():
            self.violations.setdefault(text, violation)
        self.matches += other.matches


class Undeclared(str):
    """
    A key that only ``additionalProperties`` knows, of a value without a name.

    A dot comes before it in texts, though nothing comes before the dot.
    """

    __slots__ = ()


def name_of(path: Path, *, root: str = "") -> str:
    """
    Name a value as the server's validator does: the names of its path, joined by dots.

    An empty name leaves only its dot, and none where nothing comes before it.

    Source:
        kube-openapi, ``pkg/validation/validate/object_validator.go``, ``Validate``.
    """
    name = root
    for step in path:
        if isinstance(step, int):
            name += f"[{step}]"
        elif name or isinstance(step, Undeclared):
            name += f".{step}"
        else:
            name = step
    return name


class At(NamedTuple):
    """
    The position of a value, and the functions that validate values below it.

    Attributes:
        path: The path from the root of the value.
        root: The name of the root in messages; empty in those of API servers.
        validate: Validate the same value against a member of a junctor.
        validate_member: Validate a property or an item of the value.
        format_of: Return the format that is checked at a node.
    """

    path: Path
    root: str
    validate: Callable[[JSON, Structural, Path], ValueViolations]
    validate_member: Callable[[JSON, Structural, Path], ValueViolations]
    format_of: Callable[[Structural], str]

    @property
    def name(self) -> str:
        """
        The value's name in messages.
        """
        return name_of(self.path, root=self.root)

    def invalid(self, keyword: str, text: str, value: JSON) -> Violation:
        """
        Make a violation that is reported as an invalid value.
        """
        return Violation(
            keyword, ErrorType.INVALID, self.path, value, f"{self.name} in body {text}"
        )


Check: TypeAlias = Callable[[JSON, Structural, At, ValueViolations], None]
