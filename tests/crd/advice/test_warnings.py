import pytest

from espalier import crd
from espalier.golang.strfmt import FORMATS
from espalier.paths import JSON, render_path
from espalier.schema.validation.formats import recognizes_format
from tests.crd.manifests import manifest, property_of, version


def warned(new: JSON, old: JSON = None) -> list[tuple[str, str]]:
    return [(one.rule, render_path(one.path)) for one in crd.server_warnings(new, old)]


AT = "spec.versions[0].schema.openAPIV3Schema"


def test_a_warning_says_where_its_cause_stands() -> None:
    odd: JSON = {"type": "string", "format": "odd"}
    listed: JSON = {"type": "array", "items": {"type": "string"}}
    schema_: JSON = {
        "type": "object",
        "junk": 1,
        "properties": {
            "a": {"type": "array", "items": odd},
            "b": {"type": "array", "x-kubernetes-list-type": "set", "items": listed},
        },
    }

    assert warned(manifest(schema_)) == [
        ("unknown-field", f"{AT}.junk"),
        ("unrecognized-format", f"{AT}.properties[a].items.format"),
        ("set-of-collections", f"{AT}.properties[b].x-kubernetes-list-type"),
    ]


def test_an_update_is_warned_of_what_is_new() -> None:
    old = property_of({"type": "string", "format": "odd"})
    new = property_of({"type": "string", "format": "odder", "anyOf": [{"format": "odd"}]})

    assert warned(old, old) == []
    assert [str(one) for one in crd.server_warnings(new, old)] == ['unrecognized format "odder"']


def test_versions_with_schemas_of_their_own_have_paths_of_their_own() -> None:
    odd: JSON = {"type": "object", "properties": {"a": {"type": "string", "format": "odd"}}}
    two = manifest(versions=[version("v1"), version("v2", odd)])

    assert warned(two) == [
        ("unrecognized-format", f"{AT.replace('0', '1')}.properties[a].format"),
    ]


def test_v1beta1_knows_other_fields() -> None:
    beta = manifest(version="v1", validation={}, additionalPrinterColumns=[{"JSONPath": ".a"}])
    v1 = [path for _, path in warned(beta)]

    assert v1 == ["spec.version", "spec.validation", "spec.additionalPrinterColumns"]
    assert warned(beta | {"apiVersion": "apiextensions.k8s.io/v1beta1"}) == []


def test_metadata_that_is_unknown_comes_where_it_stands() -> None:
    new = {"junk": 1, **manifest(), "more": 1}
    new["metadata"] = {"name": "foos.example.com", "clusterName": "x"}

    assert [path for _, path in warned(new)] == ["junk", "metadata.clusterName", "more"]


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_formats_are_recognised_with_and_without_dashes(name: str) -> None:
    for spelled in (name, "-".join(name)):
        assert recognizes_format(spelled, "string")
        assert recognizes_format(spelled, "")
        assert not recognizes_format(spelled, "integer")
        assert not recognizes_format(spelled.upper(), "string") or name.upper() == name


def test_a_schema_of_any_depth_that_decodes_is_looked_through() -> None:
    deep: JSON = {"type": "string", "format": "odd"}
    for _ in range(60):
        deep = {"type": "object", "additionalProperties": {"type": "array", "items": deep}}

    [(rule, path)] = warned(property_of(deep))

    assert rule == "unrecognized-format"
    assert path.count("items") == 60
