"""
The commands of the page on signatures, run with cosign, a key of the test's own and no network.
"""

import os
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from espalier import __version__
from tests.debian import cosign, docker_registry
from tests.docs.reading import ROOT, blocks, prose_of
from tests.release.bundle import NAME
from tests.release.registry import Registry, registry_running

PAGE = ROOT / "docs" / "operations" / "verify.md"
IMAGE = "registry.example.com/espalier@sha256:..."
SIGNED_OFFLINE = "--signing-config signing-config.json"
VERIFIED_OFFLINE = "--insecure-ignore-tlog=true"
OFFLINE = {
    "sign-blob": SIGNED_OFFLINE,
    "sign": SIGNED_OFFLINE,
    "attest": SIGNED_OFFLINE,
    "verify-blob": VERIFIED_OFFLINE,
    "verify": VERIFIED_OFFLINE,
    "verify-attestation": VERIFIED_OFFLINE,
}
VERIFYING = [command for command in OFFLINE if command.startswith("verify")]
COSIGN_SECONDS = 60.0
BILL = '{"bomFormat": "CycloneDX", "specVersion": "1.6", "components": []}'
BUNDLE = os.environ.get("ESPALIER_BUNDLE")


def documented() -> dict[str, list[str]]:
    """
    The arguments of each command of cosign on the page.
    """
    lines = "".join(blocks(PAGE, "sh")).splitlines()
    words = [shlex.split(line, comments=True) for line in lines if line.startswith("cosign ")]
    return {arguments[1]: arguments[1:] for arguments in words}


DOCUMENTED = documented()


def test_the_page_has_these_commands_and_says_what_they_need_without_a_network() -> None:
    assert {*DOCUMENTED} == {"generate-key-pair", "signing-config", *OFFLINE}
    for options in OFFLINE.values():
        assert f"`{options}`" in prose_of(PAGE)


class Person:
    """
    Somebody with a folder, and nothing else.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def runs(self, command: str, *, image: str = IMAGE) -> subprocess.CompletedProcess[str]:
        """
        Run a command of the page.

        Args:
            image: In the place of the page's.
        """
        arguments = [image if word == IMAGE else word for word in DOCUMENTED[command]]
        arguments += OFFLINE.get(command, "").split()
        environment = {
            "COSIGN_PASSWORD": "",
            "HOME": str(self.folder),
            # Where nothing listens. It is not asked about addresses of this machine.
            "HTTPS_PROXY": "http://127.0.0.1:9",
        }
        return subprocess.run(
            [cosign(), *arguments],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=COSIGN_SECONDS,
        )

    def does(self, command: str, *, image: str = IMAGE) -> str:
        """
        Run a command of the page that must succeed, and return what it said.
        """
        ended = self.runs(command, image=image)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout + ended.stderr

    def file(self, command: str) -> Path:
        """
        The file that a command of the page signs, verifies or attests.
        """
        arguments = DOCUMENTED[command]
        named = "--predicate" in arguments
        name = arguments[arguments.index("--predicate") + 1] if named else arguments[-1]
        return self.folder / name


@pytest.fixture
def publisher(tmp_path: Path) -> Person:
    """
    Who has a key, and a bundle that is signed.
    """
    publisher = Person(tmp_path / "publisher")
    archive = publisher.file("sign-blob")
    archive.parent.mkdir()
    if BUNDLE is None:
        archive.write_bytes(b"a bundle")
        publisher.file("attest").write_text(BILL)
    else:
        shutil.copy(BUNDLE, archive)
        with tarfile.open(BUNDLE) as opened:
            bill = opened.extractfile(f"{NAME}/espalier-{__version__}.cdx.json")
            assert bill is not None
            publisher.file("attest").write_bytes(bill.read())
    for command in ("generate-key-pair", "signing-config", "sign-blob"):
        publisher.does(command)
    return publisher


@pytest.fixture
def installer(publisher: Person, tmp_path: Path) -> Person:
    """
    Who has the publisher's public key, and what was published.
    """
    installer = Person(tmp_path / "installer")
    shutil.copy(publisher.folder / "cosign.pub", installer.folder)
    for path in publisher.file("sign-blob").parent.iterdir():
        shutil.copy(path, installer.folder)
    return installer


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with registry_running(docker_registry(), tmp_path) as registry:
        yield registry


def has_another_key(person: Person) -> None:
    (person.folder / "cosign.pub").unlink()
    person.does("generate-key-pair")


def test_a_bundle_is_signed_and_verified(installer: Person) -> None:
    assert "Verified OK" in installer.does("verify-blob")


def test_a_changed_bundle_is_refused(installer: Person) -> None:
    with installer.file("verify-blob").open("ab") as opened:
        opened.write(b"\0")

    ended = installer.runs("verify-blob")

    assert ended.returncode != 0
    assert "invalid signature" in ended.stderr


def test_a_bundle_is_refused_with_another_key(installer: Person) -> None:
    has_another_key(installer)

    ended = installer.runs("verify-blob")

    assert ended.returncode != 0
    assert "invalid signature" in ended.stderr


def test_an_image_is_signed_and_verified_with_its_bill_of_materials(
    publisher: Person, installer: Person, registry: Registry
) -> None:
    image = registry.push_image(note="published")
    publisher.does("sign", image=image)
    publisher.does("attest", image=image)

    for command in ("verify", "verify-attestation"):
        assert f"Verification for {image}" in installer.does(command, image=image)

    has_another_key(installer)
    for command in ("verify", "verify-attestation"):
        assert installer.runs(command, image=image).returncode != 0


def test_an_image_that_nobody_signed_is_refused(
    publisher: Person, installer: Person, registry: Registry
) -> None:
    publisher.does("sign", image=registry.push_image(note="published"))
    image = registry.push_image(note="by somebody else")

    ended = installer.runs("verify", image=image)

    assert ended.returncode != 0
    assert "no signatures found" in ended.stderr
