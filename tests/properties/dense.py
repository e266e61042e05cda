"""
Schemas and values that give a normal form much to do: unknown fields beside each other, nulls,
fields that lack and have defaults. The comparison's own generator makes whatever schemas there are,
of which most objects near them need no change.
"""

from hypothesis import strategies as st

from espalier.paths import JSON

Node = dict[str, JSON]

NAMES = ("a", "b", "c", "metadata", "kind")
INNER: tuple[JSON, ...] = ("x", 1, True, None, {}, [], {"z": 1, "y": None}, [None, {"z": 1}])

UNKNOWN: tuple[Node, ...] = (
    {"y": {"z": 1}, "z": None},
    {"z": 1, "y": "x"},
    {"z": [{"z": None}]},
    {},
)

unknown: st.SearchStrategy[Node] = st.sampled_from(UNKNOWN)
inner: st.SearchStrategy[JSON] = st.sampled_from(INNER)
often = st.sampled_from((True, True, False))
seldom = st.sampled_from((False, False, False, True))


@st.composite
def nodes(draw: st.DrawFn, depth: int) -> Node:
    """
    Make a node of a structural schema.
    """
    node: Node = dict(draw(st.sampled_from(_LEAVES)))
    if depth > 0 and draw(often):
        below = nodes(depth - 1)
        node = draw(
            st.one_of(
                objects(depth),
                below.map(lambda item: {"type": "array", "items": item}),
                below.map(lambda item: {"type": "object", "additionalProperties": item}),
            )
        )
    if draw(seldom):
        node["nullable"] = True
    if draw(seldom):
        node["default"] = draw(near(node))
    return node


@st.composite
def objects(draw: st.DrawFn, depth: int) -> Node:
    """
    Make a node with fields.
    """
    children = st.dictionaries(st.sampled_from(NAMES[:3]), nodes(depth - 1), min_size=2)
    properties: JSON = {**draw(children)}
    node: Node = {"type": "object", "properties": properties}
    if draw(seldom):
        node["x-kubernetes-preserve-unknown-fields"] = True
    return node


_LEAVES: tuple[Node, ...] = (
    {"type": "string"},
    {"type": "integer"},
    {"type": "object"},
    {"x-kubernetes-int-or-string": True},
    {"x-kubernetes-preserve-unknown-fields": True},
)


@st.composite
def near(draw: st.DrawFn, node: JSON) -> JSON:
    """
    Make a value near a node of such a schema; it may well be null, or unknown in part.
    """
    if not isinstance(node, dict) or draw(seldom):
        return draw(inner)
    match node:
        case {"properties": dict() as properties}:
            made: Node = {
                name: draw(near(child)) for name, child in properties.items() if draw(often)
            }
            return made | draw(unknown)
        case {"items": item}:
            return draw(st.lists(near(item), max_size=3))
        case {"additionalProperties": value}:
            return draw(st.dictionaries(st.sampled_from(NAMES), near(value), max_size=3))
        case _:
            return draw(inner)
