"""
What all soaks have shown, a line of JSON each, and the table of it: ``make soak FLAGS=--table``.
"""

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
FILE = ROOT / "build" / "soak.jsonl"
HEAD = (
    "seed",
    "commit",
    "objects",
    "faults",
    "trims",
    "writes by others, by Espalier",
    "lost or changed",
    "false trims",
    "writes of fenced holders",
    "hidden fields erased",
    "time",
)


def commit() -> str:
    """
    Return the commit that is tried.
    """
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return result.stdout.strip() or "unknown"


def append(record: dict[str, Any]) -> None:
    """
    Add a run.
    """
    FILE.parent.mkdir(exist_ok=True)
    with FILE.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")


def table() -> str:
    """
    Return all runs as a table of Markdown, and their sums.
    """
    records = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    rows = [HEAD, ("---",) * len(HEAD), *(_row(one) for one in records)]
    kinds: Counter[str] = Counter()
    for one in records:
        kinds.update(one["by_kind"])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines += ["", f"{sum(kinds.values()):,} faults in {len(records)} runs: "]
    lines[-1] += ", ".join(f"{name} {count:,}" for name, count in kinds.most_common())
    lines += [f"Seed {one['seed']} failed: {one['failure']}" for one in records if one["failure"]]
    return "\n".join(lines)


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    found = ("lost", "false_trims", "fenced_writes", "hidden_erased")
    return (
        str(one["seed"]),
        one["commit"],
        f"{one['objects']:,}",
        f"{one['faults']:,}",
        str(one["trims"]),
        f"{one['writes_of_others']:,}, {one['writes_of_espalier']:,}",
        # A run that ended early was not looked at.
        *(str(one.get(name, "unknown")) for name in found),
        f"{one['seconds']:,} s",
    )
