"""
Compile the validation rules of a schema, and limit their estimated costs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from espalier.cel.cost.estimator import estimate
from espalier.cel.cost.ranges import MAX_UINT64
from espalier.cel.declared_type import Declaration
from espalier.crd.internal.json_schema_props import Keywords, child, children, nodes, text
from espalier.crd.internal.parsed_schema import VersionSchema
from espalier.crd.validation import errors as field_errors
from espalier.crd.validation.known_expressions import Known, rules_of
from espalier.findings import ErrorType, FieldError
from espalier.golang.printing import Printed, go_json
from espalier.paths import JSON, Key, Path, render_path
from espalier.schema import Profile, Structural
from espalier.schema.rules.compilation import NO_DECLARATION, Expression, Rule, compile_validations
from espalier.schema.rules.escaping import escape
from espalier.schema.rules.types import NestingError, declare

MAX_RULE_COST = 10_000_000
"""The limit on the estimated cost of one rule, times the number of its evaluations."""

MAX_TOTAL_COST = 100_000_000
"""The limit on the estimated cost of all rules of a schema."""

_KEYWORD = "x-kubernetes-validations"
_UNKNOWN = (
    "internal error: failed to construct type information for x-kubernetes-validations rules:"
    " unable to convert structural schema to CEL declarations"
)
_MOST_EXPENSIVE = 4
_MUCH = 100.0
_LITTLE = 1.5


def compilation_errors(
    validation: VersionSchema,
    path: Path,
    other_errors: Iterable[FieldError],
    known: Known,
    *,
    limit_each: bool,
) -> tuple[FieldError, ...]:
    """
    Compile all rules of a structural schema whose defaults are valid.

    Args:
        validation: The ``schema`` of the version; it may have no ``openAPIV3Schema``, and then no
            rules.
        path: The server's path of the schema.
        other_errors: Other errors of the schema: rules at and above their paths are not compiled.
        known: The expressions of the old definition.
        limit_each: Whether the cost of each single rule is limited.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``ValidateCustomResourceDefinitionOpenAPISchema``, and ``cel_validation.go``.
    """
    keywords = validation.schema
    if keywords is None or not any(rules_of(node) for node in nodes(keywords)):
        return ()
    structural = validation.parsed.under(Profile.APISERVER)
    if structural is None:
        return ()
    bad = {error.path[:end] for error in other_errors for end in range(len(error.path) + 1)}
    walk = _RuleWalk(bad, known, limit_each)
    try:
        walk.go(keywords, path, walk.root(keywords, structural))
    except NestingError:
        # Servers allow deeper schemas; the rules cannot be checked here.
        return ()
    return (*walk.errors, *walk.budget.errors(path))


@dataclass
class _Budget:
    """
    The total cost of the rules of a schema.
    """

    total: int = 0
    expensive: list[tuple[int, Path]] = field(default_factory=list)

    def spend(self, path: Path, cost: int) -> None:
        self.total = min(self.total + cost, MAX_UINT64)
        if cost >= MAX_TOTAL_COST // 100:
            self.expensive.append((cost, path))
            self.expensive.sort(key=lambda one: -one[0])
            del self.expensive[_MOST_EXPENSIVE:]

    def errors(self, path: Path) -> Iterator[FieldError]:
        if self.total <= MAX_TOTAL_COST:
            return
        for _, rule in self.expensive:
            detail = (
                "contributed to estimated rule cost total exceeding cost limit for entire"
                " OpenAPIv3 schema"
            )
            yield field_errors.forbidden(rule, detail)
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield field_errors.forbidden(path, _too_much(what, self.total, MAX_TOTAL_COST))


@dataclass(frozen=True, slots=True)
class _Scope:
    """
    The facts about a node of the schema that depend on the nodes above.

    Attributes:
        node: The node.
        declared: Its type in expressions; None if expressions cannot access it, or need not.
        is_in_scope: Whether the node or a node above has rules.
        problem: The server's message if expressions cannot access it.
        cardinality: The largest number of such values; None if it is not limited.
        uncorrelated: The path of the outermost node above whose members are not correlated.
    """

    node: Structural
    declared: Declaration | None
    is_in_scope: bool
    cardinality: int | None
    uncorrelated: Path | None
    problem: str = _UNKNOWN


@dataclass
class _RuleWalk:
    """
    Walk a schema, members first, as the server does.
    """

    bad: set[Path]
    known: Known
    limit_each: bool
    budget: _Budget = field(default_factory=_Budget)
    errors: list[FieldError] = field(default_factory=list)

    def root(self, keywords: Keywords, node: Structural) -> _Scope:
        has_rules = bool(rules_of(keywords))
        declared = declare(node, is_resource=True) if has_rules else None
        return _Scope(node, declared, has_rules, 1, None)

    def go(self, keywords: Keywords, path: Path, scope: _Scope) -> None:
        inner = replace(scope, cardinality=_cardinality(keywords, scope))
        declared = scope.declared
        below = scope.node.additional_properties
        values = child(keywords, "additionalProperties")
        if values is not None and isinstance(below, Structural):
            element = None if declared is None else declared.element
            self.enter_member(values, (*path, "additionalProperties"), inner, below, element)
        members = inner
        if not _is_correlated_map(keywords):
            members = replace(inner, uncorrelated=inner.uncorrelated or path)
        for name, property_ in children(keywords, "properties").items():
            found = None if declared is None else declared.fields.get(escape(name) or "")
            place = (*path, "properties", Key(name))
            self.enter(property_, place, members, scope.node.properties[name], found)
        items = child(keywords, "items")
        if items is not None and scope.node.items is not None:
            if text(keywords, "x-kubernetes-list-type") != "map":
                inner = replace(inner, uncorrelated=inner.uncorrelated or path)
            element = None if declared is None else declared.element
            self.enter_member(items, (*path, "items"), inner, scope.node.items, element)
        if rules_of(keywords) and path not in self.bad:
            self.compile(keywords, path, scope)

    def enter(
        self,
        keywords: Keywords,
        path: Path,
        above: _Scope,
        node: Structural,
        declared: Declaration | None,
    ) -> None:
        is_in_scope = above.is_in_scope or bool(rules_of(keywords))
        if above.is_in_scope and above.declared is None:
            # The server has stopped declaring types further above.
            declared = None
        elif is_in_scope and declared is None:
            declared = declare(node, is_resource=node.embedded_resource)
        scope = replace(above, node=node, declared=declared, is_in_scope=is_in_scope)
        self.go(keywords, path, scope)

    def enter_member(
        self,
        keywords: Keywords,
        path: Path,
        above: _Scope,
        node: Structural,
        declared: Declaration | None,
    ) -> None:
        if above.is_in_scope and above.declared is not None and declared is None:
            # The server uses the type from above without checking that there is one.
            self.go(
                keywords, path, replace(above, node=node, declared=None, problem=NO_DECLARATION)
            )
        else:
            self.enter(keywords, path, above, node, declared)

    def compile(self, keywords: Keywords, path: Path, scope: _Scope) -> None:
        below = (*path, _KEYWORD)
        if scope.declared is None:
            error = FieldError(
                type=ErrorType.INTERNAL, path=below, detail=scope.problem, origin=_KEYWORD
            )
            self.errors.append(error)
            return
        for index, written in enumerate(rules_of(keywords)):
            (rule,) = compile_validations(
                ({**written},),
                scope.node,
                scope.declared,
                is_new=text(written, "rule") not in self.known.rules,
                has_new_message=text(written, "messageExpression") not in self.known.messages,
            )
            self.errors += self.judge(written, rule, (*below, index), scope)

    def judge(
        self, written: Keywords, rule: Rule, path: Path, scope: _Scope
    ) -> Iterator[FieldError]:
        yield from self.rule_cost(rule, (*path, "rule"), scope)
        shown = _as_go_prints(written)
        if rule.rule is not None and rule.rule.error:
            yield field_errors.invalid((*path, "rule"), shown, rule.rule.error)
        message = rule.message_expression
        if message is not None and message.error:
            yield field_errors.invalid((*path, "messageExpression"), shown, message.error)
        elif message is not None:
            yield from self.message_cost(message, (*path, "messageExpression"), scope)
        yield from _old_self(written, rule, path, scope)

    def rule_cost(self, rule: Rule, path: Path, scope: _Scope) -> Iterator[FieldError]:
        times = scope.cardinality
        if times is None and scope.declared is not None:
            times = scope.declared.max_cardinality
        cost = min(_max_cost(rule.rule, scope) * (times or 0), MAX_UINT64)
        if self.limit_each and cost > MAX_RULE_COST:
            yield field_errors.forbidden(
                path, _too_much("estimated rule cost", cost, MAX_RULE_COST)
            )
        self.budget.spend(path, cost)

    def message_cost(self, message: Expression, path: Path, scope: _Scope) -> Iterator[FieldError]:
        cost = _max_cost(message, scope)
        if self.limit_each and cost > MAX_RULE_COST:
            what = "estimated messageExpression cost"
            yield field_errors.forbidden(path, _too_much(what, cost, MAX_RULE_COST))
        self.budget.spend(path, cost)


def _old_self(written: Keywords, rule: Rule, path: Path, scope: _Scope) -> Iterator[FieldError]:
    if rule.rule is not None and rule.rule.obstacle and rule.rule.checked is None:
        # It could not be parsed here, so it may use oldSelf.
        return
    if rule.rule is not None and rule.rule.uses_old_self:
        if scope.uncorrelated is not None:
            detail = (
                "oldSelf cannot be used on the uncorrelatable portion of the schema within"
                f" {render_path(scope.uncorrelated)}"
            )
            yield field_errors.invalid((*path, "rule"), text(written, "rule"), detail)
    elif "optionalOldSelf" in written:
        detail = "may not be set if oldSelf is not used in rule"
        yield field_errors.invalid((*path, "optionalOldSelf"), written["optionalOldSelf"], detail)


def _max_cost(expression: Expression | None, scope: _Scope) -> int:
    if expression is None or expression.checked is None or scope.declared is None:
        return 0
    if expression.error:
        # The server stops before it estimates.
        return 0
    return estimate(expression.checked, scope.declared).max


def _cardinality(keywords: Keywords, scope: _Scope) -> int | None:
    # The largest number of members in all values of a node.
    limit: JSON = 1
    if text(keywords, "type") == "object" and "additionalProperties" in keywords:
        limit = keywords.get("maxProperties")
    elif text(keywords, "type") == "array":
        limit = keywords.get("maxItems")
    if scope.cardinality is None or not isinstance(limit, int):
        return None
    return min(scope.cardinality * max(limit, 0), MAX_UINT64)


def _is_correlated_map(keywords: Keywords) -> bool:
    return text(keywords, "x-kubernetes-map-type") in ("", "granular", "atomic")


def _too_much(what: str, cost: int, limit: int) -> str:
    factor = float(cost) / float(limit)
    if factor > _MUCH:
        shown = "more than 100x"
    elif factor < _LITTLE:
        shown = f"{factor:f}x"
    else:
        shown = f"{factor:.1f}x"
    return (
        f"{what} exceeds budget by factor of {shown} (try simplifying the rule, or adding maxItems,"
        " maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )


def _as_go_prints(rule: Keywords) -> Printed:
    members = {
        "Rule": text(rule, "rule"),
        "Message": text(rule, "message"),
        "MessageExpression": text(rule, "messageExpression"),
        "Reason": rule.get("reason"),
        "FieldPath": text(rule, "fieldPath"),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    printed = ",".join(f'"{name}":{go_json(value)}' for name, value in members.items())
    return Printed(f"{{{printed}}}")
