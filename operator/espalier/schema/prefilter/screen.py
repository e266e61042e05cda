"""
Validation of many objects of one schema, most of which are valid: that is found out first.

A screen tells in microseconds that an object is surely valid, or that it does not know. Only then
the exact engine looks at the object, so that all findings are its own.
"""

import functools
from collections.abc import Callable

import jsonschema_rs

from espalier.findings import FieldError
from espalier.paths import JSON, Path
from espalier.schema.model import Profile, Structural
from espalier.schema.prefilter.json_schema import JUDGE, translate
from espalier.schema.prefilter.predicates import Judge
from espalier.schema.validation.walk import validate


class ScreenedValidation:
    """
    Validates values by one schema as ``validate`` does, valid ones much faster.

    The first value costs more: the screen is made for it.
    """

    def __init__(self, structural: Structural | None, profile: Profile) -> None:
        self._structural = structural
        self._profile = profile

    def validate(self, value: JSON, *, path: Path = (), root: str = "") -> tuple[FieldError, ...]:
        """
        Find what is wrong with a value; arguments and findings are those of ``validate``.
        """
        if self.is_surely_valid(value):
            return ()
        return validate(value, self._structural, profile=self._profile, path=path, root=root)

    def is_valid(self, value: JSON) -> bool:
        """
        Tell whether ``validate`` finds nothing.
        """
        return self.is_surely_valid(value) or not self.validate(value)

    def is_surely_valid(self, value: JSON) -> bool:
        """
        Tell whether the screen lets a value pass; some valid ones it does not.

        Args:
            value: Decoded JSON of any shape: what ``json`` makes, and no subclasses.
        """
        try:
            return self._screen(value)
        except (ValueError, RecursionError):
            # Nothing that a validator in another language can take: a lone surrogate, for one.
            return False

    @functools.cached_property
    def _screen(self) -> Callable[[JSON], bool]:
        if self._structural is None:
            return lambda _: True
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
    Prepare ``validate`` for many values of one schema. The arguments are the same.

    A schema that was compiled lately is not compiled again.
    """
    return ScreenedValidation(structural, profile)


def _keyword(judges: tuple[Judge, ...]) -> type:
    class Keyword:
        """
        A keyword as the validator wants it: made with its value, it raises at what is wrong.
        """

        def __init__(self, _schema: JSON, index: int, _path: list[str | int]) -> None:
            self._judge = judges[index]

        def validate(self, instance: JSON) -> None:
            if not self._judge(instance):
                raise ValueError

    return Keyword
