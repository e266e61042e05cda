"""
Histories of a definition and its objects, played on a model of etcd that knows every stored byte.

The model prunes and converts as API servers do: bytes are pruned by the schema of the version that
they are stored at, converted, and pruned by the schema that is asked for. A webhook renames some.
``metadata.managedFields`` are kept as servers keep them, gaps included. A definition may have
preserved unknown fields at first, and may be deleted and created anew over its objects.
"""

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from espalier.crd.definition import Definition, Version
from espalier.engine.ports import ObjectKey, StoredMetadata
from espalier.paths import JSON

GROUP = "example.com"
NAMES = ("v1alpha1", "v1beta1", "v1")
SCALARS = ("a", "b", "c", "d")
PARTS = ("x", "y")
SETTLE_SECONDS = 30.0


START = 1_800_000_000.0


@dataclass(frozen=True)
class Shape:
    """
    What a schema specifies: scalars of the spec, and the fields of an atomic list's items.
    """

    scalars: frozenset[str]
    parts: frozenset[str]

    def schema(self) -> dict[str, JSON]:
        text: JSON = {"type": "string"}
        properties: dict[str, JSON] = dict.fromkeys(sorted(self.scalars), text)
        if self.parts:
            item: JSON = {"type": "object", "properties": dict.fromkeys(sorted(self.parts), text)}
            properties["list"] = {"type": "array", "items": item}
        spec: JSON = {"type": "object", "properties": properties}
        return {"type": "object", "properties": {"spec": spec}}

    def keeps(self, leaf: str) -> bool:
        return leaf[5:] in self.parts if leaf.startswith("list.") else leaf in self.scalars


@dataclass
class Stored:
    """
    One object in etcd: the version of its bytes, their leaves, and its managedFields.
    """

    version: str
    leaves: frozenset[str]
    created_at: float
    entries: dict[tuple[str, str], tuple[frozenset[str], float]] = field(default_factory=dict)


def utc(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Etcd:
    """
    A definition and its objects, and the hands that change both.
    """

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.now = START
        self.created_at = self.now
        self.incarnation = 1
        self.generation = 1
        # Only a definition that was there before v1 of the API preserves unknown fields.
        self.preserves = dice.random() < 0.15
        self.is_seen = False
        self.shapes = {"v1alpha1": self._any_shape()}
        self.served = {"v1alpha1"}
        self.storage = "v1alpha1"
        self.stored_versions = ["v1alpha1"]
        self.conversion = "None"
        self.changed_at = self.traced_at = self.now
        self.before = (dict(self.shapes), self.storage, self.preserves)
        self.objects: dict[str, Stored] = {}

    def _any_shape(self) -> Shape:
        return Shape(
            frozenset(name for name in SCALARS if self.dice.random() < 0.7),
            frozenset(name for name in PARTS if self.dice.random() < 0.6),
        )

    def definition(self) -> Definition:
        versions = tuple(
            Version(
                name=name,
                served=name in self.served,
                storage=name == self.storage,
                schema=shape.schema(),
            )
            for name, shape in self.shapes.items()
        )
        return Definition(
            name=f"widgets.{GROUP}",
            uid=f"u{self.incarnation}",
            resource_version="1",
            generation=self.generation,
            group=GROUP,
            kind="Widget",
            plural="widgets",
            namespaced=True,
            versions=versions,
            stored_versions=tuple(self.stored_versions),
            preserve_unknown_fields=self.preserves,
            conversion=self.conversion,
            established=True,
            deleting=False,
            spec_written_at=utc(self.traced_at),
            created_at=utc(self.created_at),
        )

    def metadata(self, name: str) -> StoredMetadata:
        stored = self.objects[name]
        entries: list[JSON] = []
        for (manager, version), (leaves, written_at) in stored.entries.items():
            spec: dict[str, JSON] = {f"f:{leaf.split('.', 1)[0]}": {} for leaf in sorted(leaves)}
            entries.append(
                {
                    "manager": manager,
                    "operation": "Update",
                    "apiVersion": f"{GROUP}/{version}",
                    "time": utc(written_at),
                    "fieldsV1": {"f:spec": {".": {}, **spec}},
                }
            )
        return StoredMetadata(
            key=ObjectKey("default", name),
            uid=name,
            resource_version="1",
            created_at=utc(stored.created_at),
            managed_fields=tuple(entries),
        )

    def shown(self, name: str, version: str) -> frozenset[str]:
        """
        What a read at a version shows.
        """
        stored = self.objects[name]
        bytes_kept = self._pruned(stored.leaves, self.shapes[stored.version])
        return self._pruned(
            self._converted(bytes_kept, stored.version, version), self.shapes[version]
        )

    def _converted(self, leaves: frozenset[str], source: str, target: str) -> frozenset[str]:
        """
        Convert leaves between two versions.
        """
        if self.conversion == "None":
            return leaves
        turn = NAMES.index(target) - NAMES.index(source)
        return frozenset(
            leaf if "." in leaf else SCALARS[(SCALARS.index(leaf) + turn) % len(SCALARS)]
            for leaf in leaves
        )

    def shown_object(self, name: str, version: str) -> dict[str, JSON]:
        """
        The object that a read at a version shows.
        """
        leaves = self.shown(name, version)
        spec: dict[str, JSON] = {leaf: "x" for leaf in leaves if "." not in leaf}
        item: dict[str, JSON] = {leaf[5:]: "x" for leaf in leaves if "." in leaf}
        return {"spec": {**spec, "list": [item]} if item else spec}

    def rewritten(self, name: str) -> frozenset[str]:
        """
        What is left of an object's bytes after a rewrite.
        """
        if self.conversion == "None":
            return self.shown(name, self.storage)
        # What a webhook loses is another matter; it is asked for all fields here.
        stored = self.objects[name]
        return self._pruned(stored.leaves, self.shapes[stored.version])

    def _pruned(self, leaves: frozenset[str], shape: Shape) -> frozenset[str]:
        if self.preserves:
            return leaves
        return frozenset(leaf for leaf in leaves if shape.keeps(leaf))

    def rewrite(self, name: str) -> None:
        stored = self.objects[name]
        self.objects[name] = replace(
            stored, version=self.storage, leaves=self.shown(name, self.storage)
        )

    def step(self) -> None:
        """
        Do something at random, as users, clients, and tools do.
        """
        self.now += self.dice.choice((1, 5, 40, 120, 3000))
        acts = [self._write, self._write, self._write, self._change_schema, self._change_versions,
                self._clear_managed_fields]  # fmt: skip
        if self.dice.random() < 0.1:
            acts = [self._stop_preserving, self._create_anew, self._trim_by_hand]
        self.dice.choice(acts)()

    def _write(self) -> None:
        now = self.preserves
        shapes, storage = dict(self.shapes), self.storage
        if self.now - self.changed_at < SETTLE_SECONDS and self.dice.random() < 0.5:
            # A server that has not seen the change yet.
            shapes, storage, self.preserves = self.before
        self._write_by(shapes, storage)
        self.preserves = now

    def _write_by(self, shapes: dict[str, Shape], storage: str) -> None:
        name = self.dice.choice("pqr")
        version = self.dice.choice([each for each in shapes if each in self.served] or [storage])
        if storage not in self.stored_versions or version not in self.shapes:
            return
        wanted = self._pruned(
            frozenset(self.dice.sample([*SCALARS, "list.x", "list.y"], 3)), shapes[version]
        )
        manager = self.dice.choice(("kubectl", "helm"))
        old = self.objects.get(name)
        if old is None:
            entries = {(manager, version): (wanted, self.now)}
            leaves = self._pruned(self._converted(wanted, version, storage), shapes[storage])
            self.objects[name] = Stored(storage, leaves, self.now, entries)
            return
        if old.version not in shapes:
            return
        kept = self._pruned(old.leaves, shapes[old.version])
        live = self._pruned(self._converted(kept, old.version, version), shapes[version])
        dropped = frozenset(leaf for leaf in live if self.dice.random() < 0.2)
        new = (live - dropped) | wanted
        leaves = self._pruned(self._converted(new, version, storage), shapes[storage])
        self.objects[name] = Stored(
            storage, leaves, old.created_at, self._tracked(old, manager, version, live, new)
        )

    def _tracked(
        self, old: Stored, manager: str, version: str, live: frozenset[str], new: frozenset[str]
    ) -> dict[tuple[str, str], tuple[frozenset[str], float]]:
        if not old.entries or any(each not in self.shapes for _, each in old.entries):
            # Servers track nothing then.
            return old.entries
        entries = dict(old.entries)
        for key, (leaves, written_at) in old.entries.items():
            gone = self._converted(live - new, version, key[1])
            entries[key] = (leaves - gone, written_at)
        took = new - live
        if took:
            had, _ = entries.get((manager, version), (frozenset(), 0.0))
            entries[manager, version] = (had | took, self.now)
        return entries

    def _clear_managed_fields(self) -> None:
        if self.objects and self.dice.random() < 0.3:
            name = self.dice.choice([*self.objects])
            old = self.objects[name]
            if old.version in self.shapes:
                leaves = self.shown(name, self.storage)
                self.objects[name] = Stored(self.storage, leaves, old.created_at, {})

    def _stop_preserving(self) -> None:
        """
        Have the server prune from now on, which no managedFields show.

        If nobody had seen that it did not, this cannot be known, unless something else is changed.
        """
        if self.preserves:
            self.before = (dict(self.shapes), self.storage, True)
            self.preserves = False
            self.generation += 1
            # A server that is behind goes on for as long as after any other change.
            self.changed_at = self.now
            if not self.is_seen:
                self.traced_at = self.now

    def _trim_by_hand(self) -> None:
        """
        Drop versions from the status, as people do before they drop them from the spec.
        """
        self.stored_versions = [self.storage]

    def _create_anew(self) -> None:
        """
        Create the definition again over its objects, with other schemas.
        """
        self.now += 2
        self.created_at = self.now
        self.incarnation += 1
        self.preserves, self.conversion = False, "None"
        self.shapes = {name: self._any_shape() for name in self.shapes}
        self.stored_versions = [self.storage]
        self.before = (dict(self.shapes), self.storage, self.preserves)
        self.generation = 0
        self._changed()

    def _changed(self) -> None:
        self.generation += 1
        self.changed_at = self.traced_at = self.now
        if self.storage not in self.stored_versions:
            self.stored_versions.append(self.storage)

    def _change_schema(self) -> None:
        name = self.dice.choice([*self.shapes])
        self.before = (dict(self.shapes), self.storage, self.preserves)
        shape = self.shapes[name]
        scalar, part = self.dice.choice(SCALARS), self.dice.choice(PARTS)
        self.shapes[name] = self.dice.choice(
            (
                Shape(shape.scalars ^ {scalar}, shape.parts),
                Shape(shape.scalars, shape.parts ^ {part}),
            )
        )
        self._changed()

    def _change_versions(self) -> None:
        self.before = (dict(self.shapes), self.storage, self.preserves)
        missing = [name for name in NAMES if name not in self.shapes]
        act = self.dice.randrange(5)
        if act == 0 and missing:
            self.shapes[missing[0]] = self._any_shape()
            self.served.add(missing[0])
        elif act == 1:
            self.storage = self.dice.choice([*self.shapes])
            self.served.add(self.storage)
        elif act == 2:
            self.served ^= {self.dice.choice([*self.shapes])} - {self.storage}
        elif act == 3:
            unused = [name for name in self.shapes if name not in self.stored_versions]
            for name in unused[:1]:
                del self.shapes[name]
                self.served.discard(name)
        else:
            self.conversion = "Webhook" if self.conversion == "None" else "None"
        self._changed()
