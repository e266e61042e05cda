"""
Schemas, right and broken, and objects *near* them.
"""

from hypothesis import strategies as st

from espalier.paths import JSON

Node = dict[str, JSON]

NAMES = ("a", "b", "c", "spec", "metadata", "kind", "apiVersion", "name", "labels")
TYPES = ("object", "array", "string", "integer", "number", "boolean")
PATTERNS = (
    "^a+$",
    "[a-z]{1,3}",
    "(?P<n>x)",
    "a|b",
    "(?!x)a",
    "a(",
    "\\1",
    "[z-a]",
    "x{2000}",
    "*a",
)
VALIDATIONS: dict[str, tuple[JSON, ...]] = {
    "format": ("date-time", "int32", "nonsense"),
    "minimum": (0, 1.5),
    "maximum": (10, 2.5),
    "exclusiveMinimum": (True, False),
    "minLength": (0, 2),
    "maxLength": (0, 5),
    "minItems": (0, 1),
    "maxItems": (0, 3),
    "minProperties": (0,),
    "maxProperties": (0, 4),
    "multipleOf": (2, 0.5),
    "uniqueItems": (True, False),
    "enum": (["a", "b"], [1, 2], [None, {"a": 1}], []),
    "required": (["a"], ["b", "c"], []),
    "pattern": PATTERNS,
}
EXTENSIONS: dict[str, tuple[JSON, ...]] = {
    "x-kubernetes-list-type": ("atomic", "set", "map"),
    "x-kubernetes-list-map-keys": (["a"], ["a", "b"]),
    "x-kubernetes-map-type": ("atomic", "granular"),
    "x-kubernetes-validations": ([{"rule": "true"}], []),
}
INT_OR_STRING: JSON = [{"type": "integer"}, {"type": "string"}]

scalars: st.SearchStrategy[JSON] = st.sampled_from(
    (None, True, False, 0, 1, -7, 1.0, 1.5, 2**53, 1e300, "", "a", "b", "2020-01-01T00:00:00Z")
)
loose: st.SearchStrategy[JSON] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    ),
    max_leaves=5,
)


@st.composite
def schemas(draw: st.DrawFn, *, depth: int = 3, junctor: bool = False) -> Node:
    """
    Make a schema of any quality; within a junctor mostly value validations.
    """
    node: Node = {}
    _type(draw, node, junctor=junctor)
    if depth > 0:
        _structure(draw, node, depth, junctor=junctor)
        _junctors(draw, node, depth)
    if _seldom(draw, 4 if junctor else 5):
        _pick(draw, node, VALIDATIONS)
    if _seldom(draw, 12):
        _pick(draw, node, EXTENSIONS)
    if _seldom(draw, 20):
        node[draw(st.sampled_from(("title", "description")))] = draw(st.sampled_from(("", "t")))
    if _seldom(draw, 20 if junctor else 4):
        node["default"] = draw(loose)
    if _seldom(draw, 20 if junctor else 4):
        node["nullable"] = draw(st.booleans())
    return node


@st.composite
def roots(draw: st.DrawFn) -> Node:
    """
    Make a root schema: mostly an object without the faults of the root.
    """
    node = draw(schemas())
    if not _seldom(draw, 10):
        node["type"] = "object"
        node.pop("additionalProperties", None)
        node.pop("x-kubernetes-int-or-string", None)
        node.pop("items", None)
        node.setdefault("properties", draw(_properties(2, junctor=False)))
    return node


@st.composite
def objects(draw: st.DrawFn, schema: JSON) -> dict[str, JSON]:
    """
    Make an object near a schema: a resource, often with metadata, right or slightly wrong.
    """
    obj = draw(values(schema))
    result: Node = obj if isinstance(obj, dict) else {"a": obj}
    if not _seldom(draw, 8):
        result.update(apiVersion="example.com/v1", kind="Foo")
    if draw(st.booleans()):
        result["metadata"] = draw(metadata())
    return result


@st.composite
def values(draw: st.DrawFn, schema: JSON, *, depth: int = 5) -> JSON:
    """
    Make a value near a schema, with unknown keys, nulls and wrong types at every level.
    """
    if depth == 0 or not isinstance(schema, dict) or _seldom(draw, 8):
        return draw(loose)
    if _seldom(draw, 10):
        return None
    if schema.get("x-kubernetes-embedded-resource") and draw(st.booleans()):
        return draw(_embedded(schema, depth))
    match schema.get("type"):
        case "array":
            items = schema.get("items")
            return draw(st.lists(values(items, depth=depth - 1), max_size=3))
        case "object" | None:
            return draw(_members(schema, depth))
        case _:
            return draw(scalars)


@st.composite
def metadata(draw: st.DrawFn) -> JSON:
    """
    Make metadata, right or malformed in at most one place: the server's map order decides
    which of several faults it reports.
    """
    made: Node = draw(st.fixed_dictionaries({}, optional=_METADATA))
    if _seldom(draw, 3):
        made[draw(st.sampled_from(("garbage", "Name", "clusterName")))] = draw(loose)
    if _seldom(draw, 3):
        key = draw(st.sampled_from(sorted(_METADATA)))
        made[key] = draw(loose)
    return made if not _seldom(draw, 15) else draw(loose)


def _lists_of(entries: st.SearchStrategy[Node]) -> st.SearchStrategy[JSON]:
    return st.lists(entries | st.none(), max_size=2).map(lambda made: [*made])


_TIMES = ("2020-01-01T00:00:00Z", "2020-06-01T12:30:00.25+02:00", "2020-02-30T00:00:00Z", None)
_OWNER: dict[str, st.SearchStrategy[JSON]] = {
    "apiVersion": st.sampled_from(("v1", "")),
    "kind": st.just("Pod"),
    "name": st.sampled_from(("p", None)),
    "uid": st.just("u"),
    "controller": st.booleans(),
    "extra": st.just(1),
}
_MANAGED: dict[str, st.SearchStrategy[JSON]] = {
    "manager": st.just("m"),
    "operation": st.sampled_from(("Apply", "Update")),
    "fieldsType": st.just("FieldsV1"),
    "fieldsV1": st.sampled_from(({"f:spec": {}}, {}, None)),
    "time": st.just("2020-01-01T00:00:00Z"),
    "extra": st.just(1),
}
_METADATA: dict[str, st.SearchStrategy[JSON]] = {
    "name": st.sampled_from(("n", "", None)),
    "generateName": st.just("g-"),
    "namespace": st.just("ns"),
    "uid": st.just("u"),
    "resourceVersion": st.just("1"),
    "generation": st.sampled_from((0, 1, 2.0, None)),
    "creationTimestamp": st.sampled_from(_TIMES[:2] + _TIMES[3:]),
    "deletionTimestamp": st.sampled_from(_TIMES[:2] + _TIMES[3:]),
    "deletionGracePeriodSeconds": st.sampled_from((0, 30)),
    "labels": st.dictionaries(st.sampled_from(("k", "l")), st.sampled_from(("v", "", None))),
    "annotations": st.dictionaries(st.sampled_from(("k", "l")), st.sampled_from(("v", None))),
    "finalizers": st.lists(st.sampled_from(("f/f", "", None)), max_size=2),
    "ownerReferences": _lists_of(st.fixed_dictionaries({}, optional=_OWNER)),
    "managedFields": _lists_of(st.fixed_dictionaries({}, optional=_MANAGED)),
    "selfLink": st.just("/x"),
}


@st.composite
def _embedded(draw: st.DrawFn, schema: Node, depth: int) -> JSON:
    value = draw(_members(schema, depth))
    result: Node = value if isinstance(value, dict) else {}
    if draw(st.booleans()):
        result.update(apiVersion="v1", kind="Pod")
    if draw(st.booleans()):
        result["metadata"] = draw(metadata())
    if _seldom(draw, 8):
        result[draw(st.sampled_from(("apiVersion", "kind")))] = draw(scalars)
    return result


@st.composite
def _members(draw: st.DrawFn, schema: Node, depth: int) -> JSON:
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    additional = schema.get("additionalProperties")
    value: Node = {}
    for name in known:
        if draw(st.booleans()):
            value[name] = draw(values(known[name], depth=depth - 1))
    if additional is not None or _seldom(draw, 2):
        for name in draw(st.lists(st.sampled_from(NAMES), max_size=2)):
            if name not in known:
                value[name] = draw(values(additional, depth=depth - 1))
    return value


def _type(draw: st.DrawFn, node: Node, *, junctor: bool) -> None:
    if junctor:
        if _seldom(draw, 10):
            node["type"] = draw(st.sampled_from(TYPES))
        if _seldom(draw, 25):
            node["x-kubernetes-preserve-unknown-fields"] = True
        return
    if _seldom(draw, 3):
        node |= draw(st.sampled_from(_SPECIAL_TYPES))
    elif not _seldom(draw, 12):
        node["type"] = draw(st.sampled_from(("object", "object", "object", "array", *TYPES)))
    if _seldom(draw, 30):
        node["x-kubernetes-embedded-resource"] = True
    if _seldom(draw, 60):
        node["x-kubernetes-preserve-unknown-fields"] = False


_PRESERVE: Node = {"x-kubernetes-preserve-unknown-fields": True}
_EMBEDDED: Node = {"type": "object", "x-kubernetes-embedded-resource": True}
_SPECIAL_TYPES: tuple[Node, ...] = (
    {"x-kubernetes-int-or-string": True},
    {"x-kubernetes-int-or-string": True, "anyOf": INT_OR_STRING},
    {"x-kubernetes-int-or-string": True, "allOf": [{"anyOf": INT_OR_STRING}, {"minimum": 1}]},
    {"anyOf": INT_OR_STRING},
    {"x-kubernetes-int-or-string": True, **_PRESERVE},
    _PRESERVE,
    {"type": "object", **_PRESERVE},
    {"type": "array", **_PRESERVE},
    {"type": "string", **_PRESERVE},
    _EMBEDDED,
    {**_EMBEDDED, **_PRESERVE},
)


def _structure(draw: st.DrawFn, node: Node, depth: int, *, junctor: bool) -> None:
    of = node.get("type")
    if (of == "object" and not _seldom(draw, 4)) or _seldom(draw, 5):
        if not junctor and _seldom(draw, 4):
            inner = schemas(depth=depth - 1)
            node["additionalProperties"] = draw(st.booleans() | inner)
        if "additionalProperties" not in node or _seldom(draw, 10):
            node["properties"] = draw(_properties(depth - 1, junctor=junctor))
    if (of == "array" and not _seldom(draw, 10)) or _seldom(draw, 20):
        node["items"] = draw(schemas(depth=depth - 1, junctor=junctor))


def _properties(depth: int, *, junctor: bool) -> st.SearchStrategy[JSON]:
    inner = schemas(depth=depth, junctor=junctor)
    return st.dictionaries(st.sampled_from(NAMES), inner, max_size=3).map(lambda made: {**made})


def _junctors(draw: st.DrawFn, node: Node, depth: int) -> None:
    if not _seldom(draw, 6):
        return
    inner = schemas(depth=depth - 1, junctor=True)
    keyword = draw(st.sampled_from(("allOf", "anyOf", "oneOf", "not")))
    node[keyword] = draw(inner) if keyword == "not" else [*draw(st.lists(inner, max_size=2))]


def _pick(draw: st.DrawFn, node: Node, table: dict[str, tuple[JSON, ...]]) -> None:
    for keyword in draw(st.lists(st.sampled_from(sorted(table)), max_size=2)):
        node[keyword] = draw(st.sampled_from(table[keyword]))


def _seldom(draw: st.DrawFn, one_in: int) -> bool:
    return draw(st.integers(1, one_in)) == one_in
