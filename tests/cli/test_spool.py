"""
Lists in a file: read as they were written, as often as needed, and never whole in memory.
"""

import tracemalloc
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from espalier.cli import collector, main
from espalier.cli import spool as spools
from espalier.cli.output.formats import ALL
from espalier.cli.spool import Spool, SpoolView
from tests.cli.manifests import WIDGETS

TEXT = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: w{}}}\nspec: {{size: 0}}\n"


def test_entries_are_read_as_they_were_appended() -> None:
    spool = Spool[int]()
    for number in range(2500):
        spool.append(number)

    assert list(spool) == list(range(2500))
    assert len(spool) == 2500
    assert 2400 in spool
    assert -1 not in spool
    spool.append(2500)
    assert list(zip(spool, spool, strict=True)) == [(n, n) for n in range(2501)]


def test_a_view_is_made_anew_each_time() -> None:
    spool = Spool[int]()
    for number in range(3):
        spool.append(number)

    view = SpoolView(spool, lambda number: [number] * number, 3)

    assert list(view) == list(view) == [1, 2, 2]
    assert len(view) == 3
    assert 2 in view
    assert 0 not in view


@pytest.mark.parametrize("name", ALL)
def test_more_objects_take_no_more_memory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spools, "_ENTRIES_IN_MEMORY", 50)
    # What is in cycles goes when the collector comes, which is at 200,000 objects otherwise.
    monkeypatch.setattr(collector, "_OBJECTS", 700)
    (tmp_path / "crd.yaml").write_text(WIDGETS)
    for number in range(10):
        texts = "---\n".join(TEXT.format(number * 50 + n) for n in range(50))
        for folder in ("few", "many") if number < 2 else ("many",):
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / f"{number}.yaml").write_text(texts)

    # The first run loads modules, and the collector may be late in any of them.
    peaks = {
        folder: min(peak_bytes(tmp_path, name, folder) for _ in range(2))
        for folder in ("few", "few", "many")
    }

    # A verdict with its finding takes about two kilobytes.
    assert peaks["many"] - peaks["few"] < 400 * 500


def peak_bytes(folder: Path, name: str, objects: str) -> int:
    """
    Return the most memory that the command uses at once while it validates a folder.
    """
    arguments = ["validate", "--crd", str(folder / "crd.yaml"), "-o", name, str(folder / objects)]
    with (folder / "output").open("w") as stream, redirect_stdout(stream):
        tracemalloc.start()
        with pytest.raises(SystemExit):
            main(arguments)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak
