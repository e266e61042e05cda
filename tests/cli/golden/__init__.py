"""
Outputs of commands that were looked at once, and are held to since.

``ESPALIER_UPDATE_GOLDEN=1 pytest tests/cli`` writes them anew; look at what changed.
"""

import os
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).parent


def check_golden(name: str, output: str) -> None:
    """
    Compare an output with the one that is kept under a name.
    """
    stable = output.replace(f'"version": "{version("espalier")}"', '"version": "VERSION"')
    file = FOLDER / name
    if os.environ.get("ESPALIER_UPDATE_GOLDEN"):
        file.write_text(stable, encoding="utf-8")
    kept = file.read_text(encoding="utf-8")
    assert stable.splitlines() == kept.splitlines()
