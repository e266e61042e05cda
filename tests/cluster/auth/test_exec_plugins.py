from pathlib import Path
from typing import Any

import pytest

from espalier.cluster import connect
from espalier.engine.ports import ObjectKey
from espalier.errors import ConfigurationError
from tests.cluster.kubeconfigs import kubeconfig, plugin, printing
from tests.cluster.scripted import WIDGETS, Reply, Script, serving

COUNTING = """
import json, os, pathlib
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
assert info["kind"] == "ExecCredential" and info["spec"]["interactive"] is False
counter = pathlib.Path(__file__).with_name("counter")
number = int(counter.read_text()) + 1 if counter.exists() else 1
counter.write_text(str(number))
token = f"{os.environ['PREFIX']}-{number}-{info['spec'].get('cluster', {}).get('server', '')}"
print(json.dumps({
    "apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": {"token": token}
}))
"""


async def test_a_kubeconfigs_plugin_is_run_again_when_its_token_is_refused(tmp_path: Path) -> None:
    script = Script(Reply(401, ""), Reply(body={"metadata": {"name": "a"}}))
    async with serving(script) as server:
        user = plugin(
            tmp_path,
            COUNTING,
            env=[{"name": "PREFIX", "value": "p"}],
            provideClusterInfo=True,
        )
        path = kubeconfig(tmp_path, cluster={"server": server + "/"}, user=user)
        async with connect(path) as cluster:
            await cluster.objects.get_object(WIDGETS, ObjectKey("default", "a"))

    assert [seen.headers.get("Authorization") for seen in script.seen] == [
        f"Bearer p-1-{server}/",
        f"Bearer p-2-{server}/",
    ]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("import sys; sys.exit('log in first')", "ended with 1: log in first"),
        ("print('hunter2')", "printed no ExecCredential"),
        ("print('{}')", "printed no ExecCredential"),
        ("print('[' * 100000)", "printed no ExecCredential"),
        (
            printing("v1beta1", {"token": "hunter2"}),
            "printed no ExecCredential of client.authentication.k8s.io/v1",
        ),
        (
            printing("v1", {}),
            "neither a token nor a client certificate",
        ),
        (
            printing("v1", {"clientKeyData": "hunter2"}),
            "without its key",
        ),
    ],
)
async def test_a_plugin_that_fails_is_reported(tmp_path: Path, program: str, expected: str) -> None:
    path = kubeconfig(tmp_path, user=plugin(tmp_path, program))

    with pytest.raises(ConfigurationError, match=expected) as raised:
        async with connect(path):
            pass

    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"command": "/no/such/program", "installHint": "Install it."}, r"cannot be run.*Install"),
        ({"command": "./relative"}, r"cannot be run: .*/relative"),
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "supported are"),
        ({"command": None}, "malformed: Object missing required field `command`"),
        ({"args": "text"}, "malformed: Expected `array"),
    ],
)
async def test_a_plugin_that_cannot_be_run_is_reported(
    tmp_path: Path, config: dict[str, Any], expected: str
) -> None:
    user = plugin(tmp_path, "")
    user["exec"] = {k: v for k, v in (user["exec"] | config).items() if v is not None}

    with pytest.raises(ConfigurationError, match=expected):
        async with connect(kubeconfig(tmp_path, user=user)):
            pass
