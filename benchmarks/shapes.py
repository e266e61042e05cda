"""
Schemas and objects with the shape and size of real ones. They are the same in every run.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import orjson

from espalier.paths import JSON

Node = dict[str, JSON]

_DESCRIPTION = (
    "Tells how the controller treats this part of the resource. Where it is not set, what the"
    " operator was started with is taken, and a later change takes effect at the next rollout. "
)


class Shape(NamedTuple):
    """
    A schema, and three objects for it.

    Attributes:
        normal: An object that needs no change.
        stale: An object that needs a few changes, as after an upgrade. About every sixtieth nested
            object, and at least one, has an unknown field or a null that is dropped, or lacks a
            field with a default.
        spoilt: The same with every third nested object.
    """

    name: str
    schema: Node
    normal: Node
    stale: Node
    spoilt: Node


def text(default: str | None = None) -> Node:
    """
    Return the schema of a string.
    """
    return _with_default({"type": "string"}, default)


def whole(default: int | None = None) -> Node:
    """
    Return the schema of an integer.
    """
    return _with_default({"type": "integer", "format": "int32"}, default)


def flag() -> Node:
    """
    Return the schema of a boolean.
    """
    return {"type": "boolean"}


def fields(**properties: Node) -> Node:
    """
    Return the schema of an object with these fields.
    """
    return {"type": "object", "properties": dict(properties)}


def many(item: Node) -> Node:
    """
    Return the schema of a list.
    """
    return {"type": "array", "items": item}


def table(value: Node) -> Node:
    """
    Return the schema of a map.
    """
    return {"type": "object", "additionalProperties": value}


def _with_default(node: Node, default: JSON) -> Node:
    return node if default is None else node | {"default": default}


def _quantity() -> Node:
    return {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    }


def _resources() -> Node:
    return fields(limits=table(_quantity()), requests=table(_quantity()))


def _conditions() -> Node:
    return many(
        fields(
            type=text(),
            status=text(),
            reason=text(),
            message=text(),
            lastTransitionTime=text(),
            observedGeneration=whole(),
        )
    )


def _probe() -> Node:
    return fields(
        httpGet=fields(path=text("/"), port=_quantity(), scheme=text("HTTP")),
        initialDelaySeconds=whole(),
        periodSeconds=whole(10),
        failureThreshold=whole(3),
    )


def _container() -> Node:
    key = fields(name=text(""), key=text(), optional=flag())
    source = fields(secretKeyRef=key, configMapKeyRef=key, fieldRef=fields(fieldPath=text()))
    return fields(
        name=text(),
        image=text(),
        imagePullPolicy=text("IfNotPresent"),
        command=many(text()),
        args=many(text()),
        env=many(fields(name=text(), value=text(), valueFrom=source)),
        ports=many(fields(name=text(), containerPort=whole(), protocol=text("TCP"))),
        resources=_resources(),
        livenessProbe=_probe(),
        readinessProbe=_probe(),
        volumeMounts=many(fields(name=text(), mountPath=text(), subPath=text(), readOnly=flag())),
        securityContext=fields(
            runAsUser=whole(),
            readOnlyRootFilesystem=flag(),
            capabilities=fields(add=many(text()), drop=many(text())),
        ),
    )


def _pod() -> Node:
    selector = fields(
        matchLabels=table(text()),
        matchExpressions=many(fields(key=text(), operator=text(), values=many(text()))),
    )
    term = fields(
        weight=whole(), topologyKey=text(), labelSelector=selector, namespaces=many(text())
    )
    return fields(
        serviceAccountName=text(),
        priorityClassName=text(),
        terminationGracePeriodSeconds=whole(30),
        nodeSelector=table(text()),
        tolerations=many(fields(key=text(), operator=text("Equal"), value=text(), effect=text())),
        affinity=fields(podAffinity=many(term), podAntiAffinity=many(term)),
        volumes=many(
            fields(
                name=text(),
                emptyDir=fields(medium=text(), sizeLimit=_quantity()),
                secret=fields(secretName=text(), defaultMode=whole(420)),
                configMap=fields(name=text(), items=many(fields(key=text(), path=text()))),
            )
        ),
        initContainers=many(_container()),
        containers=many(_container()),
    )


def _root(spec: Node) -> Node:
    status = fields(observedGeneration=whole(), phase=text(), conditions=_conditions())
    return fields(
        apiVersion=text(), kind=text(), metadata={"type": "object"}, spec=spec, status=status
    )


def _request() -> Node:
    return _root(
        fields(
            secretName=text(),
            commonName=text(),
            duration=text("2160h"),
            dnsNames=many(text()),
            isCA=flag(),
            issuerRef=fields(name=text(), kind=text("Issuer"), group=text("cert.example.com")),
            privateKey=fields(algorithm=text("RSA"), size=whole(2048), rotationPolicy=text()),
            usages=many(text()),
        )
    )


def _workload() -> Node:
    return _root(
        fields(
            replicas=whole(1),
            paused=flag(),
            selector=fields(matchLabels=table(text())),
            image=text(),
            config=table(text()),
            storage=fields(size=_quantity(), className=text(), accessModes=many(text())),
            main=_container(),
        )
    )


def _cluster() -> Node:
    return _root(
        fields(
            replicas=whole(1),
            version=text(),
            paused=flag(),
            retention=text("24h"),
            externalLabels=table(text()),
            podMetadata=fields(labels=table(text()), annotations=table(text())),
            pod=_pod(),
            remotes=many(
                fields(
                    url=text(),
                    name=text(),
                    headers=table(text()),
                    queue=fields(capacity=whole(2500), maxShards=whole(200)),
                    relabelings=many(
                        fields(
                            sourceLabels=many(text()),
                            targetLabel=text(),
                            regex=text(),
                            action=text("replace"),
                        )
                    ),
                )
            ),
        )
    )


def shapes() -> tuple[Shape, ...]:
    """
    Return the three sizes that are compared.
    """
    return (
        _shape("0.6 KB", _request(), 600),
        _shape("2 KB", _workload(), 2_000),
        _shape("20 KB", _cluster(), 20_000),
    )


def grown(target_bytes: int) -> Shape:
    """
    Return objects of the largest shape with about this size; the smallest has 1.5 KB.
    """
    return _shape(f"{target_bytes} bytes", _cluster(), target_bytes)


def large_schema(least_bytes: int) -> Node:
    """
    Return a schema of at least this size, with a description at every field, as generated ones.
    """
    pods: Node = {}
    while len(orjson.dumps(_root(fields(**pods)))) < least_bytes:  # type: ignore[arg-type]
        pods[f"pod{len(pods)}"] = _described(_pod())
    return _root({"type": "object", "properties": pods})


def _described(node: JSON) -> JSON:
    if isinstance(node, list):
        return [_described(item) for item in node]
    if not isinstance(node, dict):
        return node
    described = {
        key: member if key == "anyOf" else _described(member) for key, member in node.items()
    }
    return described | {"description": _DESCRIPTION} if "type" in node else described


def _shape(name: str, schema: Node, target_bytes: int) -> Shape:
    best: Node = {}
    for length in itertools.count():
        made = _Sampler(length).resource(schema)
        size = _size_of(made)
        if abs(size - target_bytes) < abs(_size_of(best) - target_bytes) or not best:
            best = made
        if size >= target_bytes:
            break
    return Shape(name, schema, best, *(_spoilt(best, schema, every) for every in (60, 3)))


def _size_of(value: JSON) -> int:
    return len(orjson.dumps(value))


class _Sampler:
    """
    Make an object for a schema; fields with defaults are always set.

    Args:
        length: The length of the outermost lists; nested lists are short.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._turn = 0

    def resource(self, schema: Node) -> Node:
        """
        Return a whole object.
        """
        return self._fields(schema, in_list=False) | {
            "apiVersion": "bench.example.com/v1",
            "kind": "Sample",
            "metadata": {
                "name": "sample-0",
                "namespace": "default",
                "uid": "6f0c9a34-7a1b-4c58-9d52-2f5a2d1f7c11",
                "resourceVersion": "48151623",
                "generation": 3,
                "creationTimestamp": "2026-01-02T03:04:05Z",
                "labels": {"app.kubernetes.io/name": "sample"},
            },
        }

    def _value(self, node: JSON, *, in_list: bool) -> JSON:
        match node:
            case {"properties": _}:
                return self._fields(node, in_list=in_list)
            case {"additionalProperties": value}:
                return {f"key-{n}": self._value(value, in_list=in_list) for n in range(2)}
            case {"items": item}:
                length = 1 + self._next() % 2 if in_list else self._length
                return [self._value(item, in_list=True) for _ in range(length)]
            case {"type": "integer"}:
                return self._next()
            case {"type": "boolean"}:
                return self._next() % 2 == 0
            case _:
                return "registry.example.com/some/text:v1.2.3"[: 4 + self._next() * 7 % 34]

    def _fields(self, node: JSON, *, in_list: bool) -> Node:
        made: Node = {}
        if isinstance(node, dict) and isinstance(node["properties"], dict):
            for name, child in node["properties"].items():
                left_out = in_list and self._next() % 3 == 0
                if not left_out or (isinstance(child, dict) and "default" in child):
                    made[name] = self._value(child, in_list=in_list)
        return made

    def _next(self) -> int:
        self._turn += 1
        return self._turn


def _spoilt(normal: Node, schema: Node, every: int) -> Node:
    """
    Return a copy of an object in which every n-th nested object needs a change.
    """
    copied: Node = orjson.loads(orjson.dumps(normal))
    defaulted = frozenset(_names_with_default(schema))
    for turn, place in enumerate(_described_objects(copied, schema)):
        if turn % every != 1:
            continue
        match turn // every % 3:
            case 1:
                place[next(iter(place))] = None
            case 2 if found := next((name for name in place if name in defaulted), None):
                del place[found]
            case _:
                place["unknownField"] = "left over"
    return copied


def _described_objects(value: JSON, node: JSON) -> Iterator[Node]:
    match value, node:
        case dict(), {"properties": dict() as properties}:
            yield value
            for name, member in list(value.items()):
                yield from _described_objects(member, properties.get(name))
        case list(), {"items": item}:
            for member in value:
                yield from _described_objects(member, item)
        case _:
            return


def _names_with_default(node: JSON) -> Iterator[str]:
    match node:
        case {"properties": dict() as properties}:
            yield from (
                name
                for name, child in properties.items()
                if isinstance(child, dict) and "default" in child
            )
            for child in properties.values():
                yield from _names_with_default(child)
        case {"items": child} | {"additionalProperties": child}:
            yield from _names_with_default(child)
        case _:
            return
