"""
Writes a bill of materials in CycloneDX: ``python -m tests.release.sbom [FILE]``.

It lists everything in ``requirements.lock``, with the digests of all its files, its licence as the
wheel for this platform has it, and what it needs. The same lock file makes the same bytes;
``SOURCE_DATE_EPOCH`` is its time.
"""

import hashlib
import os
import sys
import uuid
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from espalier import __version__
from tests.release.lock import LOCK, ROOT, Locked, read_lock
from tests.release.wheels import Wheel, fetch, read_wheels

SBOM = ROOT / "dist" / f"espalier-{__version__}.cdx.json"
_NAMESPACE = uuid.UUID("8d1f3a54-6f0e-5d8b-9a53-4a1c1b6b9e0d")


def sbom(locked: Sequence[Locked], wheels: Iterable[Wheel]) -> str:
    """
    Return the bill of materials as JSON.
    """
    by_name = {wheel.name: wheel for wheel in wheels}
    root = Component(
        name="espalier",
        version=__version__,
        type=ComponentType.APPLICATION,
        # The package of this name on PyPI is another project.
        purl=PackageURL("generic", name="espalier", version=__version__),
        bom_ref="espalier",
        licenses=[LicenseFactory().make_from_string("Apache-2.0")],
    )
    parts = {each.name: _component(each, by_name.get(each.name)) for each in locked}
    bom = Bom(components=parts.values())
    bom.metadata.component = root
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    bom.metadata.timestamp = datetime.fromtimestamp(epoch, UTC)
    bom.serial_number = uuid.uuid5(_NAMESPACE, hashlib.sha256(LOCK.read_bytes()).hexdigest())
    bom.register_dependency(root, parts.values())
    for name, component in parts.items():
        wheel = by_name.get(name)
        needs = [parts[needed] for needed in wheel.requires if needed in parts] if wheel else []
        bom.register_dependency(component, needs)
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def _component(locked: Locked, wheel: Wheel | None) -> Component:
    purl = PackageURL("pypi", name=locked.name, version=locked.version)
    digests = [HashType(alg=HashAlgorithm.SHA_256, content=each) for each in locked.digests]
    return Component(
        name=locked.name,
        version=locked.version,
        type=ComponentType.LIBRARY,
        purl=purl,
        bom_ref=str(purl),
        licenses=[LicenseFactory().make_from_string(wheel.license)]
        if wheel and wheel.license
        else [],
        external_references=[
            ExternalReference(
                type=ExternalReferenceType.DISTRIBUTION, url=XsUri(str(purl)), hashes=digests
            )
        ],
    )


def main(arguments: list[str]) -> None:
    """
    Fetch the wheels, and write the file.
    """
    target = Path(arguments[0]) if arguments else SBOM
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(sbom(read_lock(), read_wheels(fetch())), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
