"""
Make the archive of the krew plugin, and write its version and digest into the manifest.
"""

import hashlib
import io
import re
import zipfile
from pathlib import Path

from espalier import __version__

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "manifests" / "krew"
MANIFEST = FOLDER / "espalier.yaml"
LAUNCHER = FOLDER / "kubectl-espalier"
ARCHIVE = ROOT / "dist" / "kubectl-espalier.zip"
_EXECUTABLE, _READABLE = 0o100755, 0o100644
_UNIX = 3


def archive() -> bytes:
    """
    Return the archive: the same bytes on every machine, since nothing in it is compressed or dated.
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as packed:
        for path, mode in ((LAUNCHER, _EXECUTABLE), (ROOT / "LICENSE", _READABLE)):
            member = zipfile.ZipInfo(path.name, (1980, 1, 1, 0, 0, 0))
            member.create_system = _UNIX
            member.external_attr = mode << 16
            packed.writestr(member, path.read_bytes())
    return made.getvalue()


def manifest(text: str, packed: bytes) -> str:
    """
    Return the manifest with the version of the package, and the digest of the archive.
    """
    text = re.sub(r"\bv[0-9]+\.[0-9]+\.[0-9]+\b", f"v{__version__}", text)
    return re.sub(r'sha256: "\w+"', f'sha256: "{hashlib.sha256(packed).hexdigest()}"', text)


def main() -> None:
    """
    Write the launcher's version, the archive and the manifest.
    """
    text = LAUNCHER.read_text(encoding="utf-8")
    LAUNCHER.write_text(
        re.sub(r"^version=.*$", f"version={__version__}", text, flags=re.MULTILINE),
        encoding="utf-8",
    )
    packed = archive()
    ARCHIVE.parent.mkdir(exist_ok=True)
    ARCHIVE.write_bytes(packed)
    text = MANIFEST.read_text(encoding="utf-8")
    MANIFEST.write_text(manifest(text, packed), encoding="utf-8")


if __name__ == "__main__":
    main()
