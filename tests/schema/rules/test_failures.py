"""
What a failed rule says of the schema, and nothing of the object.
"""

import pytest

from espalier.schema.rules.failures import cause_without_values


@pytest.mark.parametrize(
    ("failure", "rule", "cause"),
    [
        ("no such key: vendor", "self.vendor != 'acme'", "no such key: vendor"),
        # The key is a value of the object: self.names[self.first].
        ("no such key: hunter2", "self.names[self.first] == 1", "no such key"),
        ("no such key: end", "self.vendor != 'acme'", "no such key"),
        ("division by zero", "1 / self.size > 0", "division by zero"),
        ("index out of bounds: 7", "self.sizes[self.at] > 0", "index out of bounds"),
        ("type conversion error from 'hunter2'", "int(self) > 3", ""),
    ],
)
def test_a_cause_holds_no_value(failure: str, rule: str, cause: str) -> None:
    assert cause_without_values(failure, rule) == cause
