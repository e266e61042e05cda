"""
The API versions in which a CustomResourceDefinition is written.
"""

from typing import Final

from espalier.errors import MalformedDefinitionError
from espalier.paths import JSON
from espalier.schema.values import type_of

_V1, _V1BETA1 = "apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"
_MOST_SHOWN: Final = 100


def is_beta(api_version: JSON, kind: JSON) -> bool:
    """
    Report whether a manifest is of v1beta1; if not, it is of v1.

    Raises:
        MalformedDefinitionError: It is no CustomResourceDefinition of either.
    """
    if kind != "CustomResourceDefinition" or api_version not in (_V1, _V1BETA1):
        raise MalformedDefinitionError(
            (),
            f"not a CustomResourceDefinition of {_V1} or v1beta1"
            f" (kind {_shown(kind)}, apiVersion {_shown(api_version)})",
        )
    return api_version == _V1BETA1


def _shown(value: JSON) -> str:
    # A list may be nested deeper than Python can print it, and a text longer than anybody can read.
    if not isinstance(value, str):
        return "None" if value is None else f"of type {type_of(value)}"
    return repr(value if len(value) <= _MOST_SHOWN else f"{value[:_MOST_SHOWN]}...")
