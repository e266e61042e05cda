"""
The address of an API server, with TLS settings and credentials.

Sources are tried in the order that other controllers use: a given kubeconfig, ``KUBECONFIG``, the
pod's service account, ``~/.kube/config``.
"""

import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from yarl import URL

from espalier.cluster.auth.credentials import Credential, FileSource, TokenSource
from espalier.cluster.auth.impersonation import ONESELF, Impersonation
from espalier.cluster.figures import RequestFigures
from espalier.engine.ports.clock import Clock
from espalier.errors import ConfigurationError

SERVICE_ACCOUNT_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""The folder with a pod's token and the API server's certificate authority."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """
    The address of one API server, with TLS settings and credentials.

    Attributes:
        server: The base URL without a trailing slash; it may have a path.
        tls: The TLS settings; None for plain HTTP.
        server_name: The name to expect in the server's certificate; None means the URL's host.
        proxy: The URL of an HTTP proxy, or None.
        credentials: The source of the ``Authorization`` header.
        origin: Where this was read from, for messages.
        figures: Counts the requests.
        impersonation: The user that requests act as.
        request_seconds: The time limit of a request; None for the default one.
    """

    server: str
    tls: ssl.SSLContext | None
    server_name: str | None = None
    proxy: str | None = None
    credentials: TokenSource
    origin: str
    figures: RequestFigures = field(default_factory=RequestFigures, compare=False)
    impersonation: Impersonation = ONESELF
    request_seconds: float | None = None


def read_service_account(
    environ: Mapping[str, str], clock: Clock, *, folder: Path = SERVICE_ACCOUNT_FOLDER
) -> Connection:
    """
    Return the connection of the pod's service account. It reads files: call it in a thread.

    Raises:
        ConfigurationError: The process does not run in a pod, or no service account is mounted.
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
    Report whether the process runs in a pod with a service account.
    """
    return bool(environ.get("KUBERNETES_SERVICE_HOST")) and (folder / "token").is_file()


def server_of(text: str, origin: str) -> str:
    """
    Return a base URL without a trailing slash.

    Raises:
        ConfigurationError: The text is not the base URL of a server.
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
    Return the TLS settings of a connection.

    Args:
        authority: The PEM certificates of the authority; None means those of the system.
        credential: A client certificate with its key.
        verify: Whether to check the server's certificate.

    Raises:
        ConfigurationError: A certificate or a key cannot be read.
    """
    if authority is not None and not authority.strip():
        # OpenSSL would take an empty text to mean the authorities of the system.
        raise ConfigurationError("the certificate authority is empty")
    try:
        text = None if authority is None else authority.decode("ascii", "replace")
        tls = ssl.create_default_context(cadata=text)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigurationError(f"the certificate authority is not a PEM file: {error}") from error
    # Go does not check this strictly, and the authorities of some clusters would not pass.
    tls.verify_flags &= ~ssl.VerifyFlags.VERIFY_X509_STRICT
    if not verify:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    if credential is not None:
        install_certificate(tls, credential)
    return tls


def install_certificate(tls: ssl.SSLContext, credential: Credential) -> None:
    """
    Use a client certificate for all later connections.

    Raises:
        ConfigurationError: The certificate or its key cannot be read, or they do not match.
    """
    # OpenSSL reads a chain only from files; these exist during this call, readable by us only.
    with tempfile.TemporaryDirectory(prefix="espalier-") as folder:
        certificate, key = Path(folder, "certificate"), Path(folder, "key")
        certificate.write_text(credential.certificate, encoding="utf-8")
        key.write_text(credential.key, encoding="utf-8")
        try:
            # Without a password, OpenSSL would ask on the terminal for that of an encrypted key.
            tls.load_cert_chain(certificate, key, password="")
        except (ssl.SSLError, ValueError) as error:
            raise ConfigurationError(
                f"the client certificate and its key cannot be used: {error}"
            ) from error


def read_bytes(path: Path) -> bytes:
    """
    Read a file that the configuration names.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot read {path}: {error}") from error
