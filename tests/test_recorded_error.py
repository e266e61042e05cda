"""
Errors with fields take what their classes annotate, as dataclasses do.
"""

from typing import Any, cast

import pytest

from espalier.errors import ConflictError, LeaseLostError, NotFoundError, UnusableNameError
from espalier.recorded_error import RecordedError


class _BaseError(RecordedError):
    number: int
    text: str = "none"


class _NamedError(_BaseError, kw_only=True):
    where: str = ""


def test_fields_are_set_by_position_and_by_name() -> None:
    error = _BaseError(1, text="a")

    assert (error.number, error.text) == (1, "a")


def test_a_field_that_is_not_given_has_its_default() -> None:
    assert _BaseError(1).text == "none"


def test_a_class_has_the_fields_of_its_base_first() -> None:
    error = _NamedError(1, "a", where="here")

    assert repr(error) == "_NamedError(number=1, text='a', where='here')"


def test_a_class_without_fields_of_its_own_has_those_of_its_base() -> None:
    error = ConflictError(verb="patch", resource="widgets")

    assert str(error) == "patch widgets: "
    assert UnusableNameError("no").detail == "no"


def test_an_error_without_fields_is_written_as_an_exception() -> None:
    assert repr(RecordedError()) == "RecordedError()"


def test_equal_fields_do_not_make_equal_errors() -> None:
    assert _BaseError(1) != _BaseError(1)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((), {}),
        ((1, "a", "here"), {}),
        ((1,), {"number": 2}),
        ((1,), {"other": 2}),
    ],
    ids=["too few", "by position", "twice", "unknown"],
)
def test_what_does_not_fit_the_fields_is_refused(
    values: tuple[object, ...], named: dict[str, object]
) -> None:
    make = cast("Any", _NamedError)

    with pytest.raises(TypeError, match="_NamedError"):
        make(*values, **named)


def test_a_field_by_name_only_takes_no_position() -> None:
    make = cast("Any", NotFoundError)

    with pytest.raises(TypeError, match="NotFoundError"):
        make("get", "widgets")


def test_positions_follow_the_order_of_the_class() -> None:
    error = LeaseLostError("widgets.example.com", "other", 3.0)

    assert (error.crd, error.holder, error.free_in_seconds) == ("widgets.example.com", "other", 3.0)


def test_a_copy_has_other_values_only_where_they_are_given() -> None:
    error = NotFoundError(verb="get", resource="widgets", status=404)

    copied = error.replaced(is_object=True)

    assert (copied.is_object, copied.status, error.is_object) == (True, 404, False)
    assert copied.__class__ is NotFoundError
