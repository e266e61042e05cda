import pytest

from espalier.paths import JSON
from espalier.schema.metadata.canonical import is_canonical
from espalier.schema.metadata.decoding import decode_metadata
from espalier.schema.values import equal_json

TIME = "2026-01-02T03:04:05Z"
OWNER: dict[str, JSON] = {"apiVersion": "v1", "kind": "", "name": "x", "uid": "u"}

CANONICAL: tuple[dict[str, JSON], ...] = (
    {},
    {"name": "x", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1},
    {"creationTimestamp": TIME, "deletionTimestamp": TIME, "finalizers": ["", "x"]},
    {"labels": {"a": ""}, "annotations": {"\ud800": "\ud800"}},
    {"ownerReferences": [OWNER, {**OWNER, "controller": False, "blockOwnerDeletion": True}]},
    {"managedFields": [{"manager": "m", "time": TIME, "fieldsV1": {"f:a": {}}}, {}]},
    {"generation": (1 << 63) - 1},
)

OTHERS: tuple[dict[str, JSON], ...] = (
    {"junk": 1},
    {"\ud800": 1},
    {"name": ""},
    {"name": None},
    {"name": 1},
    {"generation": 1.0},
    {"generation": 0},
    {"generation": True},
    {"generation": 1 << 63},
    {"creationTimestamp": "2026-01-02T03:04:05.5Z"},
    {"creationTimestamp": f"{TIME}\n"},
    {"creationTimestamp": "2026-02-31T03:04:05Z"},
    {"labels": {}},
    {"labels": {"a": None}},
    {"finalizers": []},
    {"finalizers": [None]},
    {"ownerReferences": []},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "", "name": "x"}]},
    {"ownerReferences": [{**OWNER, "controller": None}]},
    {"ownerReferences": [{**OWNER, "junk": 1}]},
    {"managedFields": [{"fieldsV1": None}]},
    {"managedFields": [{"manager": ""}]},
    {"managedFields": [None]},
)


@pytest.mark.parametrize("metadata", CANONICAL, ids=ascii)
def test_what_an_api_server_writes_comes_back_itself(metadata: dict[str, JSON]) -> None:
    assert is_canonical(metadata)
    assert decode_metadata(metadata, drop_malformed=False).value is metadata


@pytest.mark.parametrize("metadata", CANONICAL, ids=ascii)
def test_decoding_field_by_field_would_leave_it_as_it_is(
    metadata: dict[str, JSON], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("espalier.schema.metadata.decoding.is_canonical", lambda _metadata: False)

    decoded = decode_metadata(metadata, drop_malformed=False)

    assert equal_json(decoded.value, metadata)
    assert decoded.unknown == ()


@pytest.mark.parametrize("metadata", OTHERS, ids=ascii)
def test_what_decoding_changes_or_refuses_is_not_canonical(metadata: dict[str, JSON]) -> None:
    assert not is_canonical(metadata)
    decoded = decode_metadata(metadata, drop_malformed=True)
    assert not equal_json(decoded.value, metadata)
