"""
What validation finds, and where: violations, their results and their places.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from espalier.findings import ErrorType
from espalier.paths import JSON, Path
from espalier.schema.model import Structural


class Violation(NamedTuple):
    """
    That a value violates a keyword.

    Attributes:
        path: Of the value; None where the server reports none but that of the whole.
        text: The text of the validator, with the value's name in it.
        detail: The text of the field error, where that is another.
    """

    keyword: str
    type: ErrorType
    path: Path | None
    value: JSON
    text: str
    detail: str | None = None


class ValueViolations:
    """
    The violations of one value and of what is in it.

    Attributes:
        violations: By their texts; the first of each text counts.
        matches: How many checks were made with some success; the best member of a junctor is
            the one that has most of them.
    """

    __slots__ = ("matches", "violations")

    def __init__(self) -> None:
        self.violations: dict[str, Violation] = {}
        self.matches = 0

    def add(self, violation: Violation) -> None:
        """
        Add a violation, if none has its text.
        """
        self.violations.setdefault(violation.text, violation)

    def merge(self, other: "ValueViolations") -> None:
        """
        Add all that another has.
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
    Where a value is.

    Attributes:
        path: From the root of the value.
        root: How the root itself is called in texts; API servers do not call it anything.
        validate: Validates the same value against a member of a junctor.
        validate_member: Validates a property or an item of the value.
        format_of: Names the format that is heeded at a node.
    """

    path: Path
    root: str
    validate: Callable[[JSON, Structural, Path], ValueViolations]
    validate_member: Callable[[JSON, Structural, Path], ValueViolations]
    format_of: Callable[[Structural], str]

    @property
    def name(self) -> str:
        """
        The value's name in texts.
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
