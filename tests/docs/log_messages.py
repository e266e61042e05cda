"""
Writes ``docs/reference/log-messages.md`` from the source: ``python -m tests.docs.log_messages``.
"""

import ast
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.docs.reading import ROOT

PAGE = ROOT / "docs" / "reference" / "log-messages.md"
SOURCES = ROOT / "operator"
_METHODS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "exception": logging.ERROR,
    "critical": logging.CRITICAL,
}
_NOTHING = "Nothing."

# What to do about each sentence; below a warning, nothing needs to be done unless it is here.
ADVICE: Mapping[str, str] = {
    "A lease could not be released.": "Nothing: it expires. Until then others wait.",
    "A page of the archive is incomplete and was left out.": "Look at the Secret that is named;"
    " the other pages can be restored ([how to restore](../how-to/restore.md)).",
    "A read failed; trying again.": "Nothing, unless it goes on: then look at the API server.",
    "A task died of an unexpected error; the operator stops.": "Report the traceback. The pod"
    " starts again and goes on.",
    "A watch ended early.": "Nothing: the objects are listed again.",
    "An Event could not be posted.": "Grant `create` on `events`; the condition says the same.",
    "Another operator works on the definition.": "Run one operator in a cluster: another one holds"
    " the lease of this definition, in the namespace that the condition names.",
    "Cannot make sense of a definition.": "Look at the definition: the error names the field.",
    "Could not ask for the lease of a bucket; trying again.": "If it goes on: look at the API"
    " server and at the operator's right on `leases`.",
    "Could not count the replicas.": "If it goes on: look at the operator's right on `leases`.",
    "Could not list the definitions.": "Look at the API server, and at the operator's right to"
    " list `customresourcedefinitions`.",
    "Could not read a definition anew.": "Nothing: the work goes on with what was read before.",
    "Could not read the pause switch.": "While it lasts nothing is written. Look at the API server"
    " and at the operator's right to read the ConfigMap `espalier-pause`.",
    "Could not release a lease.": "Nothing: it expires. Until then others wait.",
    "Could not take note of a schema.": "Nothing, unless it goes on: a later proof may miss what"
    " this schema specified. Look at the operator's rights in its namespace.",
    "Could not work on a definition; trying again.": "If it goes on: the error names the cause.",
    "Could not write a definition's status; trying again.": "If it goes on: grant `patch` on the"
    " status of the definition ([how to grant rights](../how-to/grant-rights.md)).",
    "Could not write the report.": "Look at the error; `--report=off` goes without the report.",
    "Lost a bucket of definitions.": "Nothing, unless it repeats: then the process or the API"
    " server is too slow for `--lease-seconds`.",
    "Removed fields keep coming back; the object is left alone for a while.": "Find the clients"
    " that are named as `managers`, and have them stop writing the fields.",
    "The API server refuses a status; not trying again.": "Look at the error: an admission policy"
    " or webhook refuses it.",
    "The lease in another namespace could not be checked: no permission to read it.": "Grant `get`"
    " on `leases` in the namespace that is named, or be sure that no operator runs there.",
    "The operator is paused: it writes nothing.": "[End the pause](../how-to/pause.md) when you"
    " are ready.",
    "The pause is over.": _NOTHING,
    "The work on a definition stopped; trying again later.": "The condition of the definition says"
    " the same, and [what to do](conditions.md).",
    "There is no namespace for the lease of a bucket.": "Create the namespace of `--namespace`, or"
    " name another one.",
}

_HEAD = """\
# Log messages

Everything that Espalier logs. Each sentence is constant, so it can be searched and counted; what
differs is in the fields beside it. This page is written from the source by `make docs`.

`espalier operator --log-level LEVEL` sets what is logged, by default `info`; `--log-level
MODULE=LEVEL` sets it for a module and all below it, such as `espalier.engine=debug`. Both may be
repeated, or stand in `ESPALIER_LOG_LEVEL` with commas between them. With `--log-format json` a
record is one JSON object: `time`, `level`, `logger` (the module), `message` (the sentence), the
fields, and `run` (the id of the run in which it was logged). Other libraries log warnings and
errors of their own; `kopf=info` shows more. The text of the API server about a refused request may
hold values of an object, so it is shown with `espalier.server_text=debug` only.
"""


class Sentence(NamedTuple):
    """
    One call of a logger.
    """

    text: str
    level: int
    module: str
    fields: tuple[str, ...]

    @property
    def advice(self) -> str:
        """
        What to do when it is logged.
        """
        return ADVICE.get(self.text, _NOTHING)


class NotConstantError(Exception):
    """
    A call of a logger has no constant sentence, or fields that cannot be listed.
    """


def sentences(root: Path = SOURCES) -> list[Sentence]:
    """
    Read all calls of loggers below a folder.
    """
    found: set[Sentence] = set()
    for path in sorted(root.rglob("*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        found |= set(_sentences_in(ast.parse(path.read_text("utf-8")), module))
    return sorted(found, key=lambda one: (-one.level, one.text, one.module))


def _sentences_in(tree: ast.Module, module: str) -> Iterator[Sentence]:
    loggers = _loggers(tree)
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        level, owner = _level_and_owner(call, loggers)
        if not level:
            continue
        try:
            text = _text_of(call)
            fields = _fields_of(call, tree)
        except NotConstantError as error:
            raise NotConstantError(f"{module}:{call.lineno}: {error}") from None
        yield Sentence(text, level, loggers.get(owner) or module, fields)


def _loggers(tree: ast.Module) -> dict[str, str]:
    """
    Return the loggers of a module, with their names where these are not the module's.
    """
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_get_logger(node.value):
            assert isinstance(node.value, ast.Call)
            names = [one.id for one in node.value.args if isinstance(one, ast.Name)]
            own = constants.get(names[0], "") if names else ""
            for target in node.targets:
                found[ast.unparse(target)] = str(own)
    return found


def _is_get_logger(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("getLogger")


def _level_and_owner(call: ast.Call, loggers: Mapping[str, str]) -> tuple[int, str]:
    if not isinstance(call.func, ast.Attribute):
        return 0, ""
    owner = ast.unparse(call.func.value)
    logs = owner in loggers or owner == "logging" or _is_get_logger(call.func.value)
    if logs and call.func.attr == "log":
        # Its level cannot be listed.
        return logging.CRITICAL, owner
    return (_METHODS.get(call.func.attr, 0) if logs else 0), owner


def _text_of(call: ast.Call) -> str:
    match call.args:
        case [ast.Constant(value=str(text))] if text.endswith(".") and "%" not in text:
            return text
    raise NotConstantError("not one constant sentence with a full stop")


def _fields_of(call: ast.Call, tree: ast.Module) -> tuple[str, ...]:
    for keyword in call.keywords:
        if keyword.arg == "extra":
            return tuple(sorted(_keys(keyword.value, tree)))
    return ()


def _keys(value: ast.expr, tree: ast.Module) -> set[str]:
    match value:
        case ast.Dict(keys=keys):
            return {_key(key) for key in keys}
        case ast.Name(id=name):
            dicts: list[ast.expr] = [
                node.value
                for node in ast.walk(tree)
                if isinstance(node, ast.Assign)
                and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
            ]
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
            dicts = [
                returned.value
                for node in ast.walk(tree)
                if isinstance(node, ast.FunctionDef) and node.name == name
                for returned in ast.walk(node)
                if isinstance(returned, ast.Return) and returned.value is not None
            ]
        case _:
            dicts = []
    if not dicts or not all(isinstance(one, ast.Dict) for one in dicts):
        raise NotConstantError(f"the fields of {ast.unparse(value)} are not known")
    return {key for one in dicts for key in _keys(one, tree)}


def _key(key: ast.expr | None) -> str:
    match key:
        case ast.Constant(value=str(name)):
            return name
        case _:
            pass
    raise NotConstantError("a field without a constant name")


def page() -> str:
    """
    Make the page.
    """
    parts = [_HEAD]
    found = sentences()
    for level in sorted({one.level for one in found}, reverse=True):
        name = logging.getLevelName(level).lower()
        rows = "".join(_row(one) for one in found if one.level == level)
        parts.append(f"\n## `{name}`\n\n| message | module | fields | what to do |\n")
        parts.append(f"|---|---|---|---|\n{rows}")
    return "".join(parts)


def _row(one: Sentence) -> str:
    fields = ", ".join(f"`{name}`" for name in one.fields)
    return f"| {one.text} | `{one.module}` | {fields} | {one.advice} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
