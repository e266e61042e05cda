"""
The page of rights lists what the manifests grant.
"""

from tests.docs.rights import PAGE, page, rights
from tests.manifests.test_manifests import added, granted, installed


def test_the_page_is_written_from_the_manifests() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run make docs"


def test_every_rule_of_every_role_is_listed() -> None:
    roles = [
        doc
        for doc in (*installed(), *added("structural"))
        if doc["kind"] in {"Role", "ClusterRole"}
        # Which is not the operator's.
        and doc["metadata"]["name"] != "espalier-report-reader"
    ]
    resources = sum(len(granted(role)) for role in roles)

    assert len(rights()) == resources
    verbs = sum(len(verbs) for role in roles for verbs in granted(role).values())
    assert sum(len(right.verbs) for right in rights()) == verbs
