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


def structural_findings(folder: Path, text: str) -> list[tuple[str, str]]:
    (folder / "crd.yaml").write_text(text)
    result = CliRunner().invoke(main, ["check", "-o", "json", str(folder / "crd.yaml")])
    findings = document_in(result.stdout)["findings"]
    assert isinstance(findings, list)
    return [
        (str(one["version"]), str(one["message"]))
        for one in findings
        if isinstance(one, dict) and str(one["rule"]).startswith("structural/")
    ]


def test_a_schema_for_all_versions_has_one_fault(tmp_path: Path) -> None:
    path = "spec.versions[0].schema.openAPIV3Schema.properties[spec].type"
    expected = [("", f"{path} must be non-empty (in v1, v1beta1)")]

    assert structural_findings(tmp_path, LEGACY) == expected
    assert structural_findings(tmp_path, ALIASED) == expected


def test_versions_with_schemas_of_their_own_have_faults_of_their_own(tmp_path: Path) -> None:
    found = structural_findings(tmp_path, EACH)

    assert [version for version, _ in found] == ["v1", "v1beta1"]
    assert [message.partition(".schema")[0] for _, message in found] == [
        "spec.versions[0]",
        "spec.versions[1]",
    ]
