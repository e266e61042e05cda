"""
A definition without a schema: its objects must not be rewritten.
"""

from typing import Any

import pytest

from tests.e2e.conftest import MakeCrd
from tests.e2e.crds import CURRENT, NON_STRUCTURAL, version
from tests.e2e.operating import is_ours
from tests.e2e.waiting import throughout

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("operator")]


@pytest.mark.parametrize(
    ("plural", "openapi"),
    [
        pytest.param("formless", None, id="no schema"),
        pytest.param("rootless", {"type": "object"}, id="no properties at the root"),
    ],
)
def test_a_legacy_crd_that_specifies_nothing_is_left_alone(
    crd: MakeCrd, plural: str, openapi: dict[str, Any] | None
) -> None:
    things = crd(plural)
    things.put_legacy([version("v1", openapi)], storage="v1")
    things.add("v1", things.object("v1", "one", spec={"any": {"thing": [1, 2]}}, more=True))
    before = things.raw()
    mark = things.plane.audit.mark()

    things.label(mode="enforce")
    things.wait_for(CURRENT, "False", "NoSchema")

    def nothing_is_written() -> None:
        writes = [
            request
            for request in things.plane.audit.requests(mark)
            if is_ours(request) and request.is_mutating and request.resource.startswith(plural)
        ]
        assert writes == []
        assert things.raw() == before

    throughout(nothing_is_written, seconds=3)
    condition = things.condition(NON_STRUCTURAL)
    assert condition is not None
    assert condition["message"] == "spec.preserveUnknownFields: Invalid value: true: must be false"
