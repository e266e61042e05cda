"""
The bill of materials and the notices: all that is locked, in forms that others read.
"""

import json
import zipfile
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from espalier import __version__
from tests.release.lock import read_lock
from tests.release.notices import NOTICES, line_of, notices
from tests.release.sbom import sbom
from tests.release.wheels import Wheel, read_wheel

WHEELS = [
    Wheel(name="aiohttp", version="3", license="Apache-2.0 AND MIT", texts={}, requires=("yarl",)),
    Wheel(name="jinja2", version="3", license="BSD License", texts={}, requires=()),
]


@pytest.fixture(scope="module")
def document() -> str:
    return sbom(read_lock(), WHEELS)


def test_it_is_valid(document: str) -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(document) is None


def test_it_lists_what_is_locked_with_all_digests(document: str) -> None:
    content = json.loads(document)

    listed = {
        part["purl"]: {digest["content"] for digest in part["externalReferences"][0]["hashes"]}
        for part in content["components"]
    }

    assert listed == {
        f"pkg:pypi/{each.name}@{each.version}": set(each.digests) for each in read_lock()
    }
    root = content["metadata"]["component"]
    assert root["version"] == __version__
    # On PyPI, the name is another project's: a scanner would look up its vulnerabilities.
    assert root["purl"] == f"pkg:generic/espalier@{__version__}"


def test_licences_and_needs_are_those_of_the_wheels(document: str) -> None:
    content = json.loads(document)
    parts = {part["name"]: part for part in content["components"]}
    needs = {each["ref"]: each.get("dependsOn", []) for each in content["dependencies"]}

    assert parts["aiohttp"]["licenses"] == [{"expression": "Apache-2.0 AND MIT"}]
    assert parts["jinja2"]["licenses"] == [{"license": {"name": "BSD License"}}]
    assert needs[parts["aiohttp"]["bom-ref"]] == [parts["yarl"]["bom-ref"]]
    assert len(needs["espalier"]) == len(parts)


def test_the_same_lock_makes_the_same_bytes(document: str) -> None:
    assert sbom(read_lock(), WHEELS) == document


def test_the_notices_are_about_what_is_locked() -> None:
    lines = NOTICES.read_text(encoding="utf-8").splitlines()

    for each in read_lock():
        start = line_of(each.name, each.version, "")
        assert any(line.startswith(start) and line != start for line in lines), "run make notices"


def test_a_text_that_two_packages_share_is_there_once() -> None:
    texts = {"LICENSE": "Do what you like.\r\n"}
    shared = [
        Wheel(name=name, version="1", license="MIT", texts=texts, requires=()) for name in "ab"
    ]

    found = notices([*shared, Wheel(name="c", version="1", license="MIT", texts={}, requires=())])

    assert found.count("Do what you like.") == 1
    assert "a 1: LICENSE\nb 1: LICENSE\n\nDo what you like.\n" in found
    assert "c 1\n\nThe wheel has no licence file.\n" in found


def test_a_wheel_is_read(tmp_path: Path) -> None:
    path = tmp_path / "some_thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(
            "some_thing-1.0.dist-info/METADATA",
            "Name: Some_Thing\nVersion: 1.0\nLicense-Expression: MIT\n"
            "Requires-Dist: Other>=1\nRequires-Dist: never; extra == 'x'\n",
        )
        made.writestr("some_thing-1.0.dist-info/licenses/LICENSE", "text")
        made.writestr("some_thing/LICENSE", "of a file that it installs")

    assert read_wheel(path) == Wheel(
        name="some-thing",
        version="1.0",
        license="MIT",
        texts={"LICENSE": "text"},
        requires=("other",),
    )
