"""
Credential plugins: programs that a kubeconfig names and that print an ``ExecCredential``.

The ``kubernetes`` package runs them too, but it cannot stop a plugin that hangs, and it logs
failures instead of raising them.

Source:
    client-go, ``plugin/pkg/client/auth/exec/exec.go``.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import msgspec

from espalier.cluster.auth.credentials import Credential, read_time
from espalier.errors import ConfigurationError
from espalier.paths import JSON

_VERSIONS = frozenset({"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"})
_SECONDS = 60.0
# A person may have to log in with a browser.
_INTERACTIVE_SECONDS = 300.0
_MAX_STDERR_CHARACTERS = 500


class _Variable(msgspec.Struct):
    name: str
    value: str = ""


class PluginConfig(msgspec.Struct, rename="camel", forbid_unknown_fields=False):
    """
    The ``exec`` section of a kubeconfig's user.
    """

    command: str
    api_version: str
    args: list[str] | None = None
    env: list[_Variable] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


class _Answered(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str | None = None


class _Answer(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: _Answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """
    One plugin and what it needs to run.

    Attributes:
        folder: The kubeconfig's folder, from which a relative command is looked up.
        cluster: The cluster information for a plugin with ``provideClusterInfo``.
    """

    config: PluginConfig
    folder: Path
    cluster: Mapping[str, JSON] = field(hash=False)

    async def run(self) -> Credential:
        """
        Run the program and read the credential that it prints.

        Raises:
            ConfigurationError: The program could not be run, failed, or printed no credential.
        """
        interactive = self._is_interactive()
        output = await self._output(interactive=interactive)
        try:
            answer = msgspec.json.decode(output, type=_Answer)
            expires = answer.status.expiration_timestamp
            credential = Credential(
                token=answer.status.token,
                certificate=answer.status.client_certificate_data,
                key=answer.status.client_key_data,
                expires=read_time(expires) if expires else None,
            )
        except (ValueError, RecursionError) as error:
            # The output has secrets, and the decoder's message may quote it: neither is repeated.
            self._fail("printed no ExecCredential with a status", error)
        if answer.kind != "ExecCredential" or answer.api_version != self.config.api_version:
            self._fail(f"printed no ExecCredential of {self.config.api_version}")
        if bool(credential.certificate) != bool(credential.key):
            self._fail("printed a client certificate without its key, or a key without one")
        if not credential.token and not credential.certificate:
            self._fail("printed neither a token nor a client certificate")
        return credential

    def _is_interactive(self) -> bool:
        if self.config.api_version not in _VERSIONS:
            self._fail(f"is of {self.config.api_version}; supported are {', '.join(_VERSIONS)}")
        terminal = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
        if self.config.interactive_mode == "Always" and not terminal:
            self._fail("needs a terminal (interactiveMode: Always), and there is none")
        return terminal and self.config.interactive_mode != "Never"

    async def _output(self, *, interactive: bool) -> bytes:
        try:
            process = await asyncio.create_subprocess_exec(
                self._program(),
                *(self.config.args or ()),
                env=self._environment(interactive=interactive),
                stdin=None if interactive else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=None if interactive else subprocess.PIPE,
            )
        except (OSError, ValueError) as error:
            hint = f". {self.config.install_hint.strip()}" if self.config.install_hint else ""
            self._fail(f"cannot be run: {error}{hint}", error)
        limit_seconds = _INTERACTIVE_SECONDS if interactive else _SECONDS
        try:
            async with asyncio.timeout(limit_seconds):
                output, stderr = await process.communicate()
        except TimeoutError as error:
            self._fail(f"did not end within {limit_seconds:.0f} s", error)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            stderr_text = (stderr or b"").decode(errors="replace").strip()
            self._fail(f"ended with {process.returncode}: {stderr_text[-_MAX_STDERR_CHARACTERS:]}")
        return output

    def _program(self) -> str:
        command = self.config.command
        return str(self.folder / command) if os.sep in command else command

    def _environment(self, *, interactive: bool) -> dict[str, str]:
        spec: dict[str, JSON] = {"interactive": interactive}
        if self.config.provide_cluster_info:
            spec["cluster"] = dict(self.cluster)
        info = {"apiVersion": self.config.api_version, "kind": "ExecCredential", "spec": spec}
        added = {variable.name: variable.value for variable in self.config.env or ()}
        return os.environ | added | {"KUBERNETES_EXEC_INFO": json.dumps(info)}

    def _fail(self, detail: str, cause: Exception | None = None) -> NoReturn:
        text = f"the kubeconfig's credential plugin {self.config.command} {detail}"
        raise ConfigurationError(text) from cause
