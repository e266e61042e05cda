"""
What tests of several folders share.
"""

import logging
import subprocess
import sys
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

from tests.e2e.controlplane.assets import AssetsError, find_assets
from tests.e2e.controlplane.running import ControlPlane
from tests.patience import PACE

DEMO_SECONDS = 90.0


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """
    Lengthen the timeout of each test on a slow machine, unless the caller gave one.
    """
    if item.config.getoption("timeout") is None:
        marker = item.get_closest_marker("timeout")
        seconds = float(marker.args[0] if marker else item.config.getini("timeout"))
        item.add_marker(pytest.mark.timeout(seconds * PACE.factor()), append=False)
    return (yield)


# How long an example takes depends on what else the machine does; pytest's own limit ends a hang.
settings.register_profile("espalier", deadline=None)
settings.load_profile("espalier")


@pytest.fixture(autouse=True)
def same_logging() -> Iterator[None]:
    """
    Put logging back as it was: commands configure it for the whole process.
    """
    loggers = [logging.getLogger(name) for name in ("", "espalier", "kopf", "aiohttp.access")]
    before = [(logger, logger.level, logger.handlers[:]) for logger in loggers]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    """
    A real etcd and kube-apiserver, started once a run; for tests that are marked ``e2e``.
    """
    try:
        # Building takes minutes and tells of its progress, which pytest would swallow.
        assets = find_assets(may_build=False)
    except AssetsError as error:
        pytest.exit(str(error), returncode=3)
    plane = ControlPlane(assets)
    plane.start()
    yield plane
    plane.stop()


@pytest.fixture(scope="session")
def demo_output() -> str:
    """
    What ``espalier demo`` prints; it is played once a run.
    """
    result = subprocess.run(
        [sys.executable, "-m", "espalier", "demo"],
        capture_output=True,
        text=True,
        check=False,
        timeout=PACE.scaled(DEMO_SECONDS),
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout
