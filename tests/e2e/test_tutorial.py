"""
The tutorial on a control plane: its commands, one after another, give the output shown.
"""

import re
import shlex
import sys
from functools import partial
from pathlib import Path

import pytest

from tests.docs.reading import ROOT, sessions
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

PAGE = ROOT / "docs" / "tutorial" / "from-a-new-version-to-a-dropped-one.md"
_EXISTS = re.compile(r"(namespace/espalier-system) (?:unchanged|configured)")


def run(plane: ControlPlane, command: str) -> str:
    """
    Run a command with kubectl and espalier on the path, and return all that it prints.
    """
    programs, root = shlex.quote(str(Path(sys.executable).parent)), shlex.quote(str(ROOT))
    return plane.shell(f"cd {root}; PATH={programs}:$PATH; export PATH; ({command}) 2>&1 || true")


def ran(plane: ControlPlane, command: str) -> str:
    """
    Run a command; a new kind is established a moment before the server lists it.
    """
    got = run(plane, command)
    assert "ensure CRDs are installed first" not in got, got
    return got


def test_the_tutorial_leads_to_a_dropped_version(control_plane: ControlPlane) -> None:
    for shown in sessions(PAGE):
        got = eventually(partial(ran, control_plane, shown.command))
        assert _EXISTS.sub(r"\1 created", got) == shown.output, shown.command
