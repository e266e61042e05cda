"""
Paths as the API server writes them; the expectations were printed by apimachinery's ``field.Path``.
"""

import pytest

from espalier.paths import Key, Path, render_path, render_unknown


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), "<nil>"),
        (("spec", "ports", 0, "name"), "spec.ports[0].name"),
        (("properties", Key("spec"), "type"), "properties[spec].type"),
        (("",), "[]"),
        (("", "metadata"), "[].metadata"),
        (("a", "", "b"), "a[].b"),
        ((0, "a"), "[0].a"),
        ((Key(""), "a"), "[].a"),
    ],
)
def test_paths_of_field_errors_are_written_as_the_server_writes_them(path: Path, text: str) -> None:
    assert render_path(path) == text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("",), ""),
        (("", "metadata"), ".metadata"),
        (("a", "", "b"), "a..b"),
        (("a", 0, "b"), "a[0].b"),
    ],
)
def test_paths_of_unknown_fields_leave_empty_names_empty(path: Path, text: str) -> None:
    assert render_unknown(path) == text
