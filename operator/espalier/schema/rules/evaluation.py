"""
Evaluate rules on values, as API servers do.

Source:
    apiextensions-apiserver, ``pkg/apiserver/schema/cel/validation.go``.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Final

from espalier.cel.frames import Frame
from espalier.cel.values import (
    NONE,
    CelError,
    CostLimitError,
    InternalError,
    TimeLimitError,
    Value,
    some,
)
from espalier.findings import Computed, ErrorType, FieldError, Omitted
from espalier.golang.printing import quote
from espalier.paths import JSON, Key, Path
from espalier.schema.model import Structural
from espalier.schema.ratcheting import Tolerance
from espalier.schema.rules.compilation import OLD_SELF, Expression, Rule, RuleNode
from espalier.schema.rules.failures import cause_without_values
from espalier.schema.rules.port import RuleOutcome, Ruling
from espalier.schema.rules.values import to_cel

ORIGIN: Final = "x-kubernetes-validations"
MAX_COST_OF_OBJECT: Final = 10_000_000
"""The cost budget for all rules of one object, in the server's units."""

MAX_MESSAGE_BYTES: Final = 5 * 1024
_OUT_OF_BUDGET: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_MESSAGE_OUT_OF_BUDGET: Final = (
    "messageExpression evaluation failed due to running out of cost budget, no further validation"
    " rules will be run"
)
_LIMIT_EXCEEDED: Final = "operation cancelled: actual cost limit exceeded"
_SPACE: Final = " \t\n\v\f\r\x85\xa0"


class Evaluation:
    """
    The evaluation of one object.

    Attributes:
        left: The rest of the cost budget, in the server's units.
        is_over: Whether no more rules are evaluated.
    """

    def __init__(self, clock: Callable[[], float], deadline_seconds: float) -> None:
        self._clock = clock
        self._deadline_seconds = deadline_seconds
        self.left = MAX_COST_OF_OBJECT
        self.is_over = False

    def run(
        self, root: RuleNode | None, value: JSON, old: JSON, path: Path, tolerance: Tolerance
    ) -> list[Ruling]:
        """
        Evaluate the rules of a value and of everything in it, in the order of the value.
        """
        found: list[Ruling] = []
        for ruling in self._node(root, value, old, path, tolerance):
            found.append(ruling)
            if self.is_over:
                break
        return found

    def _node(
        self, node: RuleNode | None, value: JSON, old: JSON, path: Path, tolerance: Tolerance
    ) -> Iterator[Ruling]:
        if node is None or value is None or self.is_over:
            return
        yield from self._rules(node, value, old, path, tolerance)
        for member in node.all_of:
            yield from self._node(member, value, old, path, tolerance.within_all_of())
        if isinstance(value, list):
            yield from self._items(node, value, old, path, tolerance)
        elif isinstance(value, dict):
            yield from self._members(node, value, old, path, tolerance)

    def _items(
        self, node: RuleNode, value: list[JSON], old: JSON, path: Path, tolerance: Tolerance
    ) -> Iterator[Ruling]:
        if node.items is None:
            return
        before = _OldKeyedItems(node.node, old)
        for index, item in enumerate(value):
            below = (*path, index)
            yield from self._node(node.items, item, before.get(item), below, tolerance.index(index))

    def _members(
        self, node: RuleNode, value: Mapping[str, JSON], old: JSON, path: Path, tolerance: Tolerance
    ) -> Iterator[Ruling]:
        before = old if isinstance(old, dict) and node.correlates else {}
        for name, member in value.items():
            if node.additional is not None:
                below = (*path, Key(name))
                yield from self._node(
                    node.additional, member, before.get(name), below, tolerance.key(name)
                )
        for name, member in value.items():
            found = node.properties.get(name)
            if found is not None:
                below = (*path, name)
                yield from self._node(found, member, before.get(name), below, tolerance.key(name))

    def _rules(
        self, node: RuleNode, value: JSON, old: JSON, path: Path, tolerance: Tolerance
    ) -> Iterator[Ruling]:
        place = _RulePlace(node, value, path, tolerance)
        if node.error:
            yield place.invalid(f"rule compiler initialization error: {node.error}")
            return
        if not node.rules:
            return
        if self.left <= 0:
            yield self._end(place.invalid(_OUT_OF_BUDGET))
            return
        plain, optional = _activations(node, value, old)
        for rule in node.rules:
            if rule.rule is None:
                continue
            if rule.rule.error:
                yield place.invalid(f"rule compile error: {rule.rule.error}")
                continue
            if rule.rule.uses_old_self and old is None and not rule.has_optional_old_self:
                continue
            variables = optional if rule.has_optional_old_self else plain
            yield from self._rule(rule, place, variables, plain)
            if self.is_over:
                return

    def _rule(
        self,
        rule: Rule,
        place: "_RulePlace",
        variables: Mapping[str, Value],
        plain: Mapping[str, Value],
    ) -> Iterator[Ruling]:
        expression = rule.rule
        if expression is None or expression.program is None:
            obstacle = expression.obstacle if expression is not None else ""
            yield place.unchecked(f"{obstacle}: {rule.label}")
            return
        frame = self._frame(expression, variables)
        result, failure = self._run(expression, frame)
        if failure is not None and isinstance(failure, TimeLimitError):
            yield self._end(place.unchecked(f"{failure}: {rule.label}"))
        elif frame.cost > self.left:
            yield self._end(place.invalid(_OUT_OF_BUDGET))
        elif isinstance(failure, CostLimitError):
            self.left -= frame.cost
            text = f"'{_LIMIT_EXCEEDED}': no further validation rules will be run due to call cost"
            yield self._end(place.invalid(f"{text} exceeds limit for rule: {rule.label}"))
        else:
            self.left -= frame.cost
            if failure is not None:
                text = _runtime_text(str(failure), rule.label)
                cause = cause_without_values(str(failure), expression.text)
                yield place.invalid(place.computed(rule, text, cause=cause))
            elif result is not True:
                yield self._failed(rule, place, plain)

    def _frame(self, expression: Expression, variables: Mapping[str, Value]) -> Frame:
        slots = expression.program.slots if expression.program is not None else 0
        return Frame(variables, slots=slots, clock=self._clock, deadline=self._deadline_seconds)

    def _run(self, expression: Expression, frame: Frame) -> tuple[Value, Exception | None]:
        if expression.program is None:
            return None, CelError(expression.obstacle)
        try:
            return expression.program.run(frame), None
        except (CelError, InternalError, CostLimitError, TimeLimitError) as error:
            return None, error
        except RecursionError:
            return None, TimeLimitError("the value nests too deep")

    def _end(self, ruling: Ruling) -> Ruling:
        self.is_over = True
        return ruling

    def _failed(self, rule: Rule, place: "_RulePlace", variables: Mapping[str, Value]) -> Ruling:
        detail = rule.message or f"failed rule: {rule.label}"
        expression = rule.message_expression
        if expression is None or expression.error:
            return place.failed(rule, detail)
        frame = self._frame(expression, variables)
        result, failure = self._run(expression, frame)
        if isinstance(failure, TimeLimitError):
            return self._end(place.failed(rule, detail))
        if frame.cost > self.left:
            return self._end(place.failed_invalid(rule, _MESSAGE_OUT_OF_BUDGET))
        if isinstance(failure, CostLimitError):
            text = "no further validation rules will be run due to call cost exceeds limit for"
            text = f"{text} messageExpression: {quote(expression.text)}"
            return self._end(place.failed_invalid(rule, text))
        if expression.program is not None:
            self.left -= frame.cost
        message = "" if failure is not None else _message(result)
        return place.failed(rule, place.computed(rule, message) if message else detail)


class _RulePlace:
    """
    A node of a value whose rules are evaluated.
    """

    def __init__(self, node: RuleNode, value: JSON, path: Path, tolerance: Tolerance) -> None:
        self._type = node.node.type
        self._rules = node.rules
        self._value = value
        self._path = path
        self._tolerance = tolerance

    def invalid(self, detail: str) -> Ruling:
        error = _error(ErrorType.INVALID, self._path, self._type, detail)
        return Ruling(RuleOutcome.VIOLATED, error)

    def unchecked(self, detail: str) -> Ruling:
        return unchecked(self._path, detail)

    def failed(self, rule: Rule, detail: str) -> Ruling:
        value = Omitted("") if self._type in ("object", "array") else self._value
        kind = _REASONS.get(rule.reason, ErrorType.INVALID)
        if kind is ErrorType.DUPLICATE:
            detail = ""
        return self._tolerated(rule, _error(kind, self._blamed(rule), value, detail))

    def computed(self, rule: Rule, message: str, *, cause: str = "") -> Computed:
        number = next(number for number, one in enumerate(self._rules, 1) if one is rule)
        text = rule.rule.text.strip() if rule.rule is not None else ""
        return Computed(
            message, rule_number=number, node_path=self._path, rule_text=text, cause=cause
        )

    def failed_invalid(self, rule: Rule, detail: str) -> Ruling:
        error = _error(ErrorType.INVALID, self._blamed(rule), self._type, detail)
        return self._tolerated(rule, error)

    def _blamed(self, rule: Rule) -> Path:
        return (*self._path, rule.field_path) if rule.field_path else self._path

    def _tolerated(self, rule: Rule, error: FieldError) -> Ruling:
        uses_old = rule.rule is not None and rule.rule.uses_old_self
        is_forgiven = not uses_old and self._tolerance.forgives()
        return Ruling(RuleOutcome.FORGIVEN if is_forgiven else RuleOutcome.VIOLATED, error)


_REASONS: Final = {
    "FieldValueForbidden": ErrorType.FORBIDDEN,
    "FieldValueRequired": ErrorType.REQUIRED,
    "FieldValueDuplicate": ErrorType.DUPLICATE,
}


def _error(kind: ErrorType, path: Path, value: JSON, detail: str) -> FieldError:
    return FieldError(type=kind, path=path, value=value, detail=detail, origin=ORIGIN)


def unchecked(path: Path, why: str) -> Ruling:
    """
    Return the ruling on rules that cannot be evaluated.
    """
    detail = f"the rule was not checked: {why}"
    return Ruling(RuleOutcome.NOT_CHECKED, _error(ErrorType.INTERNAL, path, None, detail))


def _activations(
    node: RuleNode, value: JSON, old: JSON
) -> tuple[Mapping[str, Value], Mapping[str, Value]]:
    self_value = to_cel(value, node.self_node)
    if not node.uses_old_self:
        only = {"self": self_value}
        return only, only
    if old is None:
        return {"self": self_value}, {"self": self_value, OLD_SELF: NONE}
    before = to_cel(old, node.self_node)
    return (
        {"self": self_value, OLD_SELF: before},
        {"self": self_value, OLD_SELF: some(before)},
    )


def _runtime_text(text: str, label: str) -> str:
    if text.startswith("no such overload"):
        return (
            f"'{text}': call arguments did not match a supported operator, function or macro"
            f" signature for rule: {label}"
        )
    return f"{text} evaluating rule: {label}"


def _message(result: Value) -> str:
    # Return an empty text if the message is not usable.
    if not isinstance(result, str):
        return ""
    trimmed = result.strip(_SPACE)
    size = len(trimmed.encode("utf-8", "surrogatepass"))
    return "" if size > MAX_MESSAGE_BYTES or "\n" in trimmed else trimmed


class _OldKeyedItems:
    """
    The old items of a list of the type map, by their keys.

    Source:
        apiserver, ``pkg/cel/common/maplist.go``, ``MakeMapList``.
    """

    def __init__(self, node: Structural, old: JSON) -> None:
        self._names = node.list_map_keys if node.list_type == "map" else ()
        self._items: dict[Hashable, JSON] = {}
        if node.type == "array" and self._names and isinstance(old, list):
            for item in old:
                key = self._key(item)
                if key is not None:
                    self._items.setdefault(key, item)

    def get(self, item: JSON) -> JSON:
        key = self._key(item) if self._items else None
        return None if key is None else self._items.get(key)

    def _key(self, item: JSON) -> Hashable:
        if not isinstance(item, dict):
            return None
        found = []
        for name in self._names:
            member = item.get(name)
            if member is None or isinstance(member, (dict, list)):
                return None
            # 1, 1.0 and true are different in Go. With several keys, the server writes six digits
            # of a number.
            is_joined = len(self._names) > 1 and isinstance(member, float)
            found.append((member.__class__, f"{member:f}" if is_joined else member))
        return tuple(found)
