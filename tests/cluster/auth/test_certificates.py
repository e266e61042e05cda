import base64
import ssl
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from espalier.cluster import connect
from espalier.engine.ports import ObjectKey
from espalier.errors import TransientError
from tests.cluster.kubeconfigs import Authority, kubeconfig, plugin, printing
from tests.cluster.scripted import WIDGETS, ManualClock

A = ObjectKey("default", "a")


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


async def serve_tls(authority: Authority, folder: Path, host: str) -> TestServer:
    certificate, key = authority.issue("server", host)
    (folder / "server.crt").write_bytes(certificate)
    (folder / "server.key").write_bytes(key)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.certificate.decode())
    # Since Python 3.13 a context asks for extensions that these certificates do not have.
    tls.verify_flags &= ~ssl.VerifyFlags.VERIFY_X509_STRICT
    tls.load_cert_chain(folder / "server.crt", folder / "server.key")
    tls.verify_mode = ssl.CERT_REQUIRED

    async def answer(request: web.Request) -> web.Response:
        assert request.transport is not None
        subject = request.transport.get_extra_info("peercert")["subject"]
        return web.json_response({"metadata": {"name": "a"}, "subject": subject[0][0][1]})

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    server = TestServer(app, scheme="https")
    await server.start_server(ssl=tls)
    return server


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


@pytest.mark.parametrize("form", ["data", "files", "plugin"])
async def test_a_client_certificate_is_shown(
    tmp_path: Path, authority: Authority, form: str
) -> None:
    server = await serve_tls(authority, tmp_path, "kubernetes.example")
    certificate, key = authority.issue("me")
    cluster: dict[str, Any] = {
        "server": str(server.make_url("")),
        "tls-server-name": "kubernetes.example",
    }
    if form == "files":
        (tmp_path / "ca").write_bytes(authority.certificate)
        (tmp_path / "crt").write_bytes(certificate)
        (tmp_path / "key").write_bytes(key)
        cluster["certificate-authority"] = "ca"
        user: dict[str, Any] = {"client-certificate": "crt", "client-key": "key"}
    else:
        cluster["certificate-authority-data"] = encoded(authority.certificate)
        user = {
            "client-certificate-data": encoded(certificate),
            "client-key-data": encoded(key),
        }
    if form == "plugin":
        status = {"clientCertificateData": certificate.decode(), "clientKeyData": key.decode()}
        user = plugin(tmp_path, printing("v1", status))

    async with connect(kubeconfig(tmp_path, cluster=cluster, user=user)) as connected_cluster:
        obj = await connected_cluster.objects.get_object(WIDGETS, A)
    await server.close()

    assert obj["subject"] == "me"


async def test_a_server_with_another_name_is_refused_unless_verification_is_off(
    tmp_path: Path, authority: Authority
) -> None:
    server = await serve_tls(authority, tmp_path, "elsewhere.example")
    certificate, key = authority.issue("me")
    user = {"client-certificate-data": encoded(certificate), "client-key-data": encoded(key)}
    trusting = {"server": str(server.make_url("")), "insecure-skip-tls-verify": True}
    checking = {
        "server": str(server.make_url("")),
        "certificate-authority-data": encoded(authority.certificate),
    }

    async with connect(
        kubeconfig(tmp_path, cluster=checking, user=user), clock=ManualClock()
    ) as cluster:
        with pytest.raises(TransientError, match="CERTIFICATE_VERIFY_FAILED"):
            await cluster.objects.get_object(WIDGETS, A)
    async with connect(kubeconfig(tmp_path, cluster=trusting, user=user)) as cluster:
        await cluster.objects.get_object(WIDGETS, A)
    await server.close()
