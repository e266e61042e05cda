"""
Validate many objects of one schema, most of which are valid, by a fast check first.

The screen reports in microseconds that an object is surely valid, or that it cannot decide. Only
then the exact engine validates the object, so all findings are its own.
"""

import functools
from collections.abc import Callable

from espalier.findings import FieldError
from espalier.paths import JSON, Path
from espalier.schema.model import Structural
from espalier.schema.prefilter.predicates import Judge
from espalier.schema.profile import Profile
from espalier.schema.validation.walk import validate

_EXACT_VALUES = 8


class ScreenedValidation:
    """
    Validate values by one schema as ``validate`` does, but valid ones much faster.

    The first value takes longer, since the schema is translated then.
    """

    def __init__(self, structural: Structural | None, profile: Profile) -> None:
        self._structural = structural
        self._profile = profile
        self._values = 0

    def validate(self, value: JSON, *, path: Path = (), root: str = "") -> tuple[FieldError, ...]:
        """
        Return the findings of a value; arguments and findings are those of ``validate``.
        """
        if self.is_surely_valid(value):
            return ()
        return validate(value, self._structural, profile=self._profile, path=path, root=root)

    def is_valid(self, value: JSON) -> bool:
        """
        Report whether ``validate`` returns no findings.
        """
        return self.is_surely_valid(value) or not self.validate(value)

    def is_surely_valid(self, value: JSON) -> bool:
        """
        Report whether the screen accepts a value; it does not accept all valid ones.

        Args:
            value: Decoded JSON of any shape: the types that ``json`` makes, and no subclasses.
        """
        try:
            return self._screen(value)
        except (ValueError, RecursionError):
            # The validator cannot represent the value: a lone surrogate, for example.
            return False

    def is_soon_valid(self, value: JSON) -> bool:
        """
        Report what ``is_surely_valid`` reports, but nothing about the first values.

        The exact engine validates a few values before the screen is made.
        """
        if self._values < _EXACT_VALUES:
            self._values += 1
            return False
        return self.is_surely_valid(value)

    @functools.cached_property
    def _screen(self) -> Callable[[JSON], bool]:
        if self._structural is None:
            return lambda _: True
        # Definitions are checked without these, and so are single objects.
        import jsonschema_rs  # noqa: PLC0415

        from espalier.schema.prefilter.json_schema import JUDGE, translate  # noqa: PLC0415

        translation = translate(self._structural, profile=self._profile)
        keywords = {JUDGE: _keyword(translation.judges)}
        try:
            validator = jsonschema_rs.Draft4Validator(translation.document, keywords=keywords)
        except (ValueError, RecursionError):
            return lambda _: False
        return validator.is_valid


@functools.lru_cache(maxsize=256)
def compile_validation(structural: Structural | None, profile: Profile) -> ScreenedValidation:
    """
    Compile a schema for validating many values; the arguments are those of ``validate``.

    Recently compiled schemas are cached.
    """
    return ScreenedValidation(structural, profile)


def _keyword(judges: tuple[Judge, ...]) -> type:
    class Keyword:
        """
        A keyword in the form that the validator expects: it raises if the value is not valid.
        """

        def __init__(self, _schema: JSON, index: int, _path: list[str | int]) -> None:
            self._judge = judges[index]

        def validate(self, instance: JSON) -> None:
            if not self._judge(instance):
                raise ValueError

    return Keyword
