import pytest

from espalier import schema
from espalier.paths import JSON
from espalier.schema import Nulls, Profile
from espalier.schema.normalization import fast_path as recognizing
from espalier.schema.normalization.closures import IDLE, PRUNING, ClosureShape, Done, PlaceActions
from espalier.schema.values import equal_json
from tests.properties.test_recognition import NODES, VALUES, around, normalizers, put

SHAPE = ClosureShape({"a": IDLE}, PRUNING, frozenset(), IDLE)
NORMAL: dict[str, JSON] = {"a": 1}
SPOILT: dict[str, JSON] = {"z": 1}


INNER = ClosureShape({"x": IDLE}, PRUNING, frozenset(), IDLE)
ITEM = PlaceActions(on_object=lambda _: None, shape=INNER)
NESTED = PlaceActions(
    on_object=lambda _: None,
    on_list=lambda _: None,
    shape=ClosureShape({"x": IDLE}, PRUNING, frozenset(), ITEM),
)
HOLDING = ClosureShape({"a": NESTED}, PRUNING, frozenset(), IDLE)


class Walks:
    """
    A change of objects that counts how many it walked over.
    """

    def __init__(self, shape: ClosureShape | None = SHAPE) -> None:
        self.count = 0
        self.change = recognizing.recognizing(PlaceActions(on_object=self.walk, shape=shape))

    def walk(self, _fields: dict[str, JSON]) -> Done | None:
        self.count += 1
        return None

    def of(self, value: dict[str, JSON], times: int) -> int:
        """
        Tell how many of so many equal objects were walked over.
        """
        before = self.count
        for _ in range(times):
            assert self.change.on_object is not None
            assert self.change.on_object(value) is None
        return self.count - before


def test_many_objects_are_walked_before_any_is_recognised() -> None:
    walks = Walks()

    assert walks.of(NORMAL, 512) == 512
    assert walks.of(NORMAL, 100) == 0
    assert walks.of(SPOILT, 1) == 1


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognizing, "_FIRST_PAUSE", 0)


@pytest.mark.usefixtures("at_once")
def test_trials_become_rare_where_they_fail_and_frequent_where_they_do_not() -> None:
    walks = Walks()
    # A trial that fails, and so many objects that are not tried: 1, 3, 7 ... at most 127.
    for pause in (1, 3, 7, 15, 31, 63, 127, 127):
        assert walks.of(SPOILT, 1) == 1
        assert walks.of(NORMAL, pause) == pause
    # A trial that is right shortens the pause by a quarter.
    for pause in (95, 71, 53, 39, 29, 21, 15, 11, 8, 6, 4, 3, 2, 1, 0, 0):
        assert walks.of(NORMAL, 1) == 0
        assert walks.of(NORMAL, pause) == pause


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    ("shape", "value"),
    [
        (SHAPE, {"a": [{"deep": None}]}),
        (ClosureShape({"a": IDLE}, IDLE, frozenset(), IDLE), {"a": 1, "b": 2}),
        (ClosureShape({}, IDLE, frozenset(), IDLE), {"b": None}),
        (ClosureShape({"a": IDLE, "b": IDLE}, PRUNING, frozenset({"b"}), IDLE), {"b": None}),
        (HOLDING, {"a": {"x": []}}),
        (HOLDING, {"a": [{"x": {}}, None, 1]}),
        (ClosureShape({}, ITEM, frozenset(), IDLE), {"k": {"x": 1}, "l": {}}),
    ],
    ids=["anything", "unknown", "a map", "needed", "an object", "a list", "a map of objects"],
)
def test_what_a_shape_leaves_alone_is_recognised(
    shape: ClosureShape, value: dict[str, JSON]
) -> None:
    assert Walks(shape).of(value, 3) == 0


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    ("shape", "value"),
    [
        (SHAPE, SPOILT),
        (ClosureShape({"a": IDLE, "b": IDLE}, PRUNING, frozenset({"a"}), IDLE), {"b": 1}),
        (HOLDING, {"a": {"z": 1}}),
        (HOLDING, {"a": [{"z": 1}]}),
        (ClosureShape({}, ITEM, frozenset(), IDLE), {"k": {"z": 1}}),
        # Neither can be written as a type.
        (
            ClosureShape({"a": IDLE}, PlaceActions(on_list=lambda _: None), frozenset(), IDLE),
            {"a": 1},
        ),
        (ClosureShape({"\ud800": IDLE}, PRUNING, frozenset(), IDLE), {}),
        (SHAPE, {"\ud800": 1}),
    ],
    ids=[
        "unknown",
        "lacking",
        "an object",
        "a list",
        "a map of objects",
        "unlike a type",
        "a surrogate",
        "a surrogate unknown",
    ],
)
def test_nothing_else_is_recognised(shape: ClosureShape, value: dict[str, JSON]) -> None:
    assert Walks(shape).of(value, 3) == 3


def test_without_a_shape_there_is_nothing_to_recognise() -> None:
    change = PlaceActions(on_object=lambda _: None)

    assert recognizing.recognizing(change) is change
    assert recognizing.recognizing(IDLE) is IDLE


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("node", NODES, ids=str)
def test_a_sample_of_values_is_answered_as_by_a_walk(node: JSON) -> None:
    raw, place = around(node)[0]
    structural = schema.parse(raw, profile=Profile.APISERVER)
    assert structural is not None
    for profile, nulls in ((Profile.APISERVER, Nulls.NORMALIZE), (Profile.KEP, Nulls.NORMALIZE)):
        walking, recognising = normalizers(structural, profile, nulls)
        for value in VALUES[::3]:
            given = put(value, place)

            one = walking(given, drop_malformed_metadata=True)
            other = recognising(given, drop_malformed_metadata=True)

            assert equal_json(one.value, other.value), given
            assert (one.value is given) == (other.value is given), given
