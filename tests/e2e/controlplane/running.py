"""
A control plane on loopback: etcd, kube-apiserver, and optional further servers.

All files are in one temporary folder. Everything ends with ``stop``, when the interpreter exits,
or, on Linux, with the process that started it.
"""

import atexit
import http.client
import json
import os
import secrets
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e.controlplane.api import Api, ApiError
from tests.e2e.controlplane.assets import Assets
from tests.e2e.controlplane.auditing import POLICY, AuditLog
from tests.e2e.controlplane.certificates import Authority, make_signing_key
from tests.e2e.controlplane.etcd import Etcd
from tests.e2e.controlplane.processes import Child
from tests.patience import PACE, Deadline

START_SECONDS = 60.0
POLL_SECONDS = 0.1
PROBE_SECONDS = 5.0
FIRST_PORT, PORTS, PORT_BLOCKS = 15_000, 1_000, 16
TOKEN_SECONDS = 24 * 3600
_given: set[int] = set()


class ControlPlaneError(Exception):
    """
    The control plane did not start; the message has the end of the log.
    """


class Beginning(NamedTuple):
    """
    A server that was started, and how to ask whether it is ready.
    """

    child: Child
    is_ready: Callable[[], bool]


class ControlPlane:
    """
    One etcd, and API servers on it.

    Attributes:
        url: The URL of the first API server.
        token: The bearer token of an administrator.
        ssl_context: A TLS context that trusts the API servers.
        kubeconfig: The kubeconfig of an administrator, with a client certificate.
        api: A client for the first API server, as an administrator.
        etcd: A client for etcd.
        audit: The audit log of the API servers.
        etcd_data: The folder of etcd's data, which may be set before the start.
    """

    def __init__(
        self,
        assets: Assets,
        *,
        is_durable: bool = False,
        api_server_flags: Sequence[str] = (),
        etcd_flags: Sequence[str] = (),
    ) -> None:
        self._assets = assets
        self._is_durable = is_durable
        self._api_server_flags = tuple(api_server_flags)
        self._etcd_flags = tuple(etcd_flags)
        self._children: list[Child] = []
        self.folder = Path(tempfile.mkdtemp(prefix="espalier-control-plane-"))
        atexit.register(self.stop)
        self.audit = AuditLog(self.folder)
        self.etcd_data = self.folder / "etcd"
        self._authority = Authority(self.folder)
        self._serving = self._authority.issue_for_server("serving")
        self._signing_key = make_signing_key(self.folder / "service-accounts.key")
        self._admin = self._authority.issue_for_client("admin", group="system:masters")
        self.token = secrets.token_urlsafe(32)
        self._write("tokens.csv", f"{self.token},admin,admin,system:masters\n")
        self._write("audit-policy.json", json.dumps(POLICY))
        self.ssl_context = ssl.create_default_context(cafile=self._authority.certificate)
        etcd_port, self._port = free_port(), free_port()
        self.etcd = Etcd(etcd_port)
        self.url = f"https://127.0.0.1:{self._port}"
        self.api = self.api_of(self.url)
        self.kubeconfig = self.write_kubeconfig(
            "admin",
            user={
                "client-certificate": str(self._admin.certificate),
                "client-key": str(self._admin.key),
            },
        )

    def start(self) -> None:
        """
        Start etcd and the first API server, and wait until they are ready.

        Raises:
            ControlPlaneError: One of them ended, or was not ready in time.
        """
        try:
            self._etcd = self._start_etcd()
            self._wait(self._etcd, self.etcd.is_healthy)
            self._server = self._start_api_server("first", self._port)
            self._wait(self._server, lambda: self._is_ready(self.api))
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """
        End all processes, last started first, and delete the folder.
        """
        atexit.unregister(self.stop)
        for child in reversed(self._children):
            # No data is kept after this call, so the processes need not end in order.
            child.kill()
        self._children.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def restart_api_server(self) -> None:
        """
        End the first API server with SIGKILL, and start it again on the same port.
        """
        self.end_api_server()
        self._wait(*self.begin_api_server())

    def end_api_server(self) -> None:
        """
        End the first API server with SIGKILL.
        """
        self.end_at_once(self._server)

    def begin_api_server(self) -> Beginning:
        """
        Start the first API server after ``end_api_server``, without waiting for it.
        """
        self._server = self._start_api_server("first", self._port)
        return self._beginning(self._server, self.url)

    def restart_etcd(self) -> None:
        """
        End etcd with SIGKILL, and start it again with its data, which must be durable.
        """
        self.end_etcd()
        self.start_etcd_again()

    def end_etcd(self) -> None:
        """
        End etcd with SIGKILL.
        """
        self.end_at_once(self._etcd)

    def start_etcd_again(self) -> None:
        """
        Start etcd after ``end_etcd``, with the data that its folder has now.
        """
        self._wait(*self.begin_etcd())

    def begin_etcd(self) -> Beginning:
        """
        Start etcd as ``start_etcd_again`` does, without waiting for it.
        """
        self._etcd = self._start_etcd()
        return Beginning(self._etcd, self.etcd.is_healthy)

    @property
    def etcd_process(self) -> Child:
        """
        The process of etcd, which may have ended.
        """
        return self._etcd

    def end_at_once(self, child: Child) -> None:
        """
        End a process with SIGKILL.
        """
        child.kill()
        self._children.remove(child)

    def start_second_api_server(
        self, *flags: str, etcd_url: str | None = None
    ) -> tuple[Child, Api]:
        """
        Start another API server on the same etcd, and wait until it is ready.

        Args:
            flags: More flags of this server.
            etcd_url: Leads to that etcd, as by a relay.

        Returns:
            Its process, which can be paused, resumed and passed to ``end``, and a client for it.
        """
        beginning, api = self.begin_second_api_server(*flags, etcd_url=etcd_url)
        self._wait(*beginning)
        return beginning.child, api

    def begin_second_api_server(
        self, *flags: str, etcd_url: str | None = None
    ) -> tuple[Beginning, Api]:
        """
        Do what ``start_second_api_server`` does, without waiting for it.
        """
        port = free_port()
        child = self._start_api_server("second", port, *flags, etcd_url=etcd_url)
        api = self.api_of(f"https://127.0.0.1:{port}")
        return self._beginning(child, api.url), api

    def start_controllers(self, *names: str) -> Child:
        """
        Start a kube-controller-manager with the given controllers.

        Raises:
            ControlPlaneError: There is no such binary.
        """
        if self._assets.controller_manager is None:
            raise ControlPlaneError("there is no kube-controller-manager")
        return self.start_child(
            "kube-controller-manager",
            [
                self._assets.controller_manager,
                f"--kubeconfig={self.kubeconfig}",
                f"--controllers={','.join(names)}",
                "--leader-elect=false",
                "--secure-port=0",
            ],
        )

    def pids(self) -> dict[str, int]:
        """
        Return the process ids of the servers, by the name of the server.
        """
        return {child.name: child.pid for child in self._children}

    @property
    def has_controller_manager(self) -> bool:
        """
        Whether there is a kube-controller-manager for ``start_controllers``.
        """
        return self._assets.controller_manager is not None

    def start_child(
        self,
        name: str,
        command: list[str | Path],
        *,
        environment: dict[str, str] | None = None,
        folder: Path | None = None,
    ) -> Child:
        """
        Start a process that ends with the control plane; its output goes to a log file.
        """
        log = self.folder / f"{name}-{len(list(self.folder.glob(f'{name}-*.log')))}.log"
        child = Child(name, command, log=log, environment=environment, folder=folder)
        self._children.append(child)
        return child

    def end(self, child: Child, *, grace_seconds: float = 3.0) -> int:
        """
        End one process before the others.

        Returns:
            Its exit code, negative for a signal.
        """
        self._children.remove(child)
        return child.stop(grace_seconds=grace_seconds)

    def api_of(self, url: str) -> Api:
        """
        Return a client for an API server, as an administrator.
        """
        return Api(url, self.ssl_context, self.token)

    def raw_get(self, key: str) -> bytes | None:
        """
        Return the value of a key in etcd; None if there is none.
        """
        return self.etcd.get(key)

    def raw_put(self, key: str, value: bytes) -> None:
        """
        Write a value to etcd, without the API server.
        """
        self.etcd.put(key, value)

    def service_account_kubeconfig(
        self, namespace: str, name: str, *, suffix: str = "", url: str = ""
    ) -> Path:
        """
        Request a token for a ServiceAccount, and write a kubeconfig with it.

        Args:
            suffix: Of the file's name, for several tokens.
            url: As for ``write_kubeconfig``.
        """
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS},
        }
        token = self.api.post(path, body)["status"]["token"]
        return self.write_kubeconfig(f"{namespace}-{name}{suffix}", user={"token": token}, url=url)

    def write_kubeconfig(self, name: str, *, user: dict[str, Any], url: str = "") -> Path:
        """
        Write a kubeconfig for the first API server, or for another one by its URL.
        """
        cluster = {
            "server": url or self.url,
            "certificate-authority": str(self._authority.certificate),
        }
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "espalier-tests", "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": name, "context": {"cluster": "espalier-tests", "user": name}}],
            "current-context": name,
        }
        return self._write(f"{name}.kubeconfig", json.dumps(content, indent=2))

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """
        Run kubectl as an administrator.

        Returns:
            The output of the command.

        Raises:
            ControlPlaneError: The command failed; the message has its output.
        """
        return self._run([self._assets.kubectl, *arguments], stdin=stdin)

    def shell(self, command: str) -> str:
        """
        Run a shell command as an administrator, with kubectl on the path.

        Returns:
            The output of the command.

        Raises:
            ControlPlaneError: The command failed; the message has its output.
        """
        return self._run(["/bin/sh", "-c", command])

    def _run(self, command: Sequence[str | Path], *, stdin: str | None = None) -> str:
        result = subprocess.run(
            command,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            check=False,
            timeout=PACE.scaled(START_SECONDS),
            env={
                "PATH": f"{self._assets.kubectl.parent}:{os.defpath}",
                "HOME": str(self.folder),  # keep kubectl's cache out of the user's home
                "KUBECONFIG": str(self.kubeconfig),
            },
        )
        if result.returncode:
            line = " ".join(str(part) for part in command)
            raise ControlPlaneError(f"{line}: {result.stderr.strip()}")
        return result.stdout

    def _start_etcd(self) -> Child:
        peers = f"http://127.0.0.1:{free_port()}"
        return self.start_child(
            "etcd",
            [
                self._assets.etcd,
                f"--data-dir={self.etcd_data}",
                f"--listen-client-urls={self.etcd.url}",
                f"--advertise-client-urls={self.etcd.url}",
                f"--listen-peer-urls={peers}",
                f"--initial-advertise-peer-urls={peers}",
                f"--initial-cluster=default={peers}",
                *(() if self._is_durable else ("--unsafe-no-fsync",)),
                "--log-level=warn",
                *self._etcd_flags,
            ],
        )

    def _start_api_server(
        self, name: str, port: int, *flags: str, etcd_url: str | None = None
    ) -> Child:
        return self.start_child(
            f"kube-apiserver-{name}",
            [
                self._assets.kube_apiserver,
                f"--etcd-servers={etcd_url or self.etcd.url}",
                f"--secure-port={port}",
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                "--endpoint-reconciler-type=none",
                f"--tls-cert-file={self._serving.certificate}",
                f"--tls-private-key-file={self._serving.key}",
                f"--client-ca-file={self._authority.certificate}",
                f"--token-auth-file={self.folder / 'tokens.csv'}",
                f"--service-account-key-file={self._signing_key}",
                f"--service-account-signing-key-file={self._signing_key}",
                "--service-account-issuer=https://kubernetes.default.svc",
                "--service-cluster-ip-range=10.0.0.0/24",
                "--authorization-mode=RBAC",
                # No controller creates the default ServiceAccounts that this plugin requires.
                "--disable-admission-plugins=ServiceAccount",
                f"--audit-policy-file={self.folder / 'audit-policy.json'}",
                f"--audit-log-path={self.audit.path_for(name)}",
                *self._api_server_flags,
                *flags,
            ],
        )

    def _beginning(self, child: Child, url: str) -> Beginning:
        # A server that has only just begun may hold a connection up.
        api = Api(url, self.ssl_context, self.token, timeout_seconds=PROBE_SECONDS)
        return Beginning(child, lambda: self._is_ready(api))

    def _is_ready(self, api: Api) -> bool:
        try:
            api.get("/readyz")
            # The API server creates it itself, a moment after it is ready.
            return api.find("/api/v1/namespaces/default") is not None
        except (OSError, ApiError, http.client.HTTPException):
            return False

    def _wait(self, child: Child, is_ready: Callable[[], bool]) -> None:
        deadline = Deadline(START_SECONDS)
        while not is_ready():
            if child.exit_code is not None:
                raise ControlPlaneError(
                    f"{child.name} ended with exit code {child.exit_code}:\n{child.tail()}"
                )
            if deadline.has_passed():
                waited = deadline.waited_seconds
                raise ControlPlaneError(
                    f"{child.name} was not ready after {waited:.0f} s:\n{child.tail()}"
                )
            time.sleep(POLL_SECONDS)

    def _write(self, name: str, content: str) -> Path:
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_text(content, encoding="utf-8")
        return path


def free_port() -> int:
    # Not a port of the kernel's choice: from those it takes the clients' ports too, and one could
    # be gone before the server listens. Workers that run side by side choose from their own block.
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw") or "0"
    first = FIRST_PORT + PORTS * (int(worker) % PORT_BLOCKS)
    while True:
        if len(_given) == PORTS:
            _given.clear()
        port = first + secrets.randbelow(PORTS)
        # Nobody may listen yet on a port that was given a moment ago.
        if port in _given:
            continue
        _given.add(port)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
