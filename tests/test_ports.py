"""
The ports of the control planes of the tests.
"""

from tests.e2e.controlplane.running import PORTS, free_port


def test_no_port_is_given_twice_before_the_block_is_used_up() -> None:
    given = [free_port() for _ in range(PORTS // 2)]

    assert len(set(given)) == len(given)
