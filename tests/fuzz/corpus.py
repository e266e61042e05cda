"""
Cases that were worth keeping: each is a file with a definition, and objects of it.
"""

from pathlib import Path

from espalier.cli.checks.documents import is_definition
from espalier.cli.input.files import read_documents
from espalier.errors import SourceError
from tests.fuzz.making import Case

FOLDER = Path(__file__).parent.parent / "data" / "fuzz"


def kept() -> list[Path]:
    """
    Return the files.
    """
    return sorted(path for path in FOLDER.iterdir() if path.suffix in {".json", ".yaml"})


def case_of(file: Path) -> Case:
    """
    Make a case of a file: it is given to commands as it is, and its documents lie in a cluster.
    """
    content = file.read_bytes()
    try:
        documents = list(read_documents(str(file)))
    except SourceError:
        return Case({}, [], content, content)
    definition = next((one.value for one in documents if is_definition(one)), {})
    objects = [one.value for one in documents if not is_definition(one)]
    return Case(definition, objects, content, content)
