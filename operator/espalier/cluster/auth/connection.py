"""
Which API server is spoken to, and as whom.

The order is that of other controllers: a kubeconfig that is asked for, ``KUBECONFIG``, the service
account of the pod, ``~/.kube/config``.
"""

import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from yarl import URL

from espalier.cluster.auth.credentials import Credential, FileSource, TokenSource
from espalier.engine.ports.clock import Clock
from espalier.errors import ConfigurationError

SERVICE_ACCOUNT_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet puts a pod's token and the API server's certificate authority."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """
    How to reach one API server.

    Attributes:
        server: The base URL, without a slash at its end; it may have a path.
        tls: None for plain HTTP.
        server_name: Checked in the server's certificate instead of the URL's host, if not None.
        proxy: The URL of an HTTP proxy, or None.
        credentials: Gives the ``Authorization`` header.
        origin: Where all this was found, for people.
    """

    server: str
    tls: ssl.SSLContext | None
    server_name: str | None = None
    proxy: str | None = None
    credentials: TokenSource
    origin: str


def read_service_account(
    environ: Mapping[str, str], clock: Clock, *, folder: Path = SERVICE_ACCOUNT_FOLDER
) -> Connection:
    """
    Connect as the pod's service account. Reads files: call it in a thread.

    Raises:
        ConfigurationError: The process runs in no pod, or its service account is not mounted.
    """
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ConfigurationError(
            "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; "
            "outside of a pod, give a kubeconfig"
        )
    if not (folder / "token").is_file():
        raise ConfigurationError(
            f"{folder}/token: there is no such file; is automountServiceAccountToken off?"
        )
    shown = f"[{host}]" if ":" in host else host
    return Connection(
        server=server_of(f"https://{shown}:{port}", "the service account"),
        tls=tls_of(authority=read_bytes(folder / "ca.crt")),
        credentials=FileSource(folder / "token", clock),
        origin="the pod's service account",
    )


def is_in_cluster(environ: Mapping[str, str], *, folder: Path = SERVICE_ACCOUNT_FOLDER) -> bool:
    """
    Tell whether the process runs in a pod with a service account.
    """
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and (folder / "token").is_file()


def server_of(text: str, origin: str) -> str:
    """
    Check a base URL.

    Raises:
        ConfigurationError: It is none.
    """
    try:
        url = URL(text)
    except ValueError:
        url = URL()
    if url.scheme not in {"http", "https"} or not url.host or url.query_string or url.user:
        raise ConfigurationError(
            f"{origin}: the server must be a URL such as https://10.0.0.1:6443, without a query "
            "or a user name"
        )
    return str(url).rstrip("/")


def tls_of(
    *,
    authority: bytes | None = None,
    credential: Credential | None = None,
    verify: bool = True,
) -> ssl.SSLContext:
    """
    Make the TLS side of a connection.

    Args:
        authority: PEM certificates that the server's is checked by; the system's if None.
        credential: A client certificate with its key.
        verify: Whether the server's certificate is checked at all.

    Raises:
        ConfigurationError: A certificate or a key cannot be read.
    """
    if authority is not None and not authority.strip():
        # Nothing would be taken for "whatever the system trusts".
        raise ConfigurationError("the certificate authority is empty")
    try:
        text = None if authority is None else authority.decode("ascii", "replace")
        tls = ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigurationError(f"the certificate authority is no PEM file: {error}") from error
    # Go does not demand what this asks for, and clusters have authorities without it.
    tls.verify_flags &= ~ssl.VerifyFlags.VERIFY_X509_STRICT
    if not verify:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    if credential is not None:
        install_certificate(tls, credential)
    return tls


def install_certificate(tls: ssl.SSLContext, credential: Credential) -> None:
    """
    Show this client certificate on all connections to come.

    Raises:
        ConfigurationError: The certificate or its key cannot be read, or they are no pair.
    """
    # OpenSSL reads a chain from files alone; these live for this call, readable by us only.
    with tempfile.TemporaryDirectory(prefix="espalier-") as folder:
        certificate, key = Path(folder, "certificate"), Path(folder, "key")
        certificate.write_text(credential.certificate, encoding="utf-8")
        key.write_text(credential.key, encoding="utf-8")
        try:
            # Without a password OpenSSL would ask the terminal for that of an encrypted key.
            tls.load_cert_chain(certificate, key, password="")
        except (ssl.SSLError, ValueError) as error:
            raise ConfigurationError(
                f"the client certificate and its key cannot be used: {error}"
            ) from error


def read_bytes(path: Path) -> bytes:
    """
    Read a file that the configuration names.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot read {path}: {error}") from error
