"""
``espalier check``: verdicts, places, exit codes, and one clear line for what cannot be read.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from espalier.cli import main
from tests.cli.manifests import NOT_STRUCTURAL, STRUCTURAL

# To the proposals, patterns are no matter of structure; API servers compile them as RE2.
DIFFERENT = STRUCTURAL.replace(
    "              type: object\n", "              type: string\n              pattern: '(?=a)'\n"
)
BETA = """\
apiVersion: apiextensions.k8s.io/v1beta1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  version: v1
  names: {plural: widgets, kind: Widget}
  validation:
    openAPIV3Schema:
      properties:
        spec: {type: object}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["check", *arguments], input=stdin)


def test_a_structural_definition_is_clean(folder: Path) -> None:
    (folder / "crd.yaml").write_text(STRUCTURAL)

    result = check("crd.yaml")

    assert result.output == "1 definition checked by profile kep: no findings\n"
    assert result.exit_code == 0


def test_findings_have_file_line_column_name_path_and_message(folder: Path) -> None:
    (folder / "crd.yaml").write_text(NOT_STRUCTURAL)

    result = check("--profile", "apiserver", "crd.yaml")

    at = "spec.versions[0].schema.openAPIV3Schema.properties[spec]"
    text = "type: Required value: must not be empty for specified object fields"
    assert result.output.splitlines() == [
        f"crd.yaml:17:13: error: widgets.example.com: {at}.{text}",
        "    fix: add `type: object` here",
        f"crd.yaml:19:17: error: widgets.example.com: {at}.properties[size].{text}",
        (
            "    fix: add a `type` here, or `x-kubernetes-preserve-unknown-fields: true`"
            " if any value is allowed"
        ),
        "1 definition checked by profile apiserver: 0 structural, 1 not; 2 errors, 0 warnings",
    ]
    assert result.exit_code == 1


def test_the_proposals_have_messages_of_their_own(folder: Path) -> None:
    (folder / "crd.yaml").write_text(NOT_STRUCTURAL)

    result = check("crd.yaml")

    assert (
        "crd.yaml:17:13: error: widgets.example.com: spec.versions[0].schema.openAPIV3Schema"
        ".properties[spec].type must be non-empty\n"
    ) in result.output


def test_both_profiles_are_named_where_they_differ(folder: Path) -> None:
    (folder / "crd.yaml").write_text(DIFFERENT)

    kep, server = check("crd.yaml"), check("crd.yaml", "--profile", "apiserver")

    assert (
        "the profiles differ: structural under kep, not structural (1 finding) under apiserver;"
        " see --profile apiserver"
    ) in kep.output
    assert "the profiles differ: not structural (1 finding) under apiserver," in server.output
    refusal = (
        "the API server refuses to create it: spec.validation.openAPIV3Schema.properties[spec]"
    )
    assert kep.output.count(refusal) == 1
    assert server.output.count(refusal) == 0
    assert (kep.exit_code, server.exit_code) == (1, 1)


def test_the_shared_schema_of_a_v1beta1_definition_is_found(folder: Path) -> None:
    (folder / "crd.yaml").write_text(BETA)

    result = check("--profile", "apiserver", "crd.yaml")

    # preserveUnknownFields is true there without being said, so it stands nowhere but in spec.
    assert [line for line in result.output.splitlines() if " error: " in line][:2] == [
        (
            "crd.yaml:4:1: error: widgets.example.com: spec.preserveUnknownFields: Invalid value:"
            " true: must be false"
        ),
        (
            "crd.yaml:9:5: error: widgets.example.com: spec.versions[0].schema.openAPIV3Schema"
            ".type: Required value: must not be empty at the root"
        ),
    ]


def test_a_schema_that_no_server_can_parse_is_a_finding(folder: Path) -> None:
    (folder / "crd.yaml").write_text(
        STRUCTURAL.replace("type: object\n          prop", "$ref: x\n          prop")
    )

    result = check("crd.yaml")

    assert "openAPIV3Schema: OpenAPIV3Schema '$ref' is not supported\n" in result.output
    assert result.exit_code == 1


def test_a_version_without_a_schema_is_reported(folder: Path) -> None:
    (folder / "crd.yaml").write_text(STRUCTURAL.partition("      schema:")[0])

    result = check("crd.yaml")

    assert "note: widgets.example.com: version v1 has no schema, so there" in result.output
    assert "refuses to create it: spec.versions[0].schema.openAPIV3Schema: Req" in result.output
    assert result.exit_code == 1


def test_lists_and_documents_of_other_kinds_may_stand_around_it(folder: Path) -> None:
    indented = "".join(f"  {line}\n" for line in NOT_STRUCTURAL.splitlines()).replace("  ", "- ", 1)
    text = f"kind: Deployment\n---\napiVersion: v1\nkind: List\nitems:\n{indented}"
    (folder / "all.yaml").write_text(text)

    result = check("all.yaml", "-", stdin=json.dumps({"kind": "List", "items": []}))

    assert "all.yaml:22:15: error: widgets.example.com:" in result.output
    assert "espalier: -: no CustomResourceDefinition" in result.output
    assert result.exit_code == 3


def test_json_from_standard_input_knows_lines_and_columns(folder: Path) -> None:
    del folder
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "widgets", "kind": "Widget"},
            "scope": "Cluster",
            "versions": [{"name": "v1", "storage": True, "schema": {"openAPIV3Schema": {}}}],
        },
    }

    result = check("-", stdin=json.dumps(definition, indent=1))

    assert result.output.startswith("-:19:6: error: widgets.example.com: spec.versions[0]")
    assert result.exit_code == 1


def test_a_folder_may_hold_other_manifests(folder: Path) -> None:
    (folder / "crds").mkdir()
    (folder / "crds" / "crd.yaml").write_text(STRUCTURAL)
    (folder / "crds" / "deployment.yaml").write_text("kind: Deployment\n")

    result = check("crds")

    assert result.output == (
        "1 definition checked by profile kep: no findings; 1 document skipped\n"
    )
    assert result.exit_code == 0
    assert "skipped: crds/deployment.yaml:1:1: Deployment is not a CustomResourceDefinition" in (
        check("crds", "-o", "wide").output
    )


UNREADABLE = [
    ("no file", None, "x.yaml: cannot be read: No such file or directory"),
    ("nothing in it", "", "x.yaml: no CustomResourceDefinition of apiextensions.k8s.io in it"),
    ("another kind", "kind: Pod\n", "x.yaml: no CustomResourceDefinition of apiextensions.k8s.io"),
    ("a scalar", "hello\n", "x.yaml: no CustomResourceDefinition of apiextensions.k8s.io"),
    ("no YAML", "a: b: c\n", "x.yaml:1: not YAML: mapping values are not allowed"),
    (
        "a field of a wrong type",
        STRUCTURAL.replace("group: example.com", "group: [a]"),
        "x.yaml:6: spec.group: must be a string",
    ),
    (
        "an unknown version of the API",
        STRUCTURAL.replace("k8s.io/v1", "k8s.io/v2"),
        "x.yaml:1: not a CustomResourceDefinition of apiextensions.k8s.io/v1 or v1beta1",
    ),
]


@pytest.mark.parametrize(
    ("text", "line"), [case[1:] for case in UNREADABLE], ids=[case[0] for case in UNREADABLE]
)
def test_what_cannot_be_read_is_one_clear_line(folder: Path, text: str | None, line: str) -> None:
    if text is not None:
        (folder / "x.yaml").write_text(text)

    result = check("x.yaml")

    assert result.stderr.startswith(f"espalier: {line}")
    assert result.stderr.count("\n") == 1
    assert result.exit_code == 3


def test_one_bad_file_does_not_hide_the_verdict_on_another(folder: Path) -> None:
    (folder / "crd.yaml").write_text(NOT_STRUCTURAL)

    result = check("missing.yaml", "crd.yaml")

    assert "must be non-empty" in result.stdout
    assert result.stderr == "espalier: missing.yaml: cannot be read: No such file or directory\n"
    assert result.exit_code == 3


@pytest.mark.parametrize("arguments", [(), ("--profile", "other", "x"), ("--nonsense", "x")])
def test_a_senseless_command_line_is_a_usage_error(arguments: tuple[str, ...]) -> None:
    result = check(*arguments)

    assert result.exit_code == 2
    assert "Usage:" in result.stderr
