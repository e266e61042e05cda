"""
The structural check of a definition, and the server's ``NonStructuralSchema`` condition.
"""

from espalier import schema
from espalier.crd.definition import Condition, Definition, Version
from espalier.errors import SchemaParseError
from espalier.findings import ErrorType, FieldError
from espalier.golang.printing import aggregate
from espalier.names import NON_STRUCTURAL_SCHEMA
from espalier.schema import Profile, Structural


def structural_of(version: Version, *, profile: Profile = Profile.APISERVER) -> Structural | None:
    """
    Parse the schema of a version; None if it has none.

    Raises:
        SchemaParseError: API servers refuse to read a part of the schema.
    """
    return schema.parse(version.schema, profile=profile)


def structural_findings(definition: Definition) -> tuple[FieldError, ...]:
    """
    Return the API server's findings on the structure of a definition.

    Returns:
        First that of ``preserveUnknownFields``, then those of each version, in order. A version
        without a schema has none. Versions that are not served are checked, too.

    Raises:
        SchemaParseError: A schema cannot be parsed; the other findings are not returned.

    Source:
        apiextensions-apiserver,
        ``pkg/controller/nonstructuralschema/nonstructuralschema_controller.go``,
        ``calculateCondition``.
    """
    findings = []
    if definition.preserve_unknown_fields:
        findings.append(
            FieldError(
                type=ErrorType.INVALID,
                path=("spec", "preserveUnknownFields"),
                value=True,
                detail="must be false",
                origin="preserveUnknownFields",
            )
        )
    for index, version in enumerate(definition.versions):
        try:
            structural = structural_of(version)
        except SchemaParseError as error:
            detail = f"failed to check validation schema for version {version.name}: {error}"
            raise SchemaParseError(detail) from error
        path = ("spec", "versions", index, "schema", "openAPIV3Schema")
        findings += schema.check_structural(structural, profile=Profile.APISERVER, path=path)
    return tuple(findings)


def nonstructural_condition(definition: Definition) -> Condition | None:
    """
    Return the condition that the API server's own controller would set.

    Returns:
        The condition without a time; None if the definition is structural.

    Source:
        apiextensions-apiserver,
        ``pkg/controller/nonstructuralschema/nonstructuralschema_controller.go``.
    """
    try:
        findings = structural_findings(definition)
    except SchemaParseError as error:
        return Condition(
            type=NON_STRUCTURAL_SCHEMA,
            status="Unknown",
            reason="StructuralError",
            message=str(error),
        )
    if not findings:
        return None
    message = aggregate(str(finding) for finding in findings)
    return Condition(
        type=NON_STRUCTURAL_SCHEMA, status="True", reason="Violations", message=message
    )
