"""
A fault that several versions share is one finding.
"""

from pathlib import Path

from click.testing import CliRunner

from espalier.cli import main
from tests.cli.manifests import document_in

LEGACY = """\
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  preserveUnknownFields: false
  validation:
    openAPIV3Schema:
      type: object
      properties:
        spec: {}
  versions:
  - {name: v1, served: true, storage: true}
  - {name: v1beta1, served: true, storage: false}
"""
ALIASED = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {plural: widgets, kind: Widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: &schema
      openAPIV3Schema:
        type: object
        properties:
          spec: {}
  - {name: v1beta1, served: true, storage: false, schema: *schema}
"""
EACH = ALIASED.replace("&schema", "").replace(
    "*schema", "{openAPIV3Schema: {type: object, properties: {spec: {}}}}"
)


# A third version with a schema of its own has the fault as well, and another one.
THIRD = ALIASED + (
    "  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema:"
    " {type: object, properties: {spec: {}, status: {type: nothing}}}}}\n"
)


def errors_of(folder: Path, text: str) -> list[tuple[str, str]]:
    (folder / "crd.yaml").write_text(text)
    result = CliRunner().invoke(main, ["check", "-o", "json", str(folder / "crd.yaml")])
    findings = document_in(result.stdout)["findings"]
    assert isinstance(findings, list)
    return [
        (str(one["version"]), str(one["message"]))
        for one in findings
        if isinstance(one, dict) and one["level"] == "error"
    ]


def test_a_schema_for_all_versions_has_one_fault(tmp_path: Path) -> None:
    path = "spec.versions[0].schema.openAPIV3Schema.properties[spec].type"
    expected = [("", f"{path} must be non-empty (in v1, v1beta1)")]

    assert errors_of(tmp_path, LEGACY) == expected
    assert errors_of(tmp_path, ALIASED) == expected


def test_versions_with_schemas_of_their_own_have_faults_of_their_own(tmp_path: Path) -> None:
    found = errors_of(tmp_path, EACH)

    assert [version for version, _ in found] == ["v1", "v1beta1"]
    assert [message.partition(".schema")[0] for _, message in found] == [
        "spec.versions[0]",
        "spec.versions[1]",
    ]


def test_the_server_s_refusal_of_a_reported_fault_is_not_reported_too(tmp_path: Path) -> None:
    paths = [
        (version, message.partition(" must be")[0].partition(": Unsupported")[0])
        for version, message in errors_of(tmp_path, THIRD)
    ]

    shared, own = "spec.versions[{}].schema.openAPIV3Schema.properties[spec].type".format, "v2"
    assert paths[:2] == [("", shared(0)), (own, shared(2))]
    assert all("properties[status]" in message for _, message in paths[2:])
