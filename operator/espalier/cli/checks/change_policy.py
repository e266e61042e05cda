"""
Read a policy: which changes of definitions are errors, warnings, or allowed.
"""

from espalier.cli.input.files import read_documents
from espalier.crd.changes.change import KINDS, ChangePolicy, Severity
from espalier.errors import SourceError
from espalier.paths import JSON

_EXAMPLE = "changes: {enum-value-added: allowed}"


def read_policy_file(source: str) -> ChangePolicy:
    """
    Read a policy from a YAML or JSON file.

    The file has one document with a map ``changes``, from kinds of changes to severities. The kind
    ``*`` stands for all kinds that are not listed.

    Raises:
        SourceError: The file cannot be read, or names an unknown kind or severity.
    """
    documents = list(read_documents(source))
    match [document.value for document in documents]:
        case [{"changes": dict(listed)}]:
            pass
        case _:
            raise SourceError(source, f"not a policy of changes, such as: {_EXAMPLE}")
    known = {kind: _severity(listed["*"], source) for kind in KINDS} if "*" in listed else {}
    for kind, severity in listed.items():
        if kind == "*":
            continue
        if kind not in KINDS:
            mark = documents[0].mark(("changes", kind))
            raise SourceError(
                source,
                f"unknown kind of change {kind!r}; there are {', '.join(sorted(KINDS))}",
                mark.line if mark else None,
            )
        known[kind] = _severity(severity, source)
    return ChangePolicy(known)


def _severity(written: JSON, source: str) -> Severity:
    for severity in Severity:
        if written == severity.value:
            return severity
    wanted = ", ".join(severity.value for severity in Severity)
    raise SourceError(source, f"{written!r} is no severity: use {wanted}")
