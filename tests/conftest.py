"""
What tests of several folders share.
"""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.e2e.controlplane.assets import AssetsError, find_assets
from tests.e2e.controlplane.running import ControlPlane


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
        timeout=90,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout
