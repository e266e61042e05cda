"""
Macros of API servers that the parser does not expand.

Source:
    cel-go, ``ext/comprehensions.go``, ``ext/lists.go``, ``parser/macro.go``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from espalier.cel.expr import (
    Call,
    Comprehension,
    Entry,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
    walk,
)

ACCUMULATOR: Final = "@result"
_OLD_ACCUMULATOR: Final = "__result__"
_SORT_INPUT: Final = "@__sortBy_input__"
UNUSED: Final = "#unused"


class MacroError(Exception):
    """
    A macro was called as it cannot be.
    """

    def __init__(self, at: int, text: str) -> None:
        super().__init__(text)
        self.at = at
        self.text = text


@dataclass
class Maker:
    """
    Makes the nodes of an expansion, each with an id of its own.
    """

    next_id: int
    at: int

    def new_id(self) -> int:
        """
        Take an id.
        """
        self.next_id += 1
        return self.next_id

    def literal(self, value: "bool | int") -> Node:
        """
        Make a constant.
        """
        return Literal(self.new_id(), self.at, value)

    def ident(self, name: str = ACCUMULATOR) -> Node:
        """
        Make a name; the accumulator's by default.
        """
        return Ident(self.new_id(), self.at, name)

    def call(self, function: str, *args: Node, target: Node | None = None) -> Node:
        """
        Make a call.
        """
        return Call(self.new_id(), self.at, function, target, args)

    def list(self, *elements: Node) -> Node:
        """
        Make a list.
        """
        return ListLiteral(self.new_id(), self.at, elements)

    def map(self) -> Node:
        """
        Make an empty map.
        """
        return MapLiteral(self.new_id(), self.at, ())

    def fold(
        self, iter_range: Node, variables: tuple[str, str], init: Node, condition: Node, step: Node
    ) -> Comprehension:
        """
        Make a fold whose result is what was accumulated.
        """
        return Comprehension(
            self.new_id(),
            self.at,
            variable=variables[0],
            variable2=variables[1],
            iter_range=iter_range,
            accumulator=ACCUMULATOR,
            init=init,
            condition=condition,
            step=step,
            result=self.ident(),
        )

    def bind(self, name: str, value: Node, reference: Node, result: Node) -> Comprehension:
        """
        Bind a name to a value in an expression: a fold over nothing.

        Args:
            reference: The name as an expression.
        """
        return Comprehension(
            self.new_id(),
            self.at,
            variable=UNUSED,
            variable2="",
            iter_range=self.list(),
            accumulator=name,
            init=value,
            condition=self.literal(value=False),
            step=reference,
            result=result,
        )


def expand(root: Node) -> Node:
    """
    Expand the macros in an expression, innermost first.

    Raises:
        MacroError: One of them was called as it cannot be.
    """
    maker = Maker(max(node.id for node in walk(root)), 0)
    return _expand(root, maker)


def _expand(node: Node, maker: Maker) -> Node:
    def inner(child: Node) -> Node:
        return _expand(child, maker)

    match node:
        case Select():
            return replace(node, operand=inner(node.operand))
        case ListLiteral():
            return replace(node, elements=tuple(map(inner, node.elements)))
        case MapLiteral() | StructLiteral():
            return replace(node, entries=tuple(_entry(each, inner) for each in node.entries))
        case Comprehension():
            return replace(
                node,
                iter_range=inner(node.iter_range),
                init=inner(node.init),
                condition=inner(node.condition),
                step=inner(node.step),
                result=inner(node.result),
            )
        case Call():
            target = None if node.target is None else inner(node.target)
            call = replace(node, target=target, args=tuple(map(inner, node.args)))
            macro = _MACROS.get((call.function, len(call.args)))
            if macro is None or target is None:
                return call
            maker.at = call.at
            return macro(maker, target, call.args)
        case _:
            return node


def _entry(entry: Entry, inner: Callable[[Node], Node]) -> Entry:
    key = inner(entry.key) if isinstance(entry.key, Node) else entry.key
    return replace(entry, key=key, value=inner(entry.value))


def _name(node: Node) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.at, "argument is not an identifier")
    return node.name


def _two_names(args: tuple[Node, ...]) -> tuple[str, str]:
    # The texts of the library and those of this function were taken from the same server.
    first, second = _name(args[0]), _name(args[1])
    if first == second:
        raise MacroError(args[1].at, f"duplicate variable name: {first}")
    for name, node in ((first, args[0]), (second, args[1])):
        refuse_accumulator(name, node)
    return first, second


def refuse_accumulator(name: str, node: Node) -> None:
    """
    Check that a variable of a macro is not its accumulator.

    Raises:
        MacroError: It is.
    """
    if name in (ACCUMULATOR, _OLD_ACCUMULATOR):
        raise MacroError(node.at, "iteration variable overwrites accumulator variable")


def _all(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    names = _two_names(args)
    condition = make.call("@not_strictly_false", make.ident())
    step = make.call("_&&_", make.ident(), args[2])
    return make.fold(target, names, make.literal(value=True), condition, step)


def _exists(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    names = _two_names(args)
    condition = make.call("@not_strictly_false", make.call("!_", make.ident()))
    step = make.call("_||_", make.ident(), args[2])
    return make.fold(target, names, make.literal(value=False), condition, step)


def _exists_one(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    names = _two_names(args)
    more = make.call("_+_", make.ident(), make.literal(1))
    step = make.call("_?_:_", args[-1], more, make.ident())
    fold = make.fold(target, names, make.literal(0), make.literal(value=True), step)
    return replace(fold, result=make.call("_==_", make.ident(), make.literal(1)))


def _transform_list(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    names = _two_names(args)
    step = _filtered(make, args, make.call("_+_", make.ident(), make.list(args[-1])))
    return make.fold(target, names, make.list(), make.literal(value=True), step)


def _transform_map(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    names = _two_names(args)
    inserted = make.call("cel.@mapInsert", make.ident(), make.ident(names[0]), args[-1])
    step = _filtered(make, args, inserted)
    return make.fold(target, names, make.map(), make.literal(value=True), step)


def _transform_entry(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    names = _two_names(args)
    step = _filtered(make, args, make.call("cel.@mapInsert", make.ident(), args[-1]))
    return make.fold(target, names, make.map(), make.literal(value=True), step)


def _filtered(make: Maker, args: tuple[Node, ...], step: Node) -> Node:
    if len(args) == 3:  # noqa: PLR2004 - two variables and the transformation
        return step
    return make.call("_?_:_", args[2], step, make.ident())


def _sort_by(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    if not isinstance(target, (ListLiteral, Select, Ident, Comprehension, Call)):
        raise MacroError(
            target.at,
            "sortBy can only be applied to a list, identifier, comprehension, call or select"
            " expression",
        )
    name = _name(args[0])
    refuse_accumulator(name, args[0])
    step = make.call("_+_", make.ident(), make.list(args[1]))
    keys = make.fold(
        make.ident(_SORT_INPUT), (name, ""), make.list(), make.literal(value=True), step
    )
    ordered = make.call("@sortByAssociatedKeys", keys, target=make.ident(_SORT_INPUT))
    return make.bind(_SORT_INPUT, target, make.ident(_SORT_INPUT), ordered)


_MACROS: Final[Mapping[tuple[str, int], Callable[[Maker, Node, tuple[Node, ...]], Node]]] = {
    ("all", 3): _all,
    ("exists", 3): _exists,
    ("existsOne", 3): _exists_one,
    ("exists_one", 3): _exists_one,
    ("transformList", 3): _transform_list,
    ("transformList", 4): _transform_list,
    ("transformMap", 3): _transform_map,
    ("transformMap", 4): _transform_map,
    ("transformMapEntry", 3): _transform_entry,
    ("transformMapEntry", 4): _transform_entry,
    ("sortBy", 2): _sort_by,
}
