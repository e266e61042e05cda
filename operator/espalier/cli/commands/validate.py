"""
``espalier validate``: validate objects in files by the schemas of their definitions.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click

from espalier.cli.checks.catalogue import DefinitionCatalogue
from espalier.cli.checks.documents import is_definition, problem_of
from espalier.cli.checks.object import (
    FieldValidation,
    ObjectStatus,
    ObjectVerdict,
    ValidationContext,
    validate_document,
    without_old,
)
from espalier.cli.input.files import Document, expand, read_documents
from espalier.cli.options import (
    Command,
    Target,
    namespace_names,
    profiled,
    reporting,
    targeting,
    versioned,
    with_options,
)
from espalier.cli.output.terminal import Terminal
from espalier.cli.progress import Advance
from espalier.cli.result import Column, Level, Problem, Result, Skipped, Table
from espalier.cli.spool import Spool, SpoolView
from espalier.errors import SourceError
from espalier.paths import JSON
from espalier.plurals import counted
from espalier.schema import Profile

_STATUS_TEXTS = {
    ObjectStatus.VALID: "valid",
    ObjectStatus.INVALID: "invalid",
    ObjectStatus.NOT_CHECKED: "not fully checked",
    ObjectStatus.NO_SCHEMA: "without a schema",
}


@dataclass(frozen=True, slots=True)
class _OldObjects:
    """
    The objects that the validated ones replace, by kind, namespace and name.
    """

    objects: dict[tuple[str, ...], JSON]

    def of(self, value: JSON) -> JSON:
        return self.objects.get(_identity(value))


_REQUEST_OPTIONS = (
    click.option(
        "-n",
        "--namespace",
        default="default",
        show_default=True,
        metavar="NAME",
        callback=namespace_names,
        help="The namespace of objects that name none.",
    ),
    click.option(
        "--subresource",
        type=click.Choice(["status"]),
        help="Validate the status of each object, as a write through this subresource.",
    ),
    click.option(
        "--field-validation",
        type=click.Choice([one.value for one in FieldValidation]),
        default=FieldValidation.STRICT.value,
        show_default=True,
        help="Whether unknown and duplicate fields are errors, warnings or accepted.",
    ),
)


@dataclass(frozen=True, slots=True)
class _ValidateRequest:
    """
    The request that the objects are validated for.
    """

    namespace: str
    of_status: bool
    field_validation: FieldValidation
    minor: int | None

    def context(self, catalogue: DefinitionCatalogue, profile: Profile) -> ValidationContext:
        return ValidationContext(
            catalogue=catalogue,
            profile=profile,
            namespace=self.namespace,
            field_validation=self.field_validation,
            of_status=self.of_status,
            minor=self.minor,
        )


def _requested(command: Command) -> Command:
    @functools.wraps(command)
    def wrapped(
        *,
        namespace: str,
        subresource: str | None,
        field_validation: str,
        minor: int | None,
        **given: object,
    ) -> None:
        mode = FieldValidation(field_validation)
        request = _ValidateRequest(namespace, subresource is not None, mode, minor)
        command(request=request, **given)

    return with_options(wrapped, [*_REQUEST_OPTIONS, versioned()])


@click.command()
@click.argument("objects", nargs=-1, required=True, metavar="OBJ...")
@click.option(
    "--crd",
    "crds",
    multiple=True,
    metavar="FILE",
    help="The definitions: a file, a folder or a pattern; may be given more than once.",
)
@click.option("--cluster", "in_cluster", is_flag=True, help="Use the definitions of a cluster.")
@click.option(
    "--update-of",
    "old",
    metavar="OLD",
    help="Validate each as an update of the object of the same name in this file or folder.",
)
@_requested
@click.option(
    "--allow-unchecked",
    is_flag=True,
    help="Do not exit with 4 if something could not be checked.",
)
@targeting(keeps=False)
@profiled(default=Profile.APISERVER)
@reporting()
def validate(  # noqa: PLR0913 - one argument an option
    *,
    terminal: Terminal,
    target: Target,
    profile: Profile,
    objects: tuple[str, ...],
    crds: tuple[str, ...],
    in_cluster: bool,
    old: str | None,
    request: _ValidateRequest,
    allow_unchecked: bool,
) -> None:
    """
    Validate objects as an API server would.

    OBJ is a YAML or JSON file, which may have several documents and lists, a folder, a quoted
    pattern, or - for standard input. Each object is pruned and defaulted first, as a server does,
    and then checked by the schema of the version that it names. Every violation of types, values,
    validation rules (CEL) and metadata is reported with its position.

    A new object loses its status first if the version has the status subresource. Unknown and
    duplicate fields are errors, as with kubectl.

    An object without a schema is neither valid nor invalid, and an object is not valid if one of
    its rules could not be evaluated. Both are reported, and the exit code is 4.

    \b
    Examples:
      espalier validate --crd crd.yaml widget.yaml
      espalier validate --crd config/crd/ --allow-unchecked 'deploy/**/*.yaml'
      espalier validate --cluster widget.yaml
      espalier validate --crd crd.yaml --update-of before.yaml after.yaml
      espalier validate --crd crd.yaml --subresource status widget.yaml

    \b
    Exit codes:
      0  all objects are valid
      1  an object is not valid (with --fail-on warning: or has warnings)
      2  the command line is not valid
      3  a file or the cluster could not be read
      4  something could not be checked or is not there; see --allow-unchecked
    """
    if not crds and not in_cluster:
        raise click.UsageError("Name the definitions: --crd FILE, or --cluster.")
    _check_arguments((*crds, *objects), old, request, profile)
    catalogue = _catalogue_of(crds, target if in_cluster else None, request.minor)
    context = request.context(catalogue, profile)
    validated, problems = _run(terminal, objects, context, old)
    empty = () if problems else validated.without_objects(objects)
    terminal.finish(_result_of(validated, problems, empty, is_lenient=allow_unchecked))


class _Validated:
    """
    The verdicts, and what is counted of them while they come in.

    Attributes:
        unchecked: The objects of which a part was not checked.
    """

    def __init__(self) -> None:
        self.verdicts = Spool[ObjectVerdict]()
        self.statuses = dict.fromkeys(ObjectStatus, 0)
        self.levels = dict.fromkeys(Level, 0)
        self.unchecked = 0
        self._arguments: set[str] = set()

    def add(self, argument: str, verdict: ObjectVerdict) -> None:
        self.verdicts.append(verdict)
        self.statuses[verdict.status] += 1
        for finding in verdict.findings:
            self.levels[finding.level] += 1
        is_unchecked = verdict.status is ObjectStatus.NO_SCHEMA or verdict.rules_not_checked > 0
        self.unchecked += is_unchecked or verdict.lacks_old
        self._arguments.add(argument)

    def without_objects(self, arguments: Sequence[str]) -> tuple[Skipped, ...]:
        reason = "no object in it, so nothing of it was validated"
        return tuple(
            Skipped(source=named, reason=reason)
            for named in arguments
            if named not in self._arguments
        )


def _run(
    terminal: Terminal, objects: Sequence[str], context: ValidationContext, old: str | None
) -> tuple[_Validated, list[Problem]]:
    problems = list(context.catalogue.problems)
    validated = _Validated()
    if not problems:
        olds = None if old is None else _read_olds(old, problems)
        with terminal.progress("validating") as advance:
            for argument, verdict in _verdicts(objects, context, olds, problems, advance):
                validated.add(argument, verdict)
    return validated, problems


def _check_arguments(
    sources: Sequence[str], old: str | None, request: _ValidateRequest, profile: Profile
) -> None:
    for option, is_given in (
        ("--update-of", old is not None),
        ("--subresource", request.of_status),
    ):
        if is_given and profile is Profile.KEP:
            raise click.UsageError(
                f"{option} needs --profile apiserver: only it has rules for updates."
            )
    if (*sources, old).count("-") > 1:
        raise click.UsageError("Standard input (-) can be read only once.")


def _catalogue_of(
    crds: Sequence[str], target: Target | None, minor: int | None
) -> DefinitionCatalogue:
    catalogue = DefinitionCatalogue(minor)
    catalogue.add_sources(crds)
    if target is not None:
        # Loading the client of the cluster takes longer than validating most files.
        from espalier.cli.checks.from_cluster import fetch_definitions

        fetch_definitions(target, catalogue)
    return catalogue


def _verdicts(
    objects: Sequence[str],
    context: ValidationContext,
    olds: _OldObjects | None,
    problems: list[Problem],
    advance: Advance,
) -> Iterator[tuple[str, ObjectVerdict]]:
    sources = list(_sources(objects, problems))
    advance(0, total=len(sources))
    for done, (argument, source) in enumerate(sources, 1):
        for document in _objects_in(source, problems):
            old = None if olds is None else olds.of(document.value)
            verdict = validate_document(document, context, old=old)
            if olds is not None and old is None:
                verdict = without_old(document, verdict)
            yield argument, verdict
        advance(done)


def _sources(arguments: Sequence[str], problems: list[Problem]) -> Iterator[tuple[str, str]]:
    # Yield each argument with each of the files that it stands for.
    for named in arguments:
        try:
            for source in expand([named]):
                yield named, source
        except SourceError as error:
            problems.append(problem_of(error))


def _objects_in(source: str, problems: list[Problem]) -> Iterator[Document]:
    try:
        # Definitions that lie beside the objects are not validated.
        documents = read_documents(source, keeps_duplicates=True)
        yield from (one for one in documents if not is_definition(one))
    except SourceError as error:
        problems.append(problem_of(error))


def _read_olds(named: str, problems: list[Problem]) -> _OldObjects:
    olds = {}
    for _, source in _sources([named], problems):
        for document in _objects_in(source, problems):
            olds[_identity(document.value)] = document.value
    return _OldObjects(olds)


def _identity(value: JSON) -> tuple[str, ...]:
    match value:
        case {"apiVersion": str(api_version), "kind": str(kind), "metadata": dict(metadata)}:
            group = api_version.rpartition("/")[0]
            names = (metadata.get("namespace"), metadata.get("name"))
            return (group, kind, *(name if isinstance(name, str) else "" for name in names))
        case _:
            return ()


def _result_of(
    validated: _Validated,
    problems: Sequence[Problem],
    empty: Sequence[Skipped],
    *,
    is_lenient: bool,
) -> Result:
    verdicts, numbers, levels = validated.verdicts, validated.statuses, validated.levels
    total = len(verdicts)
    parts = [f"{number} {_STATUS_TEXTS[status]}" for status, number in numbers.items() if number]
    number_text = counted(total, "object")
    parts += [f"{counted(len(empty), 'source')} without an object"] if empty else []
    columns = [Column(title=title) for title in ("OBJECT", "VERSION", "STATUS", "VIOLATIONS", "AT")]
    rows = SpoolView(verdicts, lambda one: (_row(one),), total)
    return Result(
        kind="ValidateResult",
        summary=f"{number_text}: {', '.join(parts)}" if parts else f"{number_text} to validate",
        findings=SpoolView(verdicts, lambda one: one.findings, sum(levels.values())),
        problems=tuple(problems),
        skipped=tuple(empty),
        subjects=SpoolView(verdicts, lambda one: (one.subject,), total),
        tables=(Table(columns=columns, rows=rows, is_wide=True),),
        items=SpoolView(verdicts, lambda one: (_item(one),), total),
        counts={"objects": total, **{status.value: n for status, n in numbers.items()}},
        is_incomplete=(validated.unchecked > 0 or bool(empty)) and not is_lenient,
        levels=levels,
        grouped=SpoolView(verdicts, lambda one: ((one.subject, one.findings),), total),
    )


def _row(one: ObjectVerdict) -> list[str]:
    status = _STATUS_TEXTS[one.status]
    return [one.subject.name, one.version, status, str(one.violations), one.subject.where]


def _item(one: ObjectVerdict) -> JSON:
    return {
        "name": one.subject.name,
        "source": one.subject.source,
        "document": one.subject.document,
        "version": one.version,
        "status": one.status.value,
        "violations": one.violations,
        "rulesNotChecked": one.rules_not_checked,
    }
