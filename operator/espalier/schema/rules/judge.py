"""
The judge that evaluates rules, as API servers do.

The language is loaded with the first schema that has a rule.
"""

from collections.abc import Callable, Sequence
from typing import Final

from espalier.paths import JSON, Path
from espalier.schema.model import Structural
from espalier.schema.ratcheting import NO_TOLERANCE, Tolerance
from espalier.schema.rules.port import Ruling, has_rules

_SECONDS_OF_OBJECT: Final = 10.0


class CelJudge:
    """
    Evaluate the rules of schemas; recently compiled rules are cached.

    It is safe for concurrent use by several threads.
    """

    def __init__(
        self,
        *,
        monotonic_seconds: Callable[[], float] | None = None,
        seconds_of_object: float = _SECONDS_OF_OBJECT,
    ) -> None:
        """
        Set the limits.

        Args:
            monotonic_seconds: A clock; without one only the cost budget limits an evaluation.
            seconds_of_object: How long the rules of one object may take. Rules that are left then
                are not checked.
        """
        self._clock = monotonic_seconds or _standing
        self._seconds = seconds_of_object

    def governs(self, structural: Structural, *, is_resource: bool) -> bool:
        """
        Report whether there is a rule to evaluate.
        """
        if not has_rules(structural):
            return False
        from espalier.schema.rules.compilation import compile_rules  # noqa: PLC0415 - few schemas have rules
        from espalier.schema.rules.types import NestingError  # noqa: PLC0415

        try:
            return compile_rules(structural, is_resource=is_resource) is not None
        except NestingError:
            return True

    def judge(
        self,
        structural: Structural,
        value: JSON,
        *,
        old: JSON = None,
        path: Path = (),
        is_resource: bool = True,
        tolerance: Tolerance = NO_TOLERANCE,
    ) -> Sequence[Ruling]:
        """
        Evaluate the rules of a value and of everything in it.

        Returns:
            The rulings on rules that are not satisfied, in the server's order. Where that is the
            order of a map, it is the order of the value.
        """
        if not has_rules(structural):
            return ()
        from espalier.schema.rules import evaluation  # noqa: PLC0415
        from espalier.schema.rules.compilation import compile_rules  # noqa: PLC0415
        from espalier.schema.rules.types import NestingError  # noqa: PLC0415

        try:
            root = compile_rules(structural, is_resource=is_resource)
        except NestingError as error:
            return (evaluation.unchecked(path, str(error)),)
        limit = self._clock() + self._seconds
        return evaluation.Evaluation(self._clock, limit).run(root, value, old, path, tolerance)


def _standing() -> float:
    return 0.0
