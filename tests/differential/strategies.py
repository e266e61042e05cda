"""
The schemas and objects of the comparison as strategies of hypothesis, for the property tests.
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
    Make root schemas, right and broken.
    """
    return dice.map(making_schemas.root)


def objects(schema: JSON) -> st.SearchStrategy[Node]:
    """
    Make objects near a schema: resources, often with metadata, right or slightly wrong.
    """
    return dice.map(lambda thrown: making_objects.obj(thrown, schema))


def values(schema: JSON) -> st.SearchStrategy[JSON]:
    """
    Make values near a schema, with unknown keys, nulls and wrong types at every level.
    """
    return dice.map(lambda thrown: making_objects.value(thrown, schema))


def metadata() -> st.SearchStrategy[JSON]:
    """
    Make metadata, right or malformed.
    """
    return dice.map(making_objects.metadata)
