"""
Read a kubeconfig as ``kubectl`` does. It reads files: call it in a thread.

The ``kubernetes`` package merges the files and knows which file each entry comes from. The rest is
done here, because the package's loader writes keys to temporary files, logs failures of plugins
instead of raising them, and uses the current context of the last file, where ``kubectl`` uses the
first.

Source:
    client-go, ``tools/clientcmd/loader.go`` and ``client_config.go``.
"""

import base64
import binascii
import os
import ssl
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec
import yaml
from kubernetes.config import ConfigException
from kubernetes.config.kube_config import ConfigNode, KubeConfigMerger

from espalier.cluster.auth.connection import (
    Connection,
    install_certificate,
    read_bytes,
    server_of,
    tls_of,
)
from espalier.cluster.auth.credentials import (
    Credential,
    FileSource,
    FixedSource,
    PluginSource,
    TokenSource,
)
from espalier.cluster.auth.exec_plugins import Plugin, PluginConfig
from espalier.cluster.auth.impersonation import Impersonation
from espalier.engine.ports.clock import Clock
from espalier.errors import ConfigurationError
from espalier.paths import JSON

_PLUGIN_EXTENSION = "client.authentication.k8s.io/exec"


class _Extension(msgspec.Struct):
    name: str = ""
    extension: Any = None


class _Cluster(msgspec.Struct, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    extensions: list[_Extension] = []


class _User(msgspec.Struct, rename="kebab"):
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    plugin: PluginConfig | None = msgspec.field(default=None, name="exec")
    auth_provider: dict[str, Any] | None = None
    impersonated: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] = []
    as_user_extra: dict[str, list[str]] = {}


class _Context(msgspec.Struct):
    cluster: str = ""
    user: str = ""


_Section = TypeVar("_Section", _Cluster, _User, _Context)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """
    The cluster and user of one context, with the folders of the files that they come from.
    """

    origin: str
    cluster: _Cluster
    cluster_folder: Path
    user: _User
    user_folder: Path

    def fail(self, detail: str) -> NoReturn:
        raise ConfigurationError(f"{self.origin}: {detail}")

    def content(self, data: str, file: str, folder: Path) -> bytes | None:
        if data:
            try:
                return base64.b64decode("".join(data.split()), validate=True)
            except (binascii.Error, ValueError):
                self.fail("a *-data field is not base64")
        return read_bytes(folder / Path(file).expanduser()) if file else None


def read_kubeconfig(paths: str, clock: Clock, *, context: str | None) -> Connection:
    """
    Return the connection of a context of a kubeconfig.

    Args:
        paths: One file, or several as in ``KUBECONFIG``.
        context: The context's name; None means the current one.

    Raises:
        ConfigurationError: The context does not exist, or an entry of it cannot be used.
    """
    chosen = _chosen(paths, context)
    cluster = chosen.cluster
    if not cluster.server:
        chosen.fail(
            "the cluster has no server; set it: kubectl config set-cluster NAME --server=URL"
        )
    server = server_of(cluster.server, chosen.origin)
    if cluster.proxy_url and not cluster.proxy_url.startswith(("http://", "https://")):
        chosen.fail("the proxy-url must be an http or https URL")
    if cluster.proxy_url and cluster.tls_server_name:
        chosen.fail("tls-server-name cannot be used together with proxy-url")
    tls = _tls(chosen) if server.startswith("https:") else None
    return Connection(
        server=server,
        tls=tls,
        server_name=cluster.tls_server_name or None,
        proxy=cluster.proxy_url or None,
        credentials=_credentials(chosen, clock, tls),
        origin=chosen.origin,
        impersonation=_impersonation(chosen.user),
    )


def list_contexts(paths: str) -> tuple[str, ...]:
    """
    Return the names of the contexts of a kubeconfig, in its order.

    Raises:
        ConfigurationError: It cannot be read.
    """
    merged = _merged(paths).config
    try:
        return tuple(dict.fromkeys(str(one["name"]) for one in merged["contexts"].value))
    except (ConfigException, KeyError, TypeError) as error:
        raise ConfigurationError(f"{paths}: the list of contexts is malformed") from error


def _impersonation(user: _User) -> Impersonation:
    return Impersonation(
        user=user.impersonated,
        uid=user.as_uid,
        groups=tuple(user.as_groups),
        extra=user.as_user_extra,
    )


def _chosen(paths: str, context: str | None) -> _Chosen:
    merger = _merged(paths)
    merged = merger.config
    name = context or _current_context(merger)
    if not name:
        raise ConfigurationError(
            f"{paths}: no current context; name one, or set it: kubectl config use-context NAME"
        )
    found, _ = _section(merged, "contexts", name, _Context)
    if found is None:
        raise ConfigurationError(
            f"{paths}: there is no context {name}; see: kubectl config get-contexts"
        )
    origin = f"context {name} of {paths}"
    cluster, cluster_folder = _section(merged, "clusters", found.cluster, _Cluster)
    if cluster is None:
        raise ConfigurationError(f"{origin}: there is no cluster {found.cluster or '(unnamed)'}")
    user, user_folder = (
        _section(merged, "users", found.user, _User) if found.user else (_User(), "")
    )
    if user is None:
        raise ConfigurationError(f"{origin}: there is no user {found.user}")
    return _Chosen(
        origin=origin,
        cluster=cluster,
        cluster_folder=Path(cluster_folder),
        user=user,
        user_folder=Path(user_folder),
    )


def _merged(paths: str) -> KubeConfigMerger:
    stamps = []
    for path in paths.split(os.pathsep):
        try:
            found = Path(path).expanduser().stat()
            stamps.append((found.st_mtime_ns, found.st_size))
        except OSError:
            stamps.append((0, 0))
    return _merged_as_of(paths, tuple(stamps))


# Each of many contexts reads the file, which takes long to parse when it has many.
@lru_cache(maxsize=1)
def _merged_as_of(paths: str, _stamps: tuple[tuple[int, int], ...]) -> KubeConfigMerger:
    try:
        merger = KubeConfigMerger(paths)  # type: ignore[no-untyped-call] # the package has none
    except (OSError, ValueError, yaml.YAMLError) as error:
        # The parser's message may quote the file, which has secrets: only the line is reported.
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1} is not YAML" if mark else type(error).__name__
        if isinstance(error, OSError):
            where = str(error)
        raise ConfigurationError(f"{paths}: the kubeconfig cannot be read: {where}") from error
    except (ConfigException, AttributeError, KeyError, TypeError) as error:
        # The package does not check what it has read; it raises these on anything else.
        raise ConfigurationError(f"{paths}: this is not a kubeconfig, or it is empty") from error
    if merger.config is None:
        raise ConfigurationError(
            f"{paths}: there is no such kubeconfig; give one with --kubeconfig, or set KUBECONFIG"
        )
    return merger


def _current_context(merger: KubeConfigMerger) -> str | None:
    for config in merger.config_files.values():
        name = config.get("current-context")
        if isinstance(name, str) and name:
            return name
    return None


def _section(
    merged: ConfigNode, kind: str, name: str, type_: type[_Section]
) -> tuple[_Section | None, str]:
    """
    Return a named section and the folder of its file; None if there is no such section.
    """
    singular = kind.removesuffix("s")
    try:
        node = merged[kind].get_with_name(name, safe=True)
        if node is None:
            return None, ""
        held = node.value.get(singular) or {}
        present = {key: value for key, value in held.items() if value is not None}
        return msgspec.convert(present, type=type_), str(Path(node.path).absolute().parent)
    except ConfigException:
        detail = f"the list of {kind} is malformed"
    except msgspec.ValidationError as error:
        detail = f"the {singular} {name} is malformed: {error}"
    except (AttributeError, TypeError):
        detail = f"the {singular} {name} is not a map"
    raise ConfigurationError(f"{merged.path}: {detail}")


def _tls(chosen: _Chosen) -> ssl.SSLContext:
    cluster, user = chosen.cluster, chosen.user
    authority = chosen.content(
        cluster.certificate_authority_data, cluster.certificate_authority, chosen.cluster_folder
    )
    if cluster.insecure_skip_tls_verify and authority is not None:
        chosen.fail("insecure-skip-tls-verify and a certificate authority exclude each other")
    certificate = chosen.content(
        user.client_certificate_data, user.client_certificate, chosen.user_folder
    )
    key = chosen.content(user.client_key_data, user.client_key, chosen.user_folder)
    if (certificate is None) != (key is None):
        chosen.fail("a client certificate and its key are needed together")
    credential = None
    if certificate is not None and key is not None:
        credential = Credential(
            certificate=certificate.decode(errors="replace"), key=key.decode(errors="replace")
        )
    try:
        return tls_of(
            authority=authority,
            credential=credential,
            verify=not cluster.insecure_skip_tls_verify,
        )
    except ConfigurationError as error:
        chosen.fail(error.detail)


def _credentials(chosen: _Chosen, clock: Clock, tls: ssl.SSLContext | None) -> TokenSource:
    user = chosen.user
    if user.auth_provider is not None:
        chosen.fail("auth-provider is not supported; use a credential plugin (exec) instead")
    if user.token_file:
        return FileSource(chosen.user_folder / Path(user.token_file).expanduser(), clock)
    if user.token:
        return FixedSource(f"Bearer {user.token}")
    if user.plugin is not None:
        return _plugin_source(chosen, user.plugin, clock, tls)
    if user.username and user.password:
        pair = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
        return FixedSource(f"Basic {pair}")
    return FixedSource(None)


def _plugin_source(
    chosen: _Chosen, config: PluginConfig, clock: Clock, tls: ssl.SSLContext | None
) -> PluginSource:
    def install(credential: Credential) -> None:
        if tls is not None:
            install_certificate(tls, credential)

    plugin = Plugin(config=config, folder=chosen.user_folder, cluster=_cluster_info(chosen))
    return PluginSource(plugin.run, install, clock)


def _cluster_info(chosen: _Chosen) -> dict[str, JSON]:
    cluster = chosen.cluster
    authority = chosen.content(
        cluster.certificate_authority_data, cluster.certificate_authority, chosen.cluster_folder
    )
    settings: dict[str, JSON] = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(authority or b"").decode(),
        "proxy-url": cluster.proxy_url,
    }
    info: dict[str, JSON] = {name: value for name, value in settings.items() if value}
    for extension in cluster.extensions:
        if extension.name == _PLUGIN_EXTENSION:
            info["config"] = extension.extension
    return info
