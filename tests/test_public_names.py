"""
The public surface of the library: which names users may rely on.

A name gets in when a user of the library calls it, or when a public function takes or returns it;
then it stands in CHANGELOG.md, too. A name that only Espalier itself needs stays out: it is
imported from the module that defines it.
"""

from espalier import crd, schema


def test_the_schema_package_exports_what_is_promised_and_nothing_else() -> None:
    assert set(schema.__all__) == {
        "NO_JUDGE",
        "Answer",
        "CelJudge",
        "Defaulted",
        "Normalized",
        "Normalizer",
        "Nulls",
        "NullsDropped",
        "Profile",
        "Pruned",
        "Resource",
        "RuleJudge",
        "ScalePaths",
        "ScreenedValidation",
        "Standing",
        "StoredObjectVerdict",
        "Structural",
        "check_creation",
        "check_status_update",
        "check_structural",
        "check_update",
        "compile_normalizer",
        "compile_validation",
        "convert_to_v2",
        "default",
        "drop_nulls",
        "judge_stored",
        "normalize",
        "parse",
        "prune",
        "render",
        "strip",
        "unfold",
        "validate",
    }


def test_the_crd_package_exports_what_is_promised_and_nothing_else() -> None:
    assert set(crd.__all__) == {
        "Condition",
        "Definition",
        "Lint",
        "OpenAPI",
        "Rejection",
        "Version",
        "Warned",
        "check_definition",
        "hint_for",
        "lint",
        "nonstructural_condition",
        "publish",
        "published_versions",
        "read_definition",
        "resource_of",
        "server_warnings",
        "structural_findings",
        "structural_of",
    }
