"""
Types of an expression's parts, and which overloads its calls mean.

Source:
    cel-go, ``checker/checker.go``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from espalier.cel.checker.declarations import Declarations
from espalier.cel.checker.overloads import Overloading
from espalier.cel.expr import (
    Call,
    Comprehension,
    Entry,
    Ident,
    Issue,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
    qualified_name,
)
from espalier.cel.signatures import Overload
from espalier.cel.types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    CelType,
    Substitutions,
    format_signature,
    format_type,
    is_dyn_or_error,
    list_of,
    map_of,
    most_general,
    optional_of,
    type_of_type,
    unwrap_optional,
)
from espalier.cel.values import UnsupportedError, type_of


@dataclass(frozen=True, slots=True)
class Checked:
    """
    An expression with the types of its parts.

    Attributes:
        root: The expression; names of functions that began with a prefix (``sets.contains``)
            have it, and names of types are ``Ident``.
        types: The types of its nodes, by their ids.
        overloads: The overloads that its calls may mean, by their ids.
        variables: The names that it uses from outside, by the ids of their nodes.
        type_names: The types that are called by name, by the ids of their nodes.
    """

    root: Node
    types: Mapping[int, CelType]
    overloads: Mapping[int, tuple[Overload, ...]]
    variables: Mapping[int, str]
    type_names: Mapping[int, CelType]

    @property
    def type(self) -> CelType:
        """
        The type of the whole.
        """
        return self.types[self.root.id]


def check(root: Node, declarations: Declarations) -> tuple[Checked, list[Issue]]:
    """
    Find the types of an expression's parts.

    Returns:
        The typed expression, and what is wrong with it; the types mean nothing if there is
        something.
    """
    checker = _Checker(declarations)
    root = checker.check(root)
    types = {
        id_: checker.known.apply(one, unbound_as_dyn=True) for id_, one in checker.types.items()
    }
    checked = Checked(root, types, checker.overloads, checker.variables, checker.type_names)
    return checked, checker.issues


_LOGICAL: Final = ("_&&_", "_||_")


@dataclass
class _Checker:
    """
    Goes down an expression.
    """

    declarations: Declarations
    types: dict[int, CelType] = field(default_factory=dict)
    overloads: dict[int, tuple[Overload, ...]] = field(default_factory=dict)
    variables: dict[int, str] = field(default_factory=dict)
    type_names: dict[int, CelType] = field(default_factory=dict)
    issues: list[Issue] = field(default_factory=list)
    known: Substitutions = field(default_factory=Substitutions)
    scopes: list[dict[str, CelType]] = field(default_factory=list)
    overloading: Overloading = field(init=False)

    def __post_init__(self) -> None:
        self.overloading = Overloading(self.known)

    def check(self, node: Node) -> Node:
        checked, found = _CHECKS[node.__class__](self, node)
        self.types[checked.id] = found
        return checked

    def complain(self, node: Node, text: str) -> None:
        self.issues.append(Issue(node.at, text))

    def mismatch(self, node: Node, wanted: CelType, found: CelType) -> None:
        self.complain(
            node, f"expected type '{format_type(wanted)}' but found '{format_type(found)}'"
        )

    def undeclared(self, node: Node, name: str) -> None:
        self.complain(node, f"undeclared reference to '{name}' (in container '')")

    def type_of(self, node: Node) -> CelType:
        return self.types[node.id]

    def local(self, name: str) -> CelType | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    # Each of the following returns the node, maybe another one, and its type.

    def literal(self, node: Literal) -> tuple[Node, CelType]:
        return node, type_of(node.value)

    def ident(self, node: Ident) -> tuple[Node, CelType]:
        if not node.name.startswith("."):
            found = self.local(node.name)
            if found is not None:
                return node, found
        found = self.outer(node, node.name.removeprefix("."))
        if found is None:
            self.undeclared(node, node.name)
            return node, ERROR
        return node, found

    def outer(self, node: Node, name: str) -> CelType | None:
        found = self.declarations.variables.get(name)
        if found is not None:
            self.variables[node.id] = name
            return found
        named = self.declarations.types.get(name)
        if named is not None:
            self.type_names[node.id] = named
            return type_of_type(named)
        return None

    def select(self, node: Select) -> tuple[Node, CelType]:
        name = None if node.is_test else qualified_name(node)
        if name is not None and self.local(name.partition(".")[0]) is None:
            found = self.outer(node, name.removeprefix("."))
            if found is not None:
                return Ident(node.id, node.at, name), found
        operand = self.check(node.operand)
        found = self.field_of(node, self.type_of(operand), node.field)
        checked = replace(node, operand=operand)
        return checked, BOOL if node.is_test else self.known.apply(found)

    def field_of(
        self, node: Node, operand: CelType, name: str, *, is_optional: bool = False
    ) -> CelType:
        target, was_optional = unwrap_optional(self.known.apply(operand))
        found = ERROR
        if target.kind == "map":
            found = target.params[1]
        elif target.kind == "struct":
            found = self.lookup(node, target.name, name)
        else:
            if target.kind == "param":
                self.known.unify((DYN,), (target,))
            elif not is_dyn_or_error(target):
                text = f"type '{format_type(target)}' does not support field selection"
                self.complain(node, text)
            found = DYN
        return optional_of(found) if is_optional or was_optional else found

    def lookup(self, node: Node, type_name: str, name: str) -> CelType:
        if not self.declarations.fields.has(type_name):
            self.complain(node, f"unexpected failed resolution of '{type_name}'")
            return ERROR
        found = self.declarations.fields.find(type_name, name)
        if found is None:
            self.complain(node, f"undefined field '{name}'")
            return ERROR
        return found

    def call(self, node: Call) -> tuple[Node, CelType]:
        if node.function == "_?._":
            return self.optional_select(node)
        args = tuple(map(self.check, node.args))
        if node.target is None:
            name = node.function.removeprefix(".")
            if name not in self.declarations.functions:
                # The error names it as it was written.
                name = node.function
            return self.resolve(replace(node, function=name, args=args))
        prefix = qualified_name(node.target)
        name = f"{prefix}.{node.function}".removeprefix(".")
        if prefix is not None and name in self.declarations.functions:
            return self.resolve(replace(node, function=name, target=None, args=args))
        target = self.check(node.target)
        return self.resolve(replace(node, target=target, args=args))

    def optional_select(self, node: Call) -> tuple[Node, CelType]:
        operand = self.check(node.args[0])
        name = node.args[1]
        if not isinstance(name, Literal) or not isinstance(name.value, str):
            self.complain(name, "unsupported optional field selection")
            return node, ERROR
        found = self.field_of(node, self.type_of(operand), name.value, is_optional=True)
        self.types[name.id] = type_of(name.value)
        return replace(node, args=(operand, name)), self.known.apply(found)

    def resolve(self, node: Call) -> tuple[Node, CelType]:
        overloads = self.declarations.functions.get(node.function)
        if overloads is None:
            self.undeclared(node, node.function)
            return node, ERROR
        args = node.args if node.target is None else (node.target, *node.args)
        if node.function in _LOGICAL:
            self.overloads[node.id] = overloads
            return node, self.logical(args)
        types = [self.type_of(each) for each in args]
        is_member = node.target is not None
        result, chosen = self.overloading.choose(overloads, types, is_member=is_member)
        if result is None:
            types = [self.known.apply(each, unbound_as_dyn=True) for each in types]
            signature = format_signature(types, is_member=is_member)
            text = f"found no matching overload for '{node.function}' applied to '{signature}'"
            self.complain(node, text)
            return node, ERROR
        self.overloads[node.id] = tuple(chosen)
        return node, result

    def logical(self, args: tuple[Node, ...]) -> CelType:
        found = BOOL
        for each in args:
            if not self.known.unify((self.type_of(each),), (BOOL,)):
                self.mismatch(each, BOOL, self.type_of(each))
                found = ERROR
        return found

    def list(self, node: ListLiteral) -> tuple[Node, CelType]:
        element: CelType | None = None
        elements = []
        for index, each in enumerate(node.elements):
            checked = self.check(each)
            elements.append(checked)
            found = self.type_of(checked)
            if index in node.optional_indices:
                found = self.unwrapped(checked, found)
            element = self.joined(element, found)
        return replace(node, elements=tuple(elements)), list_of(
            element or self.overloading.variable()
        )

    def unwrapped(self, node: Node, found: CelType) -> CelType:
        inner, is_optional = unwrap_optional(found)
        if not is_optional and inner.kind != "dyn":
            self.mismatch(node, optional_of(inner), inner)
        return inner

    def joined(self, before: CelType | None, found: CelType) -> CelType:
        if before is None:
            return found
        # What does not go together is found wrong later, unless it becomes a text.
        return most_general(before, found) if self.known.unify((before,), (found,)) else DYN

    def map(self, node: MapLiteral) -> tuple[Node, CelType]:
        keys: CelType | None = None
        values: CelType | None = None
        entries = []
        for entry in node.entries:
            key = self.check(entry.key) if isinstance(entry.key, Node) else entry.key
            if isinstance(key, Node):
                keys = self.joined(keys, self.type_of(key))
            value = self.check(entry.value)
            found = self.type_of(value)
            if entry.is_optional:
                found = self.unwrapped(value, found)
            values = self.joined(values, found)
            entries.append(replace(entry, key=key, value=value))
        made = map_of(keys or self.overloading.variable(), values or self.overloading.variable())
        return replace(node, entries=tuple(entries)), made

    def struct(self, node: StructLiteral) -> tuple[Node, CelType]:
        name = node.name.removeprefix(".")
        if name.startswith("google."):
            raise UnsupportedError("it makes a message")
        if not self.declarations.fields.has(name):
            # The server points at the brace.
            self.undeclared(replace(node, at=node.at + len(node.name)), node.name)
            return node, ERROR
        entries = []
        for entry in node.entries:
            value = self.check(entry.value)
            self.entry(name, entry, value)
            entries.append(replace(entry, value=value))
        return replace(node, entries=tuple(entries)), CelType("struct", name)

    def entry(self, type_name: str, entry: Entry, value: Node) -> None:
        place = Literal(0, entry.at, None)
        wanted = self.lookup(place, type_name, str(entry.key))
        found = self.type_of(value)
        if entry.is_optional:
            found = self.unwrapped(value, found)
        if not self.known.unify((wanted,), (found,)):
            self.complain(
                place,
                f"expected type of field '{entry.key}' is '{format_type(wanted)}' but provided"
                f" type is '{format_type(found)}'",
            )

    def comprehension(self, node: Comprehension) -> tuple[Node, CelType]:
        iter_range = self.check(node.iter_range)
        init = self.check(node.init)
        accumulated = self.type_of(init)
        self.scopes.append({node.accumulator: accumulated})
        self.scopes.append(self.iterated(node, iter_range))
        condition = self.check(node.condition)
        self.demand(condition, BOOL)
        step = self.check(node.step)
        self.demand(step, accumulated)
        self.scopes.pop()
        result = self.check(node.result)
        self.scopes.pop()
        checked = replace(
            node, iter_range=iter_range, init=init, condition=condition, step=step, result=result
        )
        return checked, self.known.apply(self.type_of(result))

    def demand(self, node: Node, wanted: CelType) -> None:
        if not self.known.unify((wanted,), (self.type_of(node),)):
            self.mismatch(node, wanted, self.type_of(node))

    def iterated(self, node: Comprehension, iter_range: Node) -> dict[str, CelType]:
        found = self.known.apply(self.type_of(iter_range))
        first = second = DYN
        match found.kind:
            case "list":
                first, second = found.params[0], found.params[0]
                if node.variable2:
                    first = INT
            case "map":
                first, second = found.params
            case "dyn" | "error" | "param":
                self.known.unify((DYN,), (found,))
            case _:
                self.complain(
                    iter_range,
                    f"expression of type '{format_type(found)}' cannot be range of a comprehension"
                    " (must be list, map, or dynamic)",
                )
                first = second = ERROR
        return {node.variable: first} | ({node.variable2: second} if node.variable2 else {})


_CHECKS: Final[Mapping[type, Callable[[_Checker, Any], tuple[Node, CelType]]]] = {
    Literal: _Checker.literal,
    Ident: _Checker.ident,
    Select: _Checker.select,
    Call: _Checker.call,
    ListLiteral: _Checker.list,
    MapLiteral: _Checker.map,
    StructLiteral: _Checker.struct,
    Comprehension: _Checker.comprehension,
}
