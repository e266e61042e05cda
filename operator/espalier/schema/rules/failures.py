"""
Why a rule could not be evaluated, in a text that holds no value of an object.
"""

import re

_NO_SUCH_KEY = re.compile(r"no such key: ([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)
_FIXED = (
    "no such overload",
    "division by zero",
    "modulus by zero",
    "integer overflow",
    "unsigned integer overflow",
    "duration overflow",
    "timestamp overflow",
    "index out of bounds",
    "optional.none() dereference",
)


def cause_without_values(failure: str, rule: str) -> str:
    """
    Return what a failure says of the rule, and not of the object; empty if that is not known.

    Args:
        failure: The text of the error of evaluation.
        rule: The rule's source. A key that it names comes from the schema; any other one may be a
            value.
    """
    key = _NO_SUCH_KEY.fullmatch(failure)
    if key is not None:
        named = re.search(rf"(?<![A-Za-z0-9_]){key[1]}(?![A-Za-z0-9_])", rule)
        return failure if named else "no such key"
    return next((text for text in _FIXED if failure.startswith(text)), "")
