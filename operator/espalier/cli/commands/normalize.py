"""
``espalier prune``, ``default`` and ``normalize``: apply schemas to objects in files.
"""

import difflib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from espalier.cli.checks.catalogue import DefinitionCatalogue, display_name
from espalier.cli.checks.documents import problem_of
from espalier.cli.checks.transformation import Operation, Transformed, transform
from espalier.cli.input.files import Document, expand, items_of, read_whole, with_items
from espalier.cli.options import Command, profiled, reporting
from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.json_writer import write_json
from espalier.cli.output.terminal import Terminal, exit_of_result
from espalier.cli.output.yaml_writer import write_yaml
from espalier.cli.result import Problem, Result
from espalier.errors import SourceError
from espalier.paths import JSON
from espalier.plurals import counted
from espalier.schema import Profile


@dataclass(frozen=True, slots=True)
class _WholeDocument:
    """
    One document of a file, with its new value and the objects in it.
    """

    document: Document
    value: JSON
    parts: tuple[Transformed, ...]

    @property
    def is_json(self) -> bool:
        return self.document.is_json

    @property
    def is_changed(self) -> bool:
        return any(part.is_changed for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _NormalizeRequest:
    """
    The arguments of the command.
    """

    operation: Operation
    profile: Profile
    crds: tuple[str, ...]
    objects: tuple[str, ...]
    diffs: bool
    in_place: bool
    is_confirmed: bool

    def check(self) -> None:
        sources = (*self.crds, *self.objects)
        if sources.count("-") > 1:
            raise click.UsageError("Standard input (-) can be read only once.")
        if self.in_place and "-" in self.objects:
            raise click.UsageError("--in-place writes files; it cannot write standard input.")
        if self.in_place and self.diffs:
            raise click.UsageError("--diff and --in-place exclude each other: choose one.")


def _transforming(command: Command) -> Command:
    options = (
        click.argument("objects", nargs=-1, required=True, metavar="OBJ..."),
        click.option(
            "--crd",
            "crds",
            multiple=True,
            required=True,
            metavar="FILE",
            help="The definitions: a file, a folder or a pattern; may be given more than once.",
        ),
        click.option("--diff", "diffs", is_flag=True, help="Print a diff instead of the result."),
        click.option("--in-place", is_flag=True, help="Change the files, after confirmation."),
        click.option("--yes", "is_confirmed", is_flag=True, help="Do not ask for confirmation."),
        profiled(default=Profile.APISERVER),
        reporting(formats=("yaml", "json")),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@_transforming
def prune(*, terminal: Terminal, **given: object) -> None:
    """
    Print objects without the fields that their schemas do not specify.

    OBJ is a YAML or JSON file, which may have several documents and lists, a folder, a quoted
    pattern, or - for standard input. The schema is that of the version that the object names.
    Removed fields are reported on standard error, and so is every difference to the other
    profile.

    \b
    Examples:
      espalier prune --crd crd.yaml widget.yaml
      espalier prune --crd crds/ --diff --profile apiserver objects/
      espalier prune --crd crd.yaml --in-place --yes widget.yaml

    \b
    Exit codes:
      0  success, with or without changes
      1  an object cannot be decoded, or its schema is not structural;
         with --diff: there are differences;
         with --fail-on warning: there is no schema, or the profiles differ
      2  the command line is not valid
      3  a file could not be read
      4  nothing was written, since it was not confirmed
    """
    _run(Operation.PRUNE, terminal, given)


@click.command()
@_transforming
def default(*, terminal: Terminal, **given: object) -> None:
    """
    Print objects with the defaults of their schemas.

    OBJ is a YAML or JSON file, which may have several documents and lists, a folder, a quoted
    pattern, or - for standard input. The schema is that of the version that the object names.
    Fields that were filled in are reported on standard error, and so is every difference to the
    other profile.

    \b
    Examples:
      espalier default --crd crd.yaml widget.yaml
      espalier default --crd crds/ --diff objects/

    \b
    Exit codes:
      0  success, with or without changes
      1  an object cannot be decoded, or its schema is not structural;
         with --diff: there are differences;
         with --fail-on warning: there is no schema, or the profiles differ
      2  the command line is not valid
      3  a file could not be read
      4  nothing was written, since it was not confirmed
    """
    _run(Operation.DEFAULT, terminal, given)


@click.command()
@_transforming
def normalize(*, terminal: Terminal, **given: object) -> None:
    """
    Print objects in normal form: pruned and defaulted, without nulls that are not allowed.

    This is the form in which an API server stores and returns them. A new object, one without a
    uid, loses its status if the version has the status subresource, as on create. OBJ is a YAML or
    JSON file, which may have several documents and lists, a folder, a quoted pattern, or - for
    standard input. Every change is reported on standard error, and so is every difference to the
    other profile.

    \b
    Examples:
      espalier normalize --crd crd.yaml --profile apiserver widget.yaml
      kubectl get widgets -o yaml | espalier normalize --crd crd.yaml --diff -

    \b
    Exit codes:
      0  success, with or without changes
      1  an object cannot be decoded, or its schema is not structural;
         with --diff: there are differences;
         with --fail-on warning: there is no schema, or the profiles differ
      2  the command line is not valid
      3  a file could not be read
      4  nothing was written, since it was not confirmed
    """
    _run(Operation.NORMALIZE, terminal, given)


def _run(operation: Operation, terminal: Terminal, given: dict[str, object]) -> None:
    request = _NormalizeRequest(operation=operation, **given)  # type: ignore[arg-type]  # click's values
    request.check()
    catalogue = DefinitionCatalogue()
    catalogue.add_sources(request.crds)
    problems: list[Problem] = []
    wholes = [] if catalogue.problems else list(_wholes(request, catalogue, problems))
    parts = [part for whole in wholes for part in whole.parts]
    result = Result(
        kind="NormalizeResult",
        summary="",
        findings=tuple(finding for part in parts for finding in part.findings),
        problems=(*catalogue.problems, *problems),
    )
    terminal.print_findings_to_stderr(result)
    code = exit_of_result(result, fail_on=terminal.fail_on)
    if code is not Exit.UNREADABLE:
        code = max(code, _finish(request, terminal, wholes))
    click.get_current_context().exit(code)


def _finish(
    request: _NormalizeRequest, terminal: Terminal, wholes: Sequence[_WholeDocument]
) -> Exit:
    if request.in_place:
        return _write_files(request, terminal, wholes)
    if request.diffs:
        return _show_differences(terminal, wholes)
    write = write_json if terminal.output == "json" else write_yaml
    click.echo(write(whole.value for whole in wholes), nl=False)
    return Exit.CLEAN


def _wholes(
    request: _NormalizeRequest, catalogue: DefinitionCatalogue, problems: list[Problem]
) -> Iterator[_WholeDocument]:
    for name in request.objects:
        try:
            for source in expand([name]):
                for document in read_whole(source):
                    yield _transformed(document, request, catalogue)
        except SourceError as error:
            problems.append(problem_of(error))


def _transformed(
    document: Document, request: _NormalizeRequest, catalogue: DefinitionCatalogue
) -> _WholeDocument:
    parts = tuple(
        transform(item, catalogue, request.operation, request.profile)
        for item in items_of(document)
    )
    # An empty list has no items, and with_items needs at least one.
    value = with_items(document, [part.value for part in parts]) if parts else document.value
    return _WholeDocument(document, value, parts)


def _show_differences(terminal: Terminal, wholes: Sequence[_WholeDocument]) -> Exit:
    lines = [
        line for whole in wholes for part in whole.parts if part.is_changed for line in _diff(part)
    ]
    terminal.print_diff(lines)
    return Exit.FINDINGS if lines else Exit.CLEAN


def _diff(part: Transformed) -> Iterator[str]:
    before, after = write_yaml([part.document.value]), write_yaml([part.value])
    where = f"{part.document.where()} {display_name(part.document.value)}"
    yield from difflib.unified_diff(
        before.splitlines(), after.splitlines(), where, where, lineterm=""
    )


def _write_files(
    request: _NormalizeRequest, terminal: Terminal, wholes: Sequence[_WholeDocument]
) -> Exit:
    files: dict[str, list[_WholeDocument]] = {}
    for whole in wholes:
        files.setdefault(whole.document.source, []).append(whole)
    changed = {
        name: members
        for name, members in files.items()
        if any(whole.is_changed for whole in members)
    }
    if not changed:
        terminal.print_notice("no file changes")
        return Exit.CLEAN
    terminal.print_notice(f"{counted(len(changed), 'file')} to write: {', '.join(changed)}")
    texts = {name: _edited(members) for name, members in changed.items()}
    anew = [name for name, text in texts.items() if text is None and not changed[name][0].is_json]
    if anew:
        terminal.print_notice(f"YAML comments and layout will be lost in {', '.join(anew)}")
    if not terminal.confirm("Write them?", is_answered=request.is_confirmed):
        return Exit.INCOMPLETE
    for name, members in changed.items():
        write = write_json if members[0].is_json else write_yaml
        text = texts[name]
        _replace(Path(name), write(whole.value for whole in members) if text is None else text)
    return Exit.CLEAN


def _edited(members: Sequence[_WholeDocument]) -> str | None:
    # The text of the file with the changes only; None if it has to be written anew.
    from espalier.cli.checks.yaml_edits import edited_yaml

    if members[0].is_json:
        return None
    try:
        text = Path(members[0].document.source).read_bytes().decode()
    except (OSError, ValueError):
        return None
    return edited_yaml(
        text,
        [
            (whole.document.number, whole.document.value, whole.value)
            for whole in members
            if whole.is_changed
        ],
    )


def _replace(file: Path, text: str) -> None:
    # A symbolic link is kept, and a reader never sees a file that is half written.
    file = file.resolve()
    try:
        mode = file.stat().st_mode
        with tempfile.NamedTemporaryFile(
            dir=file.parent, prefix=f".{file.name}.", delete=False
        ) as partial:
            partial.write(text.encode())
        Path(partial.name).chmod(mode)
        Path(partial.name).replace(file)
    except OSError as error:
        raise SourceError(str(file), f"cannot be written: {error.strerror}") from error
