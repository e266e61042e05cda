"""
What is slow gets time; what hangs does not get it for ever.
"""

import pytest

from tests.patience import (
    FRESH_SECONDS,
    MAX_FACTOR,
    REFERENCE_SECONDS,
    REFERENCE_WORK,
    Deadline,
    Pace,
    factor_of,
    reference_call_seconds,
)


class Machine:
    """
    A machine with a clock and a speed of its own.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.slowness = 1.0
        self.measurements = 0
        self.pace = Pace(self._measure, lambda: self.now)

    def _measure(self) -> float:
        self.measurements += 1
        return REFERENCE_SECONDS * self.slowness


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.mark.parametrize(
    ("seconds", "factor"),
    [
        (0.0, 1.0),
        (REFERENCE_SECONDS / 2, 1.0),
        (REFERENCE_SECONDS, 1.0),
        (REFERENCE_SECONDS * 5, 5.0),
        (REFERENCE_SECONDS * MAX_FACTOR, MAX_FACTOR),
        (3600.0, MAX_FACTOR),
    ],
)
def test_the_factor_is_how_much_longer_the_reference_call_takes(
    seconds: float, factor: float
) -> None:
    assert factor_of(seconds) == pytest.approx(factor)


def test_the_reference_call_does_not_become_faster_with_the_command_line() -> None:
    assert "espalier" not in REFERENCE_WORK


def test_the_reference_call_is_timed() -> None:
    assert 0.01 < reference_call_seconds() < REFERENCE_SECONDS * 1000


def test_the_machine_is_measured_once_a_minute(machine: Machine) -> None:
    machine.slowness = 3.0
    assert machine.pace.factor() == pytest.approx(3.0)
    machine.slowness = 2.0
    machine.now += FRESH_SECONDS - 1
    assert machine.pace.factor() == pytest.approx(3.0)
    assert machine.measurements == 1

    machine.now += 1
    assert machine.pace.factor() == pytest.approx(2.0)
    assert machine.measurements == 2


def test_a_patience_grows_by_the_last_measurement(machine: Machine) -> None:
    machine.slowness = 3.0
    assert machine.pace.scaled(20.0) == pytest.approx(60.0)
    machine.slowness = 2.0
    machine.now += FRESH_SECONDS * 2

    assert machine.pace.scaled(20.0) == pytest.approx(60.0)
    assert machine.measurements == 1


def test_a_short_wait_costs_no_measurement(machine: Machine) -> None:
    deadline = Deadline(30.0, pace=machine.pace)
    machine.now += 30

    assert not deadline.has_passed()
    assert machine.measurements == 0
    assert deadline.waited_seconds == 30


def test_an_idle_machine_gets_no_more_than_the_patience(machine: Machine) -> None:
    deadline = Deadline(30.0, pace=machine.pace)
    machine.now += 31

    assert deadline.has_passed()


def test_a_machine_that_becomes_slow_gets_more(machine: Machine) -> None:
    machine.pace.factor()
    deadline = Deadline(30.0, pace=machine.pace)
    machine.slowness = 5.0
    machine.now += 31

    assert not deadline.has_passed()
    machine.now += 118
    assert not deadline.has_passed()
    machine.now += 2
    assert deadline.has_passed()


def test_a_machine_that_was_slow_when_the_wait_began_gets_more(machine: Machine) -> None:
    machine.slowness = 5.0
    machine.pace.factor()
    deadline = Deadline(30.0, pace=machine.pace)
    machine.slowness = 1.0
    machine.now += 40

    assert not deadline.has_passed()
    machine.now += 111
    assert deadline.has_passed()


def test_the_slowest_machine_comes_to_an_end(machine: Machine) -> None:
    machine.slowness = 1000.0
    deadline = Deadline(30.0, pace=machine.pace)
    machine.now += 30 * MAX_FACTOR

    assert not deadline.has_passed()
    machine.now += 1
    assert deadline.has_passed()
