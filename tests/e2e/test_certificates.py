"""
The certificates of a control plane, shown to strict clients; these tests need no server.
"""

import ssl
from pathlib import Path

from tests.e2e.controlplane.certificates import Authority, KeyPair


def strict(purpose: ssl.Purpose, authority: Authority, own: KeyPair) -> ssl.SSLContext:
    context = ssl.create_default_context(purpose, cafile=str(authority.certificate))
    context.verify_mode = ssl.CERT_REQUIRED
    # Set by default since Python 3.13.
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    context.load_cert_chain(own.certificate, own.key)
    return context


def test_both_sides_trust_each_other(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    server = strict(ssl.Purpose.CLIENT_AUTH, authority, authority.issue_for_server("serving"))
    user = authority.issue_for_client("admin", group="system:masters")
    client = strict(ssl.Purpose.SERVER_AUTH, authority, user)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    served = server.wrap_bio(there, back, server_side=True)
    asking = client.wrap_bio(back, there, server_hostname="127.0.0.1")

    # Each side goes on until it waits for the other one; two rounds are enough.
    for side in (asking, served) * 3:
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue

    shown = served.getpeercert()
    assert shown is not None
    assert (("commonName", "admin"),) in shown["subject"]
