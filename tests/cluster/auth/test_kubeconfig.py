import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from espalier.cluster import connect
from espalier.cluster.auth.connection import is_in_cluster, read_service_account
from espalier.cluster.auth.credentials import FileSource
from espalier.cluster.auth.kubeconfig import read_kubeconfig
from espalier.errors import ConfigurationError
from tests.cluster.kubeconfigs import Authority, kubeconfig
from tests.cluster.scripted import ManualClock


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({}, None),
        ({"token": "t"}, "Bearer t"),
        ({"token": None}, None),
        ({"username": "me", "password": "pw"}, f"Basic {base64.b64encode(b'me:pw').decode()}"),
        ({"token": "t", "tokenFile": "token"}, "Bearer from-file"),
    ],
)
async def test_credentials_of_a_kubeconfig(
    tmp_path: Path, user: dict[str, Any], header: str | None
) -> None:
    (tmp_path / "token").write_text("from-file")

    connection = read_kubeconfig(str(kubeconfig(tmp_path, user=user)), ManualClock(), context=None)

    assert await connection.credentials.header() == header
    assert connection.server == "https://127.0.0.1:6443"


@pytest.mark.parametrize(
    ("cluster", "user", "expected"),
    [
        ({"server": ""}, {}, "no server; set it: kubectl config set-cluster"),
        ({"server": "localhost:8080"}, {}, "must be a URL"),
        ({"server": "https://"}, {}, "must be a URL"),
        ({"server": "https://[::1"}, {}, "must be a URL"),
        ({"server": 3}, {}, "the cluster c is malformed"),
        ({"server": "https://h", "certificate-authority": "no/such"}, {}, "cannot read .*no/such"),
        ({"server": "https://h", "certificate-authority-data": "eA=="}, {}, "is not a PEM"),
        ({"server": "https://h", "certificate-authority-data": "!"}, {}, "not base64"),
        ({"server": "https://h", "certificate-authority-data": "IA=="}, {}, "is empty"),
        ({"server": "https://h", "proxy-url": "socks5://p"}, {}, "proxy-url must be"),
        (
            {"server": "https://h", "proxy-url": "http://p", "tls-server-name": "n"},
            {},
            "cannot be used together",
        ),
        ({"server": "https://h"}, {"as": ["root"]}, "the user u is malformed"),
        ({"server": "https://h"}, {"auth-provider": {"name": "gcp"}}, "use a credential plugin"),
        ({"server": "https://h"}, {"client-certificate-data": "eA=="}, "needed together"),
        (
            {"server": "https://h"},
            {"client-certificate-data": "eA==", "client-key-data": "eA=="},
            "cannot be used",
        ),
        ({"server": "https://h"}, {"token": 3}, "the user u is malformed"),
    ],
)
def test_what_is_wrong_with_a_kubeconfig_is_reported(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], expected: str
) -> None:
    path = kubeconfig(tmp_path, cluster=cluster, user=user)

    with pytest.raises(ConfigurationError, match=expected):
        read_kubeconfig(str(path), ManualClock(), context=None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "not a kubeconfig, or it is empty"),
        ("[]", "not a kubeconfig"),
        ("just text", "not a kubeconfig"),
        ("a: [hunter2", "line [12] is not YAML"),
        ("{}", "no current context"),
        ("current-context: x\ncontexts: {}", "contexts is malformed|no context x"),
        ("current-context: x\ncontexts: [3]", "is not a map"),
        ("current-context: x\ncontexts: [{name: x}]", "no cluster"),
        ("current-context: x\ncontexts: [{name: x, context: text}]", "is not a map"),
        ("\udcff", "cannot be read"),
    ],
)
def test_a_file_that_is_no_kubeconfig_is_reported(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "config"
    path.write_bytes(text.encode(errors="surrogateescape"))

    with pytest.raises(ConfigurationError, match=expected) as raised:
        read_kubeconfig(str(path), ManualClock(), context=None)

    assert "hunter2" not in str(raised.value)


def test_a_kubeconfig_that_names_nothing_is_reported(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, current=None)

    with pytest.raises(ConfigurationError, match="no such kubeconfig; give one with --kubeconfig"):
        read_kubeconfig(str(tmp_path / "none"), ManualClock(), context=None)
    with pytest.raises(ConfigurationError, match="kubectl config use-context"):
        read_kubeconfig(str(path), ManualClock(), context=None)
    with pytest.raises(ConfigurationError, match="no context there; see: kubectl config get"):
        read_kubeconfig(str(path), ManualClock(), context="there")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_kubeconfig(str(tmp_path), ManualClock(), context=None)


async def test_several_files_are_merged_and_the_first_one_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = tmp_path / "second"
    second.mkdir()
    (second / "token").write_text("relative-to-its-own-file")
    one = kubeconfig(tmp_path, name="one", context="here", user={"token": "first"})
    two = kubeconfig(second, name="two", context="there", current="there")
    document = yaml.safe_load(two.read_text())
    document["users"].append({"name": "v", "user": {"tokenFile": "token"}})
    document["contexts"][0]["context"]["user"] = "v"
    two.write_text(yaml.safe_dump(document))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'missing'}:{one}:{two}")

    async with connect() as cluster:
        assert await cluster.connection.credentials.header() == "Bearer first"
    async with connect(context="there") as cluster:
        header = await cluster.connection.credentials.header()
        assert header == "Bearer relative-to-its-own-file"


def test_a_pods_service_account_is_used(tmp_path: Path, authority: Authority) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    assert not is_in_cluster(environ, folder=tmp_path)
    with pytest.raises(ConfigurationError, match="automountServiceAccountToken"):
        read_service_account(environ, ManualClock(), folder=tmp_path)
    (tmp_path / "token").write_text("t")
    with pytest.raises(ConfigurationError, match=r"cannot read .*ca\.crt"):
        read_service_account(environ, ManualClock(), folder=tmp_path)
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    with pytest.raises(ConfigurationError, match="outside of a pod, give a kubeconfig"):
        read_service_account({}, ManualClock(), folder=tmp_path)

    connection = read_service_account(environ, ManualClock(), folder=tmp_path)

    assert is_in_cluster(environ, folder=tmp_path)
    assert connection.server in {"https://[fd00::1]:443", "https://[fd00::1]"}
    assert isinstance(connection.credentials, FileSource)
