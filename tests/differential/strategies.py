"""
Hypothesis strategies for the generated schemas and objects, for the property tests.
"""

from hypothesis import strategies as st

from espalier.paths import JSON
from tests.differential import objects as making_objects
from tests.differential import schemas as making_schemas
from tests.differential.dice import Dice
from tests.differential.worsening import Node

dice: st.SearchStrategy[Dice] = st.randoms(use_true_random=False).map(Dice)

loose: st.SearchStrategy[JSON] = dice.map(making_schemas.loose)


def roots() -> st.SearchStrategy[Node]:
    """
    Return a strategy for root schemas, with and without faults.
    """
    return dice.map(making_schemas.root)


def objects(schema: JSON) -> st.SearchStrategy[Node]:
    """
    Return a strategy for objects that are close to a schema, often with metadata.
    """
    return dice.map(lambda thrown: making_objects.obj(thrown, schema))


def values(schema: JSON) -> st.SearchStrategy[JSON]:
    """
    Return a strategy for values that are close to a schema, with faults at every level.
    """
    return dice.map(lambda thrown: making_objects.value(thrown, schema))


def metadata() -> st.SearchStrategy[JSON]:
    """
    Return a strategy for metadata, valid or malformed.
    """
    return dice.map(making_objects.metadata)
