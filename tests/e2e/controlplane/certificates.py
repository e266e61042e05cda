"""
Create the certificates of a control plane.
"""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID_FOR = timedelta(days=7)
VALID_BEFORE = timedelta(days=1)
"""Clients may have another clock."""

_SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPair:
    """
    Two PEM files: a certificate and its private key.
    """

    certificate: Path
    key: Path


class Authority:
    """
    A certificate authority in a folder.

    Attributes:
        certificate: The authority's certificate, a PEM file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("espalier-tests")
        certificate = (
            _builder(self._name, self._key.public_key(), issuer=self._name)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_SIGNS_CERTIFICATES, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate = folder / "ca.crt"
        self.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue_for_server(self, name: str) -> KeyPair:
        """
        Issue a certificate for loopback.
        """
        names: list[x509.GeneralName] = [
            x509.DNSName("localhost"),
            x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
        ]
        return self._issue(name, _name(name), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def issue_for_client(self, name: str, *, group: str) -> KeyPair:
        """
        Issue a client certificate for a user and a group.
        """
        return self._issue(name, _name(name, group=group), ExtendedKeyUsageOID.CLIENT_AUTH, [])

    def _issue(
        self,
        file: str,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        names: list[x509.GeneralName],
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        known = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = (
            _builder(subject, key.public_key(), issuer=self._name)
            .add_extension(known, critical=False)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        pair = KeyPair(
            certificate=self._folder / f"{file}.crt",
            key=write_private_key(key, self._folder / f"{file}.key"),
        )
        signed = builder.sign(self._key, hashes.SHA256())
        pair.certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        return pair


def write_private_key(key: ec.EllipticCurvePrivateKey, path: Path) -> Path:
    """
    Write a private key as PEM, readable only by its owner.
    """
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            # SEC 1: the API server accepts no other form for the keys of ServiceAccount tokens.
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    return path


def make_signing_key(path: Path) -> Path:
    """
    Create the key that signs ServiceAccount tokens.
    """
    return write_private_key(ec.generate_private_key(ec.SECP256R1()), path)


def _name(common_name: str, *, group: str | None = None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if group is not None:
        parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    return x509.Name(parts)


def _builder(
    subject: x509.Name, key: ec.EllipticCurvePublicKey, *, issuer: x509.Name
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)  # noqa: TID251  # a certificate is for the world's clock
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - VALID_BEFORE)
        .not_valid_after(now + VALID_FOR)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )
