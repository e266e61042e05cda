"""
Compile a schema into closures that change values.

Each node of the schema becomes a ``PlaceActions``: how to change an object, a list or a null at
that node. If nothing can change there is no closure, and a walk does not descend. Scalars have no
closure: their object keeps or prunes them. A walk is as deep as the schema, never as deep as the
value.
"""

import enum
import functools
from collections.abc import Iterator, Mapping

from msgspec import Struct, structs

from espalier.paths import JSON
from espalier.schema.model import Structural
from espalier.schema.normalization.closures import (
    EMPTYING,
    EMPTYING_ITEMS,
    IDLE,
    PRUNING,
    ClosureShape,
    OnValue,
    PlaceActions,
    drop_null,
    list_closure,
    metadata_filter,
    null_filler,
    object_closure,
)
from espalier.schema.normalization.fast_path import recognizing
from espalier.schema.profile import Profile

OWN_FIELDS = ("apiVersion", "kind", "metadata")
"""The fields that every resource has, regardless of its schema."""


class Pruning(enum.IntEnum):
    """
    How fields are treated that a node does not specify.
    """

    OFF = enum.auto()
    PRUNE = enum.auto()
    KEEP = enum.auto()
    """They stay; specified fields are pruned by their own schemas."""


class Steps(Struct, frozen=True, kw_only=True):
    """
    The steps that a compiled schema performs.

    Attributes:
        drop_nulls: Remove fields that are null, not nullable and without a default.
        fill: Fill in defaults of absent fields.
        fill_nulls: Treat a null that is not nullable as absent.
        nulls_within_defaults: Drop nulls from the filled-in defaults, too.
    """

    profile: Profile
    prune: bool = False
    drop_nulls: bool = False
    fill: bool = False
    fill_nulls: bool = False
    nulls_within_defaults: bool = False

    def but(self, *, prune: bool, drop_nulls: bool | None = None) -> "Steps":
        """
        Return a copy with other choices; None keeps a choice.
        """
        drops = self.drop_nulls if drop_nulls is None else drop_nulls
        return structs.replace(self, prune=prune, drop_nulls=drops)


_FREE = Structural(preserve_unknown_fields=True, nullable=True)


@functools.lru_cache(maxsize=256)
def compiled(structural: Structural | None, steps: Steps, *, is_resource: bool) -> PlaceActions:
    """
    Compile a schema with its own defaults; recently compiled schemas are cached.
    """
    return Compiler(steps, {}).root(structural, is_resource=is_resource)


class Compiler:
    """
    Compiles the nodes of one schema, each once per pruning mode.

    Args:
        defaults: Replacements for defaults of nodes; other nodes keep their own default.
        for_many: Whether so many objects will be changed that recognizing unchanged ones is worth
            its cost.
    """

    def __init__(
        self, steps: Steps, defaults: Mapping[Structural, JSON], *, for_many: bool = True
    ) -> None:
        self._steps = steps
        self._for_many = for_many
        self._defaults = defaults
        self._changes: dict[tuple[Structural, Pruning], PlaceActions] = {}
        self._leaves: dict[tuple[Pruning, bool], PlaceActions] = {}
        self._fillings: Compiler | None = None

    def root(
        self, structural: Structural | None, *, is_resource: bool, leaves_own_fields: bool = False
    ) -> PlaceActions:
        """
        Compile from the root.

        Args:
            structural: None prunes everything except the resource's own fields.
            is_resource: Whether apiVersion, kind and metadata are implied.
            leaves_own_fields: Whether these three stay unchanged, regardless of the schema.
        """
        node = Structural() if structural is None else structural
        if leaves_own_fields:
            own = dict.fromkeys(OWN_FIELDS, _FREE)
            node = structs.replace(node, properties={**node.properties, **own})
        pruning = Pruning.PRUNE if self._steps.prune else Pruning.OFF
        change = self._within(node, pruning, is_resource=is_resource or node.embedded_resource)
        return recognizing(change) if self._for_many else change

    def filling_of(self, node: Structural) -> JSON:
        """
        Return a node's default, with the defaults below it filled in; None if it has none.
        """
        default = self._default(node)
        if not isinstance(default, (dict, list)):
            return default
        steps = Steps(
            profile=self._steps.profile,
            drop_nulls=self._steps.nulls_within_defaults,
            nulls_within_defaults=self._steps.nulls_within_defaults,
            fill=True,
            fill_nulls=self._steps.fill_nulls,
        )
        if self._fillings is None:
            once = Compiler(steps, self._defaults, for_many=False)
            self._fillings = self if steps == self._steps else once
        change = self._fillings._within(  # noqa: SLF001 - a compiler of the same schema
            node, Pruning.OFF, is_resource=False
        )
        return change.within(default)[0]

    def _node(self, node: Structural, pruning: Pruning) -> PlaceActions:
        if node.is_bare() and not node.embedded_resource and node.default is None:
            return self._leaf(node, pruning)
        key = (node, pruning)
        found = self._changes.get(key)
        if found is None:
            found = self._within(node, pruning, is_resource=node.embedded_resource)
            on_null = self._on_null(node)
            if on_null is not None:
                found = PlaceActions(found.on_object, found.on_list, on_null, found.shape)
            if self._for_many and not all(map(_is_leaf, node.properties.values())):
                found = recognizing(found)
            self._changes[key] = found
        return found

    def _leaf(self, node: Structural, pruning: Pruning) -> PlaceActions:
        # Most nodes are like this, and few of them differ.
        here = self._modes(node, pruning)[0]
        key = (here, node.nullable)
        found = self._leaves.get(key)
        if found is None:
            found = EMPTYING_ITEMS if here is Pruning.PRUNE else IDLE
            on_null = self._on_null(node)
            if on_null is not None:
                found = found._replace(on_null=on_null)
            self._leaves[key] = found
        return found

    def _default(self, node: Structural) -> JSON:
        return self._defaults.get(node, node.default)

    def _on_null(self, node: Structural) -> OnValue | None:
        if node.nullable:
            return None
        if self._default(node) is not None:
            return null_filler(self.filling_of(node)) if self._steps.fill_nulls else None
        return drop_null if self._steps.drop_nulls else None

    def _within(self, node: Structural, pruning: Pruning, *, is_resource: bool) -> PlaceActions:
        here, below, of_items = self._modes(node, pruning)
        if not is_resource and node.is_bare():
            return EMPTYING_ITEMS if here is Pruning.PRUNE else IDLE
        children = {name: self._node(child, below) for name, child in node.properties.items()}
        additional = node.additional_properties
        if isinstance(additional, Structural):
            rest = self._node(additional, below)
        elif additional is not None:
            rest = _of_unspecified(below)
        else:
            rest = PRUNING if here is Pruning.PRUNE else IDLE
        if is_resource and pruning is not Pruning.OFF:
            children |= self._resource_fields(node)
        fillings = {
            name: self.filling_of(child)
            for name, child in node.properties.items()
            if child.default is not None and self._steps.fill and self._default(child) is not None
        }
        item = IDLE
        if node.items is not None:
            item = self._node(node.items, of_items)
        elif of_items is Pruning.PRUNE:
            item = EMPTYING
        return PlaceActions(
            on_object=object_closure(children, rest, fillings),
            on_list=list_closure(item),
            shape=ClosureShape(children, rest, frozenset(fillings), item),
        )

    def _modes(self, node: Structural, pruning: Pruning) -> tuple[Pruning, Pruning, Pruning]:
        # The modes of the node's own fields, of its fields' contents, and of items.
        if pruning is Pruning.OFF:
            return (Pruning.OFF,) * 3
        if self._steps.profile is Profile.APISERVER:
            # Preservation ends at the first specified field, but lists pass it on to their items.
            keeps = pruning is Pruning.KEEP or node.preserve_unknown_fields
            here = Pruning.KEEP if keeps else Pruning.PRUNE
            return here, Pruning.PRUNE, here
        # Preservation continues until a schema that specifies properties itself.
        if node.preserve_unknown_fields:
            here = Pruning.KEEP
        elif node.properties:
            here = Pruning.PRUNE
        else:
            here = pruning
        return here, here, here

    def _resource_fields(self, node: Structural) -> Iterator[tuple[str, PlaceActions]]:
        for name in OWN_FIELDS:
            child = node.child(name)
            change = IDLE if child is None else self._node(child, Pruning.OFF)
            if name == "metadata" and self._steps.profile is Profile.KEP:
                # The shape does not include the filter.
                filtered = metadata_filter(change.on_object)
                change = change._replace(on_object=filtered, shape=None)
            yield name, change


def _of_unspecified(pruning: Pruning) -> PlaceActions:
    return EMPTYING if pruning is Pruning.PRUNE else IDLE


def _is_leaf(node: Structural) -> bool:
    # If all nodes are like this, a walk is as fast as recognizing the object.
    if node.is_bare():
        return True
    if node.items is not None:
        return node.items.is_bare()
    if isinstance(node.additional_properties, Structural):
        return node.additional_properties.is_bare()
    return all(map(Structural.is_bare, node.properties.values()))
