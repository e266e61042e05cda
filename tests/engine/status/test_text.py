"""
Names that tenants choose are escaped and cut before they reach a message.
"""

import pytest

from espalier.engine.status.text import (
    MAX_KEY_CHARACTERS,
    MAX_PATH_CHARACTERS,
    printable,
    printable_path,
)
from espalier.paths import Key


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        pytest.param("spec.größe", "spec.größe", id="letters"),
        pytest.param("a\nb\r\n\tc", r"a\u000ab\u000d\u000a\u0009c", id="line breaks"),
        pytest.param("\x1b[31mred\x9b0m", r"\u001b[31mred\u009b0m", id="ANSI escapes"),
        pytest.param("\u202egnp.exe\u2066", r"\u202egnp.exe\u2066", id="bidi controls"),
        pytest.param("a\u200bb\ufeff", r"a\u200bb\ufeff", id="not seen"),
        pytest.param("a\u2028b\u2029", r"a\u2028b\u2029", id="separators"),
        pytest.param("\ud800\U000e0001", r"\ud800\U000e0001", id="surrogates and tags"),
    ],
)
def test_what_does_not_print_is_escaped(text: str, escaped: str) -> None:
    assert printable(text) == escaped
    assert printable_path((Key(text), 3)) == f"[{escaped}][3]"


def test_long_keys_and_paths_are_cut_in_the_middle() -> None:
    key = printable_path(("spec", "a" * 5000 + "z"))
    assert len(key) == len("spec.") + MAX_KEY_CHARACTERS
    assert key.startswith("spec.aaa")
    assert key.endswith("az")
    assert "..." in key

    path = printable_path((*["k" * 100] * 50, "end"))
    assert len(path) == MAX_PATH_CHARACTERS
    assert path.endswith(".end")
