"""
Long causes keep their end, where servers put the cause.
"""

from espalier.engine.status.causes import MAX_CAUSE_CHARACTERS, cause_of
from espalier.engine.status.text import cut_in_the_middle
from espalier.errors import ConversionError


def test_a_text_that_is_cut_keeps_its_end() -> None:
    assert cut_in_the_middle("abcdefghij", 7) == "ab...ij"
    assert cut_in_the_middle("abcdefg", 7) == "abcdefg"


def test_the_cause_of_a_failed_conversion_is_kept() -> None:
    detail = (
        f"Internal error occurred: {'x' * 500} AdditionalErrorMsg: objects could not be read:"
        ' conversion webhook for c2.example.com/v1alpha1, Kind=Moat failed: Post "https://gone":'
        ' service "gone" not found'
    )
    error = ConversionError(verb="list", resource="moats.c2.example.com", status=500, detail=detail)

    assert cause_of(error).endswith('service "gone" not found')
    assert len(cause_of(error)) <= MAX_CAUSE_CHARACTERS
