"""
Kubeconfigs, plugins and certificates for tests.
"""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def kubeconfig(
    folder: Path,
    *,
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    name: str = "config",
    context: str = "here",
    current: str | None = "here",
) -> Path:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster or {"server": "https://127.0.0.1:6443"}}],
        "users": [{"name": "u", "user": user if user is not None else {}}],
        "contexts": [{"name": context, "context": {"cluster": "c", "user": "u"}}],
    }
    if current is not None:
        document["current-context"] = current
    path = folder / name
    path.write_text(yaml.safe_dump(document))
    return path


def plugin(folder: Path, program: str, **config: Any) -> dict[str, Any]:
    script = folder / "plugin.py"
    script.write_text(program)
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(script)],
            "interactiveMode": "Never",
            **config,
        }
    }


def printing(version: str, status: dict[str, Any]) -> str:
    answer = {
        "apiVersion": f"client.authentication.k8s.io/{version}",
        "kind": "ExecCredential",
        "status": status,
    }
    return f"print({json.dumps(answer)!r})"


class Authority:
    """
    Signs certificates for a test.
    """

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority")])
        signed = self._signed(self._name, self._key, is_authority=True, host=None)
        self.certificate = signed.public_bytes(serialization.Encoding.PEM)

    def issue(self, name: str, host: str | None = None) -> tuple[bytes, bytes]:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        certificate = self._signed(subject, key, is_authority=False, host=host)
        return (
            certificate.public_bytes(serialization.Encoding.PEM),
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ),
        )

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        *,
        is_authority: bool,
        host: str | None,
    ) -> x509.Certificate:
        now = datetime(2020, 1, 1, tzinfo=UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now)
            .not_valid_after(now + timedelta(days=36500))
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        )
        if host is not None:
            names = x509.SubjectAlternativeName([x509.DNSName(host)])
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self._key, hashes.SHA256())
