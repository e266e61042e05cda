"""
What holds for every schema and every value.
"""

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from espalier import schema
from espalier.crd.field_sets import specified_paths, specifies, unspecified
from espalier.errors import MalformedValueError, SchemaParseError
from espalier.paths import JSON, Path, Step
from espalier.schema import Nulls, Profile, Structural
from espalier.schema.metadata.decoding import decode_metadata
from espalier.schema.normalization.conservative_pruning import prune_conservatively
from espalier.schema.normalization.embedded_resources import EmbeddedResources
from espalier.schema.normalization.pruned_defaults import pruned_defaults
from espalier.schema.structural.invariants import render_structural
from espalier.schema.values import copy_json, equal_json
from tests.differential.strategies import loose, metadata, objects, roots, values
from tests.properties import dense

profiles = st.sampled_from(Profile)

thorough = settings(
    max_examples=200,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Structural, JSON]:
    """
    A schema that can be read, and a value: near it, or of any shape.
    """
    is_dense = draw(dense.often)
    raw = draw(dense.objects(depth=3) if is_dense else roots())
    try:
        parsed = schema.parse(raw, profile=Profile.APISERVER)
    except SchemaParseError:
        parsed = None
    assume(parsed is not None)
    assert parsed is not None
    if is_dense:
        return parsed, draw(dense.near(raw))
    return parsed, draw(st.one_of(objects(raw), values(raw), loose))


def contains(value: JSON, path: Path) -> bool:
    found = value
    for step in path:
        match found, step:
            case dict(), str() if step in found:
                found = found[step]
            case list(), int() if step < len(found):
                found = found[step]
            case _:
                return False
    return True


@thorough
@given(pairs(), profiles)
def test_pruning_twice_is_pruning_once(pair: tuple[Structural, JSON], profile: Profile) -> None:
    structural, value = pair
    once = schema.prune(value, structural, profile=profile)

    twice = schema.prune(once.value, structural, profile=profile)

    assert twice.value is once.value
    assert twice.removed == ()


@thorough
@given(pairs(), profiles, st.sampled_from(Nulls))
def test_nothing_changes_its_input(
    pair: tuple[Structural, JSON], profile: Profile, nulls: Nulls
) -> None:
    structural, value = pair
    before = copy_json(value)
    defaults = copy_json(structural.default)

    schema.prune(value, structural, profile=profile)
    schema.drop_nulls(value, structural)
    schema.default(value, structural, profile=profile, nulls=nulls)
    prune_conservatively(value, [structural])
    try:
        schema.normalize(value, structural, profile=profile, nulls=nulls)
    except MalformedValueError:
        assert profile is Profile.APISERVER

    assert equal_json(value, before)
    assert equal_json(structural.default, defaults)


@thorough
@given(pairs(), profiles)
def test_the_same_object_comes_back_exactly_if_nothing_is_reported(
    pair: tuple[Structural, JSON], profile: Profile
) -> None:
    structural, value = pair

    pruned = schema.prune(value, structural, profile=profile)
    dropped = schema.drop_nulls(value, structural)
    filled = schema.default(value, structural, profile=profile)

    assert (pruned.value is value) == (not pruned.removed)
    assert (dropped.value is value) == (not dropped.dropped)
    assert (filled.value is value) == (not filled.filled and not filled.dropped)


@thorough
@given(pairs(), profiles)
def test_removed_paths_are_there_before_and_gone_after(
    pair: tuple[Structural, JSON], profile: Profile
) -> None:
    structural, value = pair

    pruned = schema.prune(value, structural, profile=profile)

    assert all(contains(value, path) for path in pruned.removed)
    assert not any(contains(pruned.value, path) for path in pruned.removed)
    assert len(set(pruned.removed)) == len(pruned.removed)
    # Only fields are removed, so that the indexes of a path hold before and after.
    assert all(isinstance(path[-1], str) for path in pruned.removed)


@thorough
@given(pairs(), st.sampled_from(Nulls))
def test_one_pass_is_the_passes_one_by_one_for_the_proposals(
    pair: tuple[Structural, JSON], nulls: Nulls
) -> None:
    structural, value = pair
    pruned = schema.prune(value, structural, profile=Profile.KEP).value

    by_steps = schema.default(pruned, structural, profile=Profile.KEP, nulls=nulls).value

    normalized = schema.normalize(value, structural, profile=Profile.KEP, nulls=nulls)
    assert equal_json(normalized.value, by_steps)


@thorough
@given(pairs())
def test_one_pass_is_the_passes_one_by_one_for_the_server(pair: tuple[Structural, JSON]) -> None:
    structural, value = pair
    assume(isinstance(value, dict))
    assert isinstance(value, dict)
    body = {k: v for k, v in value.items() if k not in ("apiVersion", "kind", "metadata")}
    # Neither defaults that are pruned themselves nor embedded resources: they have their own steps.
    assume(not EmbeddedResources(structural).exist())
    assume(
        all(equal_json(node.default, left) for node, left in pruned_defaults(structural).items())
    )

    pruned = schema.prune(body, structural, profile=Profile.APISERVER)
    dropped = schema.drop_nulls(pruned.value, structural)
    filled = schema.default(dropped.value, structural, profile=Profile.APISERVER)

    normalized = schema.normalize(body, structural, profile=Profile.APISERVER)
    assert equal_json(normalized.value, filled.value)
    assert sorted(normalized.removed) == sorted(pruned.removed)
    assert sorted(normalized.dropped) == sorted(dropped.dropped)
    assert sorted(normalized.filled) == sorted(filled.filled)


@thorough
@given(st.data())
def test_careful_pruning_removes_no_more_than_anyone(data: st.DataObject) -> None:
    structural, value = data.draw(pairs())
    other, _ = data.draw(pairs())

    careful = prune_conservatively(value, [structural, other])

    for each in (structural, other):
        for profile in Profile:
            removed = set(schema.prune(value, each, profile=profile).removed)
            assert all(
                any(path[:length] in removed for length in range(1, len(path) + 1))
                for path, _ in careful.removed
            )
    for path, was in careful.removed:
        assert contains(value, path)
        assert not contains(careful.value, path)
        assert equal_json(was, at(value, path))
        assert path[0] not in ("apiVersion", "kind", "metadata")
        assert not any(path[: len(wrong)] == wrong for wrong in careful.mistyped)
    assert (careful.value is value) == (not careful.removed)


def at(value: JSON, path: Path) -> JSON:
    found = value
    for step in path:
        found = found[step]  # type: ignore[index]  # the path was found in it
    return found


@thorough
@given(pairs())
def test_careful_pruning_twice_is_careful_pruning_once(pair: tuple[Structural, JSON]) -> None:
    structural, value = pair
    once = prune_conservatively(value, [structural])

    twice = prune_conservatively(once.value, [structural])

    assert twice.removed == ()
    assert twice.value is once.value


def text_of(path: Path) -> str:
    def segment(step: Step) -> str:
        if isinstance(step, int):
            return "[*]"
        return "." + "".join(f"\\{char}" if char in "\\.*[]" else char for char in step)

    return "".join(map(segment, path))


def walk(value: JSON, path: Path = ()) -> list[Path]:
    members: list[tuple[Step, JSON]] = []
    if isinstance(value, dict):
        members = list(value.items())
    elif isinstance(value, list):
        members = list(enumerate(value))
    return [path, *(found for step, inner in members for found in walk(inner, (*path, step)))]


@thorough
@given(pairs())
def test_a_path_is_specified_exactly_if_the_servers_pruning_keeps_it(
    pair: tuple[Structural, JSON],
) -> None:
    structural, value = pair
    pruned = schema.prune(value, structural, profile=Profile.APISERVER).value

    for path in walk(value):
        assert specifies(structural, text_of(path)) == contains(pruned, path)


@thorough
@given(pairs())
def test_a_schema_loses_nothing_to_itself(pair: tuple[Structural, JSON]) -> None:
    structural, _ = pair

    assert unspecified(structural, specified_paths(structural)) == ()


@thorough
@given(pairs(), profiles)
def test_the_check_of_a_schema_is_sorted_and_never_fails(
    pair: tuple[Structural, JSON], profile: Profile
) -> None:
    structural, _ = pair

    texts = [
        render_structural(error, profile=profile)
        for error in schema.check_structural(structural, profile=profile)
    ]

    assert texts == sorted(texts)


@thorough
@given(st.one_of(metadata(), loose))
def test_decoded_metadata_decodes_to_itself(raw: JSON) -> None:
    try:
        once = decode_metadata(raw, drop_malformed=True)
    except MalformedValueError:
        assert not isinstance(raw, dict)
        return

    twice = decode_metadata(once.value, drop_malformed=False)

    assert equal_json(once.value, twice.value)
    assert twice.unknown == ()
