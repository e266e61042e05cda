"""
What the README shows is what happens.
"""

import re
import shlex
import subprocess
import sys

from tests.docs.reading import README, ROOT, Session, blocks, sessions
from tests.patience import PACE

SHOWN = {session.command: session for session in sessions(README)}
_STAMP = re.compile(r"^ *\d+\.\ds ")


def run(*command: str) -> str:
    result = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PACE.scaled(100),
    )
    assert "Traceback" not in result.stderr
    return result.stdout


def test_the_readme_shows_these_commands_and_no_others() -> None:
    assert list(SHOWN) == [
        "make demo",
        "make test",
        "espalier check docs/examples/widgets.yaml",
    ]


def test_the_readme_is_as_long_as_a_reader_bears() -> None:
    assert 150 <= README.read_text(encoding="utf-8").count("\n") <= 200


def test_checking_a_file_gives_the_output_shown() -> None:
    shown = SHOWN["espalier check docs/examples/widgets.yaml"]

    assert run(sys.executable, "-m", *shlex.split(shown.command)) == shown.output


def test_the_demo_shows_the_lines_of_the_readme_in_their_order(demo_output: str) -> None:
    happened = iter(_without_times(demo_output))

    for line in _without_times(SHOWN["make demo"].output):
        # A heading goes on with a rule.
        assert any(said.rstrip("\u2500 ") == line for said in happened), line


def test_the_library_example_runs() -> None:
    (example,) = blocks(README, "python")

    lines = run(sys.executable, "-W", "ignore::ResourceWarning", "-c", example).splitlines()

    assert len(lines) == 2
    assert all("Required value: must not be empty" in line for line in lines)


def _without_times(text: str) -> list[str]:
    return [_STAMP.sub("", line) for line in text.splitlines() if line.strip()]


def test_a_block_is_read_as_command_and_output() -> None:
    assert isinstance(SHOWN["make demo"], Session)
    assert SHOWN["make demo"].output.startswith("1. A version")
