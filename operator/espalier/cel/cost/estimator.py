"""
What an expression costs at most, by its types and the declaration of a schema.

Source:
    cel-go, ``checker/cost.go``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from espalier.cel.checker.check import Checked
from espalier.cel.cost.calls import estimate_call
from espalier.cel.cost.operands import Estimate, Operand
from espalier.cel.cost.ranges import ANY, NONE_YET, Range, exactly
from espalier.cel.cost.slices import NO_STEPS, StepSlice
from espalier.cel.declared_type import Declaration
from espalier.cel.expr import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from espalier.cel.parser.macros import ACCUMULATOR
from espalier.cel.signatures import Overload, overload
from espalier.cel.types import CelType

_NO_COST: Final = exactly(0)
_ONE: Final = exactly(1)
_LIST_COST, _MAP_COST, _STRUCT_COST = exactly(10), exactly(30), exactly(40)
_OPTIONAL_SELECT: Final = overload("select_optional_field", "(dyn, string) -> optional(dyn)")
_SCALARS: Final = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})
_EMPTY: Final = Range(0, 0)


@dataclass(frozen=True, slots=True)
class _Entries:
    """
    How large the entries of a list or of a map are.
    """

    kind: str
    key: Range
    value: Range

    def joined(self, other: "_Entries | None") -> "_Entries | None":
        if other is None:
            return None
        return _Entries(self.kind, self.key.joined(other.key), self.value.joined(other.value))


@dataclass(frozen=True, slots=True)
class _Local:
    """
    What is known of a variable of a macro.
    """

    path: StepSlice
    size: Range | None
    entries: _Entries | None


def estimate(checked: Checked, declared: Declaration) -> Range:
    """
    Estimate the cost of an expression.

    Args:
        checked: The expression with its types.
        declared: Of what ``self`` and ``oldSelf`` are.

    Returns:
        The least and the most, in the server's units.
    """
    return _Estimator(checked, declared).cost(checked.root)


@dataclass
class _Estimator:
    """
    Goes through an expression once, and remembers sizes and paths by the ids of nodes.
    """

    checked: Checked
    declared: Declaration
    paths: dict[int, StepSlice] = field(default_factory=dict)
    sizes: dict[int, Range] = field(default_factory=dict)
    entries: dict[int, _Entries] = field(default_factory=dict)
    locals: dict[str, list[_Local]] = field(default_factory=dict)

    def cost(self, node: Node) -> Range:
        return _COSTS[node.__class__](self, node)

    # The costs of each kind of node.

    def literal(self, _: Literal) -> Range:
        return _NO_COST

    def ident(self, node: Ident) -> Range:
        local = self.local(node.name)
        self.paths[node.id] = NO_STEPS.appended(node.name) if local is None else local.path
        return _ONE

    def select(self, node: Select) -> Range:
        cost = self.cost(node.operand)
        if node.is_test:
            return cost
        self.paths[node.id] = self.path(node.operand).appended(node.field)
        if self.type_of(node.operand).kind in ("map", "struct"):
            return cost.plus(_ONE)
        return cost

    def call(self, node: Call) -> Range:
        if node.function == "dyn":
            cost = _ONE.plus(self.cost(node.args[0]))
            self.copy_sizes(node, node.args[0])
            return cost
        costs, args = [], []
        for arg in node.args:
            costs.append(self.cost(arg))
            args.append(self.operand(arg))
        overloads = self.checked.overloads.get(node.id, ())
        if node.function == "_?._":
            overloads = (_OPTIONAL_SELECT,)
        if not overloads:
            return _NO_COST
        total, target = _NO_COST, None
        if node.target is not None:
            total = self.cost(node.target)
            target = self.operand(node.target)
        spent, size = NONE_YET, None
        for each in overloads:
            found = self.function(node, each, target, args, costs)
            spent = spent.joined(found.cost)
            if found.size is not None:
                size = found.size if size is None else size.joined(found.size)
            size = self.index(node, each, size)
            if size is None:
                size = self.size(node)
        self.set_size(node, size)
        return total.plus(spent)

    def index(self, node: Call, called: Overload, size: Range | None) -> Range | None:
        part = _PARTS_BY_INDEX.get(called.id)
        if part is None or not node.args:
            return size
        entries = self.entries_of(node.args[0])
        self.paths[node.id] = self.path(node.args[0]).appended(part)
        return None if entries is None else entries.value

    def list(self, node: ListLiteral) -> Range:
        cost = _NO_COST
        size = NONE_YET if node.elements else _EMPTY
        for element in node.elements:
            cost = cost.plus(self.cost(element))
            size = size.joined(self.size_or_any(element))
        self.entries[node.id] = _Entries("list", _ONE, size)
        return cost.plus(_LIST_COST)

    def map(self, node: MapLiteral) -> Range:
        cost = _NO_COST
        keys = values = NONE_YET if node.entries else _EMPTY
        for entry in node.entries:
            if isinstance(entry.key, Node):
                cost = cost.plus(self.cost(entry.key))
                cost = cost.plus(self.cost(entry.value))
                keys = keys.joined(self.size_or_any(entry.key))
                values = values.joined(self.size_or_any(entry.value))
        self.entries[node.id] = _Entries("map", keys, values)
        return cost.plus(_MAP_COST)

    def struct(self, node: StructLiteral) -> Range:
        cost = _NO_COST
        for entry in node.entries:
            cost = cost.plus(self.cost(entry.value))
        return cost.plus(_STRUCT_COST)

    def comprehension(self, node: Comprehension) -> Range:
        if _is_binding(node):
            return self.binding(node)
        cost = self.cost(node.iter_range).plus(self.cost(node.init))
        self.push(node.accumulator, self.path(node.init), node.init)
        self.push_iteration(node)
        loop = self.cost(node.condition)
        step = self.cost(node.step)
        self.locals[node.variable].pop()
        if node.variable2:
            self.locals[node.variable2].pop()
        cost = cost.plus(self.cost(node.result))
        self.locals[node.accumulator].pop()
        count = self.size_or_any(node.iter_range)
        cost = cost.plus(count.times(step.plus(loop)))
        if isinstance(node.init, Literal):
            self.set_size(node, self.size(node.init))
        elif isinstance(node.init, (ListLiteral, MapLiteral)):
            self.set_size(node, count)
            self.set_entries(node, self.entries_of(node.step))
        return cost

    def binding(self, node: Comprehension) -> Range:
        cost = self.cost(node.iter_range).plus(self.cost(node.init))
        self.push(node.accumulator, self.path(node.init), node.init)
        cost = cost.plus(self.cost(node.result))
        self.locals[node.accumulator].pop()
        self.copy_sizes(node, node.result)
        return cost

    # Variables of macros.

    def push(self, name: str, path: StepSlice, node: Node) -> None:
        local = _Local(path, self.size(node), self.entries_of(node))
        self.locals.setdefault(name, []).append(local)

    def push_iteration(self, node: Comprehension) -> None:
        ranged = node.iter_range
        entries, path = self.entries_of(ranged), self.path(ranged)
        kind = self.type_of(ranged).kind if entries is None else entries.kind
        is_list = kind == "list"
        key = None if entries is None else entries.key
        value = None if entries is None else entries.value
        if node.variable2:
            self._push_part(node.variable, path.appended("@indices" if is_list else "@keys"), key)
            self._push_part(
                node.variable2, path.appended("@items" if is_list else "@values"), value
            )
        elif is_list:
            self._push_part(node.variable, path.appended("@items"), value)
        else:
            self._push_part(node.variable, path.appended("@keys"), key)

    def _push_part(self, name: str, path: StepSlice, size: Range | None) -> None:
        self.locals.setdefault(name, []).append(_Local(path, size, None))

    def local(self, name: str) -> _Local | None:
        found = self.locals.get(name)
        return found[-1] if found else None

    # What is known of nodes.

    def type_of(self, node: Node) -> CelType:
        return self.checked.types[node.id]

    def path(self, node: Node) -> StepSlice:
        if isinstance(node, Ident):
            local = self.local(node.name)
            if local is not None:
                return local.path
        return self.paths.get(node.id, NO_STEPS)

    def operand(self, node: Node) -> Operand:
        path = self.path(node)
        if path.steps[:1] == (ACCUMULATOR,):
            path = NO_STEPS
        size = self.size(node)
        return Operand(path, self.type_of(node), node, size, self.declared)

    def size(self, node: Node) -> Range | None:
        found = self.sizes.get(node.id) or _literal_size(node)
        if found is not None:
            return found
        found = bounded_size(self.declared, self.path(node).steps)
        if found is not None:
            self.sizes[node.id] = found
            return found
        if _is_scalar(self.type_of(node)):
            return _ONE
        local = self.local(node.name) if isinstance(node, Ident) else None
        return None if local is None else local.size

    def size_or_any(self, node: Node) -> Range:
        return self.size(node) or ANY

    def set_size(self, node: Node, size: Range | None) -> None:
        if size is not None:
            self.sizes[node.id] = size

    def entries_of(self, node: Node) -> _Entries | None:
        found = self.entries.get(node.id)
        if found is None and isinstance(node, Ident):
            local = self.local(node.name)
            return None if local is None else local.entries
        return found

    def set_entries(self, node: Node, entries: _Entries | None) -> None:
        if entries is not None:
            self.entries[node.id] = entries

    def copy_sizes(self, node: Node, source: Node) -> None:
        self.set_size(node, self.size(source))
        self.set_entries(node, self.entries_of(source))

    def function(
        self,
        node: Call,
        called: Overload,
        target: Operand | None,
        args: Sequence[Operand],
        costs: Sequence[Range],
    ) -> Estimate:
        if called.id in ("logical_or", "logical_and"):
            # The other side may not be looked at.
            return Estimate(Range(costs[0].min, costs[0].plus(costs[1]).max))
        if called.id == "conditional":
            return self.conditional(node, args, costs)
        found = estimate_call(node.function, called.id, target, args)
        if found is None:
            found = Estimate(_ONE)
        elif called.id in ("add_string", "add_bytes", "add_list"):
            self.join_entries(node, args[0].node, args[1].node)
        cost = found.cost
        for each in costs:
            cost = cost.plus(each)
        return Estimate(cost, found.size)

    def conditional(self, node: Call, args: Sequence[Operand], costs: Sequence[Range]) -> Estimate:
        size = args[1].known_size.joined(args[2].known_size)
        self.join_entries(node, args[1].node, args[2].node)
        return Estimate(costs[0].plus(costs[1].joined(costs[2])), size)

    def join_entries(self, node: Node, one: Node | None, other: Node | None) -> None:
        if one is None or other is None:
            return
        entries = self.entries_of(one)
        if entries is not None:
            self.set_entries(node, entries.joined(self.entries_of(other)))


_COSTS: Final[Mapping[type[Node], Callable[[_Estimator, Any], Range]]] = {
    Literal: _Estimator.literal,
    Ident: _Estimator.ident,
    Select: _Estimator.select,
    Call: _Estimator.call,
    ListLiteral: _Estimator.list,
    MapLiteral: _Estimator.map,
    StructLiteral: _Estimator.struct,
    Comprehension: _Estimator.comprehension,
}
_PARTS_BY_INDEX: Final = {"index_list": "@items", "index_map": "@values"}


def bounded_size(declared: Declaration, path: tuple[str, ...]) -> Range | None:
    """
    Look the size of what lies at a path up; the first of it names a variable.
    """
    if not path:
        return None
    found = declared.at(path[1:])
    return None if found is None else Range(0, found.max_elements)


def _is_binding(node: Comprehension) -> bool:
    return (
        isinstance(node.iter_range, ListLiteral)
        and not node.iter_range.elements
        and isinstance(node.condition, Literal)
        and node.condition.value is False
    )


def _literal_size(node: Node) -> Range | None:
    match node:
        case Literal():
            return exactly(len(node.value) if isinstance(node.value, (str, bytes)) else 1)
        case ListLiteral():
            return exactly(len(node.elements))
        case MapLiteral():
            return exactly(len(node.entries))
        case _:
            return None


def _is_scalar(one: CelType) -> bool:
    if one.name == "optional_type":
        return _is_scalar(one.params[0])
    return one.kind in _SCALARS
