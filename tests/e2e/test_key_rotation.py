"""
Objects that are proved are rewritten once more, so that etcd holds them under a new encryption key.
"""

import base64
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from espalier.names import RERUN_AT
from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, schema, version
from tests.e2e.operating import Operator, espalier
from tests.e2e.waiting import eventually

# It starts two API servers, an operator and four commands.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

COUNT = 30


@contextmanager
def encrypting(crd: Crd, folder: Path, *keys: tuple[str, str]) -> Iterator[Path]:
    """
    Run an API server that encrypts by the first of some keys; yields a kubeconfig for it.
    """
    named = [{"name": name, "secret": secret} for name, secret in keys]
    config = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [
            {
                "resources": [f"{crd.plural}.{crd.group}"],
                "providers": [{"aescbc": {"keys": named}}, {"identity": {}}],
            }
        ],
    }
    path = folder / f"encryption-{keys[0][0]}.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    plane = crd.plane
    child, api = plane.start_second_api_server(f"--encryption-provider-config={path}")
    try:
        yield plane.write_kubeconfig(
            f"encrypting-{keys[0][0]}", user={"token": plane.token}, url=api.url
        )
    finally:
        plane.end(child)


def key_of(value: bytes) -> str:
    """
    Return the name of the key by which a value in etcd is encrypted; empty if it is by none.
    """
    if not value.startswith(b"k8s:enc:aescbc:v1:"):
        return ""
    return value.split(b":", 5)[4].decode()


def keys_in_etcd(crd: Crd) -> list[str]:
    return [key_of(value) for value in crd.raw().values()]


def test_again_and_an_annotation_store_all_objects_under_the_new_key(
    crd: MakeCrd, installed: ControlPlane, tmp_path: Path
) -> None:
    locks = crd("locks")
    locks.create([version("v1", schema({"size": {"type": "integer"}}))], storage="v1")
    locks.add("v1", *(locks.object("v1", f"o{n:02}", spec={"size": n}) for n in range(COUNT)))
    espalier(installed, "migrate", locks.name, "--yes", "--settle-seconds", "0")
    one, two = (
        (name, base64.b64encode(secrets.token_bytes(32)).decode()) for name in ("one", "two")
    )
    quick = ("--yes", "--settle-seconds", "0")
    try:
        with encrypting(locks, tmp_path, one) as kubeconfig:
            there = ("--kubeconfig", str(kubeconfig))
            done = espalier(installed, "migrate", locks.name, *quick, *there)
            assert "nothing was written; see --again" in " ".join(done.split())
            assert keys_in_etcd(locks) == [""] * COUNT

            espalier(installed, "migrate", locks.name, "--again", *quick, *there)
            assert keys_in_etcd(locks) == ["one"] * COUNT
        with encrypting(locks, tmp_path, two, one) as kubeconfig:
            operator = Operator(installed, kubeconfig)
            locks.label(mode="enforce")
            locks.wait_until_current()
            assert keys_in_etcd(locks) == ["one"] * COUNT

            annotations = {RERUN_AT: "2026-03-01T12:00:00Z"}
            installed.api.merge(locks.path, {"metadata": {"annotations": annotations}})

            def rewritten() -> None:
                assert keys_in_etcd(locks) == ["two"] * COUNT, operator.child.tail()

            eventually(rewritten)
            locks.wait_until_current()
            assert operator.stop() == 0
    finally:
        # The first API server has no key, so that it could not delete them.
        installed.etcd.delete_prefix(f"/registry/{locks.group}/{locks.plural}/")
