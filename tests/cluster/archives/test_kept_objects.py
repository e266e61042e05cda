"""
What Espalier keeps in its namespace is listed to its end.
"""

import pytest

from espalier.errors import ExpiredTokenError
from tests.cluster.scripted import Reply, Script, connected, status_of


def page(*names: str, following: str = "") -> Reply:
    items = [{"metadata": {"name": name, "uid": f"uid-{name}"}} for name in names]
    return Reply(body={"metadata": {"continue": following}, "items": items})


def expired(**metadata: str) -> Reply:
    return Reply(410, status_of(410, "Expired", metadata=metadata))


@pytest.mark.parametrize(
    ("answer", "following"), [(expired(), ""), (expired(**{"continue": "t2"}), "t2")]
)
async def test_a_list_goes_on_where_its_token_was_too_old(answer: Reply, following: str) -> None:
    script = Script(page("a", following="t1"), answer, page("b"), page(), page())
    async with connected(script) as cluster:
        found = [one.plain_name async for one in cluster.kept_objects("ns").list_objects()]

    assert found == ["a", "b"]
    assert [seen.query.get("continue", "") for seen in script.seen[:3]] == ["", "t1", following]


async def test_a_first_page_that_is_too_old_is_an_error() -> None:
    async with connected(Script(expired())) as cluster:
        with pytest.raises(ExpiredTokenError):
            _ = [one async for one in cluster.kept_objects("ns").list_objects()]
