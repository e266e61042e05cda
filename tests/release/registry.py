"""
A registry for images on this machine: the real one, as a Debian package, and a client for it.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.e2e.controlplane.processes import Child
from tests.e2e.controlplane.running import free_port
from tests.e2e.waiting import eventually

REPOSITORY = "espalier"
REQUEST_SECONDS = 20.0
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"


class Registry:
    """
    A registry that runs.

    Attributes:
        host: With the port.
    """

    def __init__(self, port: int) -> None:
        self.host = f"127.0.0.1:{port}"

    def push_image(self, *, note: str) -> str:
        """
        Push an image without layers.

        Args:
            note: Makes it another image.

        Returns:
            Its name with its digest.
        """
        layers = {"type": "layers", "diff_ids": []}
        config = {"architecture": "amd64", "os": "linux", "author": note, "rootfs": layers}
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": {"mediaType": _CONFIG, **self._push_blob(_encoded(config))},
            "layers": [],
        }
        data = _encoded(manifest)
        path = f"/v2/{REPOSITORY}/manifests/{_digest(data)}"
        self.ask("PUT", path, data, {"Content-Type": _MANIFEST})
        return f"{self.host}/{REPOSITORY}@{_digest(data)}"

    def ask(
        self, method: str, path: str, data: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> str:
        """
        Send a request, and return where its answer points to.
        """
        with closing(HTTPConnection(self.host, timeout=REQUEST_SECONDS)) as connection:
            connection.request(method, path, data, dict(headers or {}))
            answer = connection.getresponse()
            assert answer.status < 300, answer.read()
            return answer.headers.get("Location") or ""

    def _push_blob(self, data: bytes) -> dict[str, Any]:
        where = self.ask("POST", f"/v2/{REPOSITORY}/blobs/uploads/")
        path = where.removeprefix(f"http://{self.host}")
        self.ask("PUT", f"{path}&digest={_digest(data)}", data)
        return {"digest": _digest(data), "size": len(data)}


@contextmanager
def registry_running(program: str, folder: Path) -> Iterator[Registry]:
    """
    Run a registry that keeps its images in a folder.
    """
    registry = Registry(free_port())
    configuration = {
        "version": "0.1",
        "log": {"accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "images")}},
        "http": {"addr": registry.host},
    }
    path = folder / "registry.yaml"
    path.write_bytes(_encoded(configuration))
    child = Child("registry", [program, "serve", path], log=folder / "registry.log")

    def answers() -> None:
        try:
            registry.ask("GET", "/v2/")
        except OSError as error:
            assert child.exit_code is None, child.tail()
            raise AssertionError(child.tail()) from error

    try:
        eventually(answers)
        yield registry
    finally:
        child.stop()


def _encoded(value: object) -> bytes:
    # JSON is YAML.
    return json.dumps(value).encode()


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
