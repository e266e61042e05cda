"""
Objects that satisfy their schema are judged by the rest of what servers look at, too.
"""

from espalier.engine.surveys.object_verdict import StoredObjectJudge
from espalier.paths import JSON
from espalier.schema import NO_JUDGE, Standing
from tests.fakes.widgets import legacy_widgets


def widget(**metadata: JSON) -> JSON:
    definition = legacy_widgets()
    own: JSON = {"name": "one", "namespace": "default", **metadata}
    return {
        "apiVersion": f"{definition.group}/{definition.storage.name}",
        "kind": definition.kind,
        "metadata": own,
        "spec": {"size": 1},
    }


def standing(obj: JSON) -> Standing:
    judge = StoredObjectJudge(legacy_widgets(), rules=NO_JUDGE)
    return judge.judge(obj).standing


def test_an_object_that_satisfies_its_schema_is_valid() -> None:
    assert standing(widget()) is Standing.VALID


def test_a_label_that_no_server_takes_blocks_an_object_whatever_its_schema_says() -> None:
    assert standing(widget(labels={"-": "x"})) is Standing.BLOCKED
