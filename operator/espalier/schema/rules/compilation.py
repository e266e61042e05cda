"""
Compile the rules of a schema, for all nodes whose rules the server compiles.

Source:
    apiextensions-apiserver, ``pkg/apiserver/schema/cel/compilation.go`` and ``validation.go``.
"""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import espalier.schema.rules.list_types  # noqa: F401 - says how lists of schemas are compared
from espalier.cel.checker.check import Checked, check
from espalier.cel.checker.declarations import Declarations
from espalier.cel.declared_type import Declaration
from espalier.cel.environment import FUNCTIONS, NEW_FUNCTIONS, TYPES
from espalier.cel.expr import Issue, Source
from espalier.cel.interpreter.planner import Program, plan
from espalier.cel.literals import literal_issues
from espalier.cel.parser.parse import ParseError, UnreadableError, parse
from espalier.cel.types import BOOL, STRING, CelType, optional_of
from espalier.cel.values import CelError, UnsupportedError
from espalier.golang.utf8 import to_valid_utf8
from espalier.paths import JSON, Path, render_path
from espalier.schema.model import Structural
from espalier.schema.rules.escaping import escape
from espalier.schema.rules.field_paths import resolve
from espalier.schema.rules.types import NestingError, SelfTypes, declare
from espalier.schema.rules.values import with_type_and_metadata

OLD_SELF: Final = "oldSelf"
NO_DECLARATION: Final = "failed to convert to declType for CEL validation rules"


@dataclass(frozen=True, slots=True)
class Expression:
    """
    A compiled expression.

    Attributes:
        text: The expression as written.
        error: The server's message if it does not compile, otherwise empty.
        obstacle: Why it cannot be evaluated here, although the server may be able to.
        checked: The expression with the types of its parts; None if it does not compile.
        program: The program that evaluates it; None if it cannot be evaluated.
    """

    text: str
    error: str = ""
    obstacle: str = ""
    checked: Checked | None = None
    program: Program | None = None

    @property
    def uses_old_self(self) -> bool:
        """
        Whether the expression uses ``oldSelf``.
        """
        return self.checked is not None and OLD_SELF in self.checked.variables.values()


@dataclass(frozen=True, slots=True)
class Rule:
    """
    A validation rule, compiled.

    Attributes:
        rule: The expression; None if the rule is empty, which is always satisfied.
        message_expression: The expression of the message; None if there is none.
        message: The message if the rule fails; empty if there is none.
        reason: The reason of the field error; empty if there is none.
        field_path: The field that errors refer to, relative to the node, as the server writes it.
        has_optional_old_self: Whether ``oldSelf`` is an optional.
    """

    rule: Expression | None
    message_expression: Expression | None
    message: str
    reason: str
    field_path: str
    has_optional_old_self: bool

    @property
    def label(self) -> str:
        """
        The text for the rule in errors: its message, or the rule itself if it has none.
        """
        return self.message or (self.rule.text.strip() if self.rule is not None else "")


@dataclass(frozen=True, slots=True, eq=False)
class RuleNode:
    """
    A node of a schema that has compiled rules, or nodes with rules below it.

    Attributes:
        node: The schema of the values.
        correlates: Whether members of a map are correlated with those of the old map.
        error: Why no rule of the node can be compiled.
    """

    node: Structural
    is_resource: bool
    rules: tuple[Rule, ...] = ()
    error: str = ""
    uses_old_self: bool = False
    items: "RuleNode | None" = None
    additional: "RuleNode | None" = None
    properties: Mapping[str, "RuleNode"] = field(default_factory=dict)
    all_of: tuple["RuleNode", ...] = ()
    self_node: Structural = field(default_factory=Structural)

    @property
    def correlates(self) -> bool:
        """
        Whether the members of a map are correlated with the old ones.
        """
        return self.node.map_type in (None, "granular", "atomic")


@functools.lru_cache(maxsize=256)
def compile_rules(structural: Structural, *, is_resource: bool = True) -> RuleNode | None:
    """
    Compile the rules of a schema and of all schemas in it.

    Returns:
        The root; None if there are no rules.

    Raises:
        NestingError: The schema is nested too deeply.
    """
    try:
        declared = declare(structural, is_resource=is_resource)
        return _compile(structural, structural, declared, is_resource=is_resource)
    except RecursionError:
        raise NestingError("the schema nests too deep") from None


def _compile(
    rules: Structural, node: Structural, declared: Declaration | None, *, is_resource: bool
) -> RuleNode | None:
    compiled, error = _rules_of(rules, node, declared)
    element = declared.element if declared is not None else None
    items = additional = None
    if rules.items is not None and node.items is not None:
        items = _compile(rules.items, node.items, element, is_resource=node.items.embedded_resource)
    if isinstance(rules.additional_properties, Structural) and isinstance(
        node.additional_properties, Structural
    ):
        below = node.additional_properties
        additional = _compile(
            rules.additional_properties, below, element, is_resource=below.embedded_resource
        )
    properties = dict(_properties(rules, node, declared))
    members = (
        _compile(member, node, declared, is_resource=is_resource)
        for member in rules.value_validation.all_of
    )
    all_of = tuple(member for member in members if member is not None)
    if not (compiled or error or items or additional or properties or all_of):
        return None
    return RuleNode(
        node=node,
        is_resource=is_resource,
        rules=compiled,
        error=error,
        uses_old_self=any(each.rule is not None and each.rule.uses_old_self for each in compiled),
        items=items,
        additional=additional,
        properties=properties,
        all_of=all_of,
        self_node=with_type_and_metadata(node) if is_resource else node,
    )


def _properties(
    rules: Structural, node: Structural, declared: Declaration | None
) -> Iterator[tuple[str, RuleNode]]:
    for name, member in rules.properties.items():
        below = node.properties.get(name)
        if below is None:
            continue
        escaped = escape(name)
        if escaped is None:
            found = declare(below, is_resource=below.embedded_resource)
        else:
            found = declared.fields.get(escaped) if declared is not None else None
        if found is None:
            continue
        compiled = _compile(member, below, found, is_resource=below.embedded_resource)
        if compiled is not None:
            yield name, compiled


def _rules_of(
    rules: Structural, node: Structural, declared: Declaration | None
) -> tuple[tuple[Rule, ...], str]:
    if not rules.validations:
        return (), ""
    if declared is None:
        return (), NO_DECLARATION
    return compile_validations(rules.validations, node, declared), ""


def compile_validations(
    validations: tuple[JSON, ...],
    node: Structural,
    declared: Declaration,
    *,
    is_new: bool = False,
    has_new_message: bool = False,
) -> tuple[Rule, ...]:
    """
    Compile the rules of one node.

    Args:
        validations: ``x-kubernetes-validations`` as written.
        node: The node, whose fields ``fieldPath`` may refer to.
        declared: The type of its values in expressions.
        is_new: Whether the rules are not stored yet: then they cannot use the newest functions.
        has_new_message: Whether that applies to their message expressions.
    """
    return tuple(
        _compile_rule(each, node, declared, is_new=is_new, has_new_message=has_new_message)
        for each in validations
        if isinstance(each, dict)
    )


def _compile_rule(
    written: Mapping[str, JSON],
    node: Structural,
    declared: Declaration,
    *,
    is_new: bool,
    has_new_message: bool,
) -> Rule:
    is_optional = written.get("optionalOldSelf") is True
    compiler = _Compiler(declared, is_optional=is_optional, is_new=is_new)
    message_compiler = _Compiler(declared, is_optional=is_optional, is_new=has_new_message)
    text = _text(written, "rule")
    rule = compiler.compile(text, BOOL) if text.strip() else None
    message_text = _text(written, "messageExpression")
    message = None
    if message_text and rule is not None and not rule.error:
        message = message_compiler.compile(message_text, STRING)
    path = ""
    # If the message expression does not compile, the server stops before it reads the path.
    has_message = message is None or not message.error
    if _text(written, "fieldPath") and rule is not None and not rule.error and has_message:
        found = resolve(_text(written, "fieldPath"), node, allow_brackets=True)
        path = "" if found.problem else _rendered(found.path)
    return Rule(
        rule=rule,
        message_expression=message,
        message=_text(written, "message").strip(),
        reason=_text(written, "reason"),
        field_path=path,
        has_optional_old_self=is_optional,
    )


def _rendered(path: Path) -> str:
    return render_path(path) if path else ""


def _text(written: Mapping[str, JSON], name: str) -> str:
    found = written.get(name)
    return found if isinstance(found, str) else ""


_WHAT: Final[Mapping[CelType, tuple[str, str]]] = {
    BOOL: ("compilation failed: ", "cel expression must evaluate to a bool"),
    STRING: (
        "messageExpression compilation failed: ",
        "messageExpression must evaluate to a string",
    ),
}
_TOO_DEEP: Final = "it nests too deep"
_INSTANTIATION: Final[Mapping[CelType, str]] = {
    BOOL: "program instantiation failed: ",
    STRING: "messageExpression instantiation failed: ",
}


class _Compiler:
    """
    Compile the expressions of a rule.
    """

    def __init__(self, declared: Declaration, *, is_optional: bool, is_new: bool) -> None:
        types = SelfTypes(declared)
        old = optional_of(types.type) if is_optional else types.type
        functions = NEW_FUNCTIONS if is_new else FUNCTIONS
        variables = {"self": types.type, OLD_SELF: old}
        self._declarations = Declarations(variables, functions, TYPES, types)

    def compile(self, text: str, wanted: CelType) -> Expression:
        source = Source(to_valid_utf8(text))
        failed, wrong_type = _WHAT[wanted]
        try:
            checked, issues = self._check(source)
        except (UnreadableError, UnsupportedError) as error:
            return Expression(text, obstacle=str(error))
        except RecursionError:
            return Expression(text, obstacle=_TOO_DEEP)
        if issues or checked is None:
            return Expression(text, error=failed + source.display(issues))
        if checked.type != wanted:
            return Expression(text, error=wrong_type)
        try:
            return Expression(text, checked=checked, program=plan(checked))
        except RecursionError:
            return Expression(text, obstacle=_TOO_DEEP, checked=checked)
        except UnsupportedError as error:
            return Expression(text, obstacle=str(error), checked=checked)
        except CelError as error:
            # By then it is known whether it uses the old value.
            return Expression(text, error=_INSTANTIATION[wanted] + error.text, checked=checked)

    def _check(self, source: Source) -> tuple[Checked | None, list[Issue]]:
        try:
            root = parse(source)
        except ParseError as error:
            return None, error.issues
        checked, issues = check(root, self._declarations)
        return checked, issues or literal_issues(checked)
