"""
``espalier migrate``: the engine's own runs, from the shell, against a server.
"""

import asyncio
import contextlib
import json
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from espalier.cli.output.exit_codes import Exit
from espalier.cli.output.formats import ALL
from espalier.cluster.transport.paths import name_of
from espalier.engine.coordination.lease import LeaseHolder
from espalier.engine.flowcontrol.calls import run_with_watchers
from espalier.names import MODE, RECORD
from espalier.sandbox import Fault
from tests.cli.clusters import NAME, NAMESPACE, Site, site, widget
from tests.cli.golden import check_golden
from tests.cli.manifests import WIDGETS, items_in
from tests.patience import PACE

OBJECTS = [widget("a", "{size: 5}", "v1alpha1"), widget("b", "{size: 6}", "v1alpha1")]
LEASE = name_of("lease", NAME)
QUICK = ("--settle-seconds", "0", "--yes")


def versions(storage: str, **changed: str) -> list[dict[str, Any]]:
    """
    v1alpha1 and v1 with the same schema, one of them for storage.
    """
    (only,) = yaml.safe_load(WIDGETS)["spec"]["versions"]
    text = json.dumps(only)
    for old, new in changed.items():
        text = text.replace(f'"{old}"', f'"{new}"')
    return [
        {**(only if name == "v1alpha1" else json.loads(text)), "name": name, "storage": is_storage}
        for name, is_storage in (("v1alpha1", storage == "v1alpha1"), ("v1", storage == "v1"))
    ]


def definition() -> str:
    manifest = yaml.safe_load(WIDGETS)
    manifest["spec"]["versions"] = versions("v1alpha1")
    return yaml.safe_dump(manifest)


async def stored_version(cluster: Site, name: str) -> str:
    data = await cluster.stage.store.read(f"/registry/example.com/widgets/default/{name}")
    assert data is not None
    return str(json.loads(data)["apiVersion"])


async def test_all_is_rewritten_proved_and_trimmed_and_nothing_is_labelled() -> None:
    async with site(definition(), OBJECTS) as cluster:
        before = await cluster.change({"spec": {"versions": versions("v1")}})
        result = await cluster.run("migrate", NAME, *QUICK)
        after = await cluster.stage.definition(NAME)
        assert [await stored_version(cluster, name) for name in "ab"] == ["example.com/v1"] * 2

    assert result.exit_code == Exit.CLEAN
    assert before.stored_versions == ("v1alpha1", "v1")
    assert after.stored_versions == ("v1",)
    assert after.labels == before.labels == {}
    # The record outlives the run: without it a later one could not tell what is hidden.
    own = [one.type for one in after.conditions if one.type.startswith("espalier.dev/")]
    assert own == [RECORD]


@pytest.mark.parametrize("name", ALL)
async def test_each_format_is_as_it_was_looked_at(name: str) -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1", size="gone")}})
        surveyed = await cluster.run("migrate", NAME, "--dry-run", "-o", name)
        stopped = await cluster.run("migrate", NAME, *QUICK, "-o", name)

    check_golden(f"migrate.dry-run.{name}.txt", surveyed.stdout)
    check_golden(f"migrate.stopped.{name}.txt", stopped.stdout)
    assert surveyed.exit_code == Exit.FINDINGS
    assert stopped.exit_code == Exit.INCOMPLETE


@pytest.mark.parametrize("name", ALL)
async def test_each_format_reports_what_is_proved(name: str) -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        result = await cluster.run("migrate", NAME, *QUICK, "-o", name)

    check_golden(f"migrate.{name}.txt", result.stdout)
    assert result.exit_code == Exit.CLEAN


async def test_programs_get_the_published_shape_and_v_shows_more() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        result = await cluster.run("migrate", NAME, *QUICK, "-o", "json", "-v")

    (item,) = items_in(result.stdout)
    assert item["proved"] is True
    assert item["storedVersions"] == ["v1"]
    assert f"{NAME}: Rewriting: " in result.stderr


async def test_nothing_is_begun_without_a_yes() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        before = len(cluster.sandbox.log)
        result = await cluster.run("migrate", NAME)
        methods = {request.method for request in cluster.sandbox.log[before:]}

    assert result.stderr == (
        f"Stored objects that are not proved yet of these definitions will be rewritten: {NAME}\n"
        "espalier: cannot ask for confirmation without a terminal; nothing was done;"
        " use --yes\n"
    )
    assert result.exit_code == Exit.INCOMPLETE
    assert methods == {"GET"}


async def test_no_run_works_beside_another() -> None:
    async with site(definition(), OBJECTS) as cluster:
        changed = await cluster.change({"spec": {"versions": versions("v1")}})
        leases = cluster.connected.leases(NAMESPACE, "somebody-else", duration_seconds=5)
        holder = LeaseHolder(leases, cluster.connected.clock, changed)
        await holder.take()
        command = cluster.run("migrate", NAME, *QUICK, "-v")
        result = await run_with_watchers(command, holder.renew())

    assert "Pending: waiting for the lease held by " in result.stderr
    assert "Pending: " in result.stdout
    assert "somebody-else" in result.stdout
    assert result.exit_code == Exit.INCOMPLETE


async def test_the_lease_of_a_process_that_was_killed_is_waited_for_and_taken_over() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        process = await under_way(cluster, "--settle-seconds", "600")
        process.kill()
        await process.communicate()
        lease = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{LEASE}"
        # As if it had been taken for so long only: it counts what the lease itself says.
        await cluster.stage.change(lease, {"spec": {"leaseDurationSeconds": 1}})
        again = await cluster.run("migrate", NAME, *QUICK, "-v")
        after = await cluster.stage.definition(NAME)

    assert "Pending: waiting for the lease held by " in again.stderr
    assert again.exit_code == Exit.CLEAN, again.output
    assert after.stored_versions == ("v1",)


async def test_what_failed_can_be_tried_again_alone() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        fault = Fault(method="PATCH", path="/widgets/b$", status=422, reason="Invalid", times=None)
        cluster.sandbox.faults.add(fault)
        failed = await cluster.run("migrate", NAME, *QUICK)
        cluster.sandbox.faults.clear()
        before = len(cluster.sandbox.log)
        again = await cluster.run("migrate", NAME, *QUICK, "--only-failed")
        written = {
            request.path.rpartition("/")[2]
            for request in cluster.sandbox.log[before:]
            if request.method == "PATCH" and "/widgets/" in request.path
        }
        left = await cluster.stage.definition(NAME)

    assert "default/b" in failed.stdout
    assert failed.exit_code == Exit.INCOMPLETE
    assert "Partial: " in again.stdout
    assert again.exit_code == Exit.CLEAN
    assert written == {"b"}
    assert left.stored_versions == ("v1alpha1", "v1")


async def test_a_namespace_alone_is_migrated_and_nothing_trimmed() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        result = await cluster.run("migrate", NAME, *QUICK, "-n", "default")
        left = await cluster.stage.definition(NAME)

    assert "1 definition, 0 proved to be current" in result.stdout
    assert result.exit_code == Exit.CLEAN
    assert left.stored_versions == ("v1alpha1", "v1")


@pytest.mark.parametrize("arguments", [QUICK, ("--dry-run",)])
async def test_a_namespace_that_holds_nothing_is_no_silent_success(
    arguments: tuple[str, ...],
) -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        command = ["migrate", NAME, *arguments, "-n", "defualt", "-n", "default"]
        result = await cluster.run(*command)
        strict = await cluster.run(*command, "--fail-on", "warning")

    assert "the namespace defualt has no such object; check its name" in result.stdout
    assert "the namespace default has no" not in result.stdout
    assert result.exit_code == Exit.CLEAN
    assert strict.exit_code == Exit.FINDINGS


async def test_writes_are_no_faster_than_was_asked_for() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        rates = ("--max-writes-per-second", "1", "--max-in-flight", "1")
        begun_seconds = cluster.connected.clock.monotonic_seconds()
        result = await cluster.run("migrate", NAME, *QUICK, *rates)
        took_seconds = cluster.connected.clock.monotonic_seconds() - begun_seconds

    assert result.exit_code == Exit.CLEAN
    # Two writes, a second apart.
    assert took_seconds >= 1


@pytest.mark.parametrize(
    "option",
    [("--max-in-flight", "0"), ("--max-in-flight", "257"), ("--max-writes-per-second", "-1")],
)
async def test_rates_that_make_no_sense_are_refused(option: tuple[str, str]) -> None:
    async with site() as cluster:
        result = await cluster.run("migrate", NAME, *QUICK, *option)

    assert result.exit_code == Exit.USAGE


@pytest.mark.parametrize(
    ("before", "after", "is_stopped"),
    [
        ("enforce", None, True),
        ("enforce", "observe", True),
        (None, "observe", True),
        ("observe", None, True),
        (None, "enforce", False),
        ("observe", "enforce", False),
    ],
)
async def test_taking_the_label_off_or_down_stops_a_run_that_was_begun_by_hand(
    before: str | None, after: str | None, *, is_stopped: bool
) -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change(
            {"metadata": {"labels": {MODE: before}}, "spec": {"versions": versions("v1")}}
        )
        process = await under_way(cluster, "--settle-seconds", f"{PACE.scaled(3):.1f}")
        await cluster.change({"metadata": {"labels": {MODE: after}}})
        stdout, _ = await process.communicate()
        left = await cluster.stage.definition(NAME)

    assert (process.returncode == Exit.INCOMPLETE) is is_stopped
    assert (left.stored_versions == ("v1alpha1", "v1")) is is_stopped
    assert ("was removed or changed during the run" in stdout.decode()) is is_stopped


@pytest.mark.parametrize("mode", ["observe", None])
async def test_what_the_label_said_before_does_not_hinder_a_run_by_hand(mode: str | None) -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change(
            {"metadata": {"labels": {MODE: mode}}, "spec": {"versions": versions("v1")}}
        )
        result = await cluster.run("migrate", NAME, *QUICK)

    assert result.exit_code == Exit.CLEAN


async def test_a_definition_deleted_in_mid_run_is_reported() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        process = await under_way(cluster, "--settle-seconds", "600")
        await cluster.delete()
        stdout, _ = await process.communicate()

    assert process.returncode == Exit.INCOMPLETE
    assert "gone" in stdout.decode() or "is being deleted" in stdout.decode()


async def test_only_failed_is_no_success_where_it_is_unknown_what_failed() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        never = await cluster.run("migrate", NAME, *QUICK, "--only-failed")
        await cluster.run("migrate", NAME, *QUICK, "-n", "default")
        foreign = await cluster.run("migrate", NAME, *QUICK, "--only-failed")
        nothing = await cluster.run("migrate", NAME, *QUICK, "--only-failed", "-n", "default")

    for result in (never, foreign):
        assert "no run before this one has noted what failed" in result.stdout
        assert result.exit_code == Exit.INCOMPLETE
    assert "no object had failed in the last run" in nothing.stdout
    assert nothing.exit_code == Exit.INCOMPLETE


@pytest.mark.parametrize("name", ["none.example.com", "nonsense"])
async def test_a_definition_that_is_not_there_is_one_line(name: str) -> None:
    async with site() as cluster:
        result = await cluster.run("migrate", name, "--yes")

    assert result.stderr == f"espalier: {name}: the definition does not exist\n"
    assert result.exit_code == Exit.UNREADABLE


async def test_nothing_to_migrate_is_a_usage_error() -> None:
    async with site() as cluster:
        assert (await cluster.run("migrate")).exit_code == Exit.USAGE


async def under_way(cluster: Site, *arguments: str) -> Process:
    """
    Start the command as a process of its own, and wait until it has rewritten the objects.
    """
    command = ["migrate", NAME, "--yes", *arguments, "--kubeconfig", str(cluster.kubeconfig)]
    with interrupts_heard():
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "espalier", *command),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    async with asyncio.timeout(PACE.scaled(60)):
        while await stored_version(cluster, "b") != "example.com/v1":
            assert process.returncode is None, await process.communicate()
            await cluster.stage.definition(NAME)
    return process


@contextlib.contextmanager
def interrupts_heard() -> Iterator[None]:
    """
    Let new processes hear SIGINT, which shells ignore in what they run in the background.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


async def test_ctrl_c_ends_it_and_the_same_command_goes_on() -> None:
    async with site(definition(), OBJECTS) as cluster:
        await cluster.change({"spec": {"versions": versions("v1")}})
        process = await under_way(cluster, "--settle-seconds", "600")
        process.send_signal(signal.SIGINT)
        _, stderr = await process.communicate()
        left = await cluster.stage.definition(NAME)
        # It would raise LeaseLostError if the command still held it.
        leases = cluster.connected.leases(NAMESPACE, "me")
        await leases.acquire(left)
        await leases.release(left)
        again = await cluster.run("migrate", NAME, *QUICK)
        after = await cluster.stage.definition(NAME)

    assert process.returncode == Exit.INCOMPLETE
    assert stderr.decode().splitlines()[-1] == "espalier: interrupted"
    assert left.stored_versions == ("v1alpha1", "v1")
    assert again.exit_code == Exit.CLEAN, again.output
    assert after.stored_versions == ("v1",)
