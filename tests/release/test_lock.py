"""
The lock files: what pyproject.toml asks for, by digest, and nothing of the machine that wrote them.
"""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.release.lock import BUILD_LOCK, BUILD_REQUIREMENTS, LOCK, ROOT, Locked, read_lock

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DIRECT = PROJECT["project"]["dependencies"]


def by_name(path: Path) -> dict[str, Locked]:
    return {canonicalize_name(each.name): each for each in read_lock(path)}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        *((LOCK, text) for text in DIRECT),
        *((BUILD_LOCK, text) for text in BUILD_REQUIREMENTS),
        *((BUILD_LOCK, text) for text in PROJECT["build-system"]["requires"]),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else value,
)
def test_a_requirement_is_locked_within_its_range(path: Path, text: str) -> None:
    requirement = Requirement(text)

    locked = by_name(path)[canonicalize_name(requirement.name)]

    assert requirement.specifier.contains(locked.version), "run make lock"


@pytest.mark.parametrize("path", [LOCK, BUILD_LOCK], ids=lambda path: path.name)
def test_everything_has_digests_and_nothing_has_an_address(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert all(each.digests for each in read_lock(path))
    assert re.findall(r"://|--(?:extra-)?index-url|--find-links|@ ", text) == []


def test_the_lock_holds_for_other_platforms() -> None:
    markers = {each.name: each.marker for each in read_lock()}

    assert markers["uvloop"] == "sys_platform != 'win32'"
    # A pure wheel and a source have two digests; a compiled one has one for each platform.
    assert len(by_name(LOCK)["orjson"].digests) > 10


def test_the_image_installs_by_digest_alone() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", "")
    installs = re.findall(r"pip install .*", dockerfile)

    assert len(installs) == 3
    for line in installs:
        assert "--require-hashes" in line or "--no-index --no-deps --no-build-isolation" in line


def test_all_that_the_image_copies_is_in_the_context() -> None:
    copied = re.findall(
        r"^COPY (?!--from)(.+) \S+$",
        (ROOT / "Dockerfile").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    context = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    for name in {name for line in copied for name in line.split()}:
        assert f"!{name}" in context
        assert (ROOT / name).exists()
