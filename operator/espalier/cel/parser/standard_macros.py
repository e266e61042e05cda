"""
The macros of the language, and those of optionals.

Source:
    cel-go, ``parser/macro.go``, and ``cel/library.go``, ``optMap`` and ``optFlatMap``.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec.structs import replace

from espalier.cel.expr import (
    Call,
    Comprehension,
    Entry,
    Ident,
    ListLiteral,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from espalier.cel.parser.macros import MacroError, Maker, refuse_accumulator

_Macro: TypeAlias = Callable[[Maker, Node, tuple[Node, ...]], Node]


def _has(make: Maker, _: Node, args: tuple[Node, ...]) -> Node:
    selected = args[0]
    if not isinstance(selected, Select):
        raise MacroError(selected.at, "invalid argument to has() macro")
    return Select(make.new_id(), make.at, selected.operand, selected.field, is_test=True)


def _variable(node: Node, problem: str) -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.at, problem)
    refuse_accumulator(node.name, node)
    return node.name


def _all(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    name = _variable(args[0], _NO_SIMPLE_NAME)
    condition = make.call("@not_strictly_false", make.ident())
    step = make.call("_&&_", make.ident(), args[1])
    return make.fold(target, (name, ""), make.literal(value=True), condition, step)


def _exists(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    name = _variable(args[0], _NO_SIMPLE_NAME)
    condition = make.call("@not_strictly_false", make.call("!_", make.ident()))
    step = make.call("_||_", make.ident(), args[1])
    return make.fold(target, (name, ""), make.literal(value=False), condition, step)


def _exists_one(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    name = _variable(args[0], _NO_SIMPLE_NAME)
    more = make.call("_+_", make.ident(), make.literal(1))
    step = make.call("_?_:_", args[1], more, make.ident())
    fold = make.fold(target, (name, ""), make.literal(0), make.literal(value=True), step)
    return replace(fold, result=make.call("_==_", make.ident(), make.literal(1)))


def _map(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    name = _variable(args[0], _NO_IDENTIFIER)
    step = make.call("_+_", make.ident(), make.list(args[-1]))
    if len(args) == 3:  # noqa: PLR2004 - a variable, a filter and the transformation
        step = make.call("_?_:_", args[1], step, make.ident())
    return make.fold(target, (name, ""), make.list(), make.literal(value=True), step)


def _filter(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    name = _variable(args[0], _NO_IDENTIFIER)
    step = make.call("_+_", make.ident(), make.list(args[0]))
    step = make.call("_?_:_", args[1], step, make.ident())
    return make.fold(target, (name, ""), make.list(), make.literal(value=True), step)


def _opt_map(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    inner = make.call("optional.of", _opened(make, target, args, "optMap"))
    has_value = make.call("hasValue", target=target)
    return make.call("_?_:_", has_value, inner, make.call("optional.none"))


def _opt_flat_map(make: Maker, target: Node, args: tuple[Node, ...]) -> Node:
    inner = _opened(make, target, args, "optFlatMap")
    has_value = make.call("hasValue", target=target)
    return make.call("_?_:_", has_value, inner, make.call("optional.none"))


def _opened(make: Maker, target: Node, args: tuple[Node, ...], macro: str) -> Node:
    # The transformation with the value of the optional, which is bound to a name by a fold.
    if not isinstance(args[0], Ident):
        raise MacroError(args[0].at, f"{macro}() variable name must be a simple identifier")
    value = make.call("value", target=_copied(make, target))
    return make.bind(args[0].name, value, args[0], args[1])


def _copied(make: Maker, node: Node) -> Node:
    """
    Copy an expression, with ids of its own.
    """

    def inner(child: Node) -> Node:
        return _copied(make, child)

    new = make.new_id()
    match node:
        case Select():
            return replace(node, id=new, operand=inner(node.operand))
        case Call():
            target = None if node.target is None else inner(node.target)
            return replace(node, id=new, target=target, args=tuple(map(inner, node.args)))
        case ListLiteral():
            return replace(node, id=new, elements=tuple(map(inner, node.elements)))
        case MapLiteral() | StructLiteral():
            entries = tuple(_copied_entry(each, inner) for each in node.entries)
            return replace(node, id=new, entries=entries)
        case Comprehension():
            return replace(
                node,
                id=new,
                iter_range=inner(node.iter_range),
                init=inner(node.init),
                condition=inner(node.condition),
                step=inner(node.step),
                result=inner(node.result),
            )
        case _:
            return replace(node, id=new)


def _copied_entry(entry: Entry, inner: Callable[[Node], Node]) -> Entry:
    key = inner(entry.key) if isinstance(entry.key, Node) else entry.key
    return replace(entry, key=key, value=inner(entry.value))


_NO_SIMPLE_NAME: Final = "argument must be a simple name"
_NO_IDENTIFIER: Final = "argument is not an identifier"

MACROS: Final[Mapping[tuple[str, int, bool], _Macro]] = MappingProxyType(
    {
        ("has", 1, False): _has,
        ("all", 2, True): _all,
        ("exists", 2, True): _exists,
        ("exists_one", 2, True): _exists_one,
        ("map", 2, True): _map,
        ("map", 3, True): _map,
        ("filter", 2, True): _filter,
        ("optMap", 2, True): _opt_map,
        ("optFlatMap", 2, True): _opt_flat_map,
    }
)
"""By name, number of arguments, and whether something stands before the dot."""
