"""
Recognises objects that need no change from the first one on, as it otherwise does after hundreds.
"""

from collections.abc import Iterator

import pytest

from espalier.schema.normalization import fast_path as recognizing


@pytest.fixture(autouse=True, scope="package")
def recognition_at_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recognizing, "_FIRST_PAUSE", 0)
        yield
