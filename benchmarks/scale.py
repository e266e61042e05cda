"""
Migrate a million small objects once: ``make bench-scale``.

The objects are put straight into etcd, at the old version. One run of the engine then rewrites,
proves and trims; its settle time is 0 and its byte budget is off. While it runs, a line is printed
every half minute. The last line is one JSON object.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import orjson
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import Crd, Document, schema, version

from benchmarks.migrate import GROUP, control_plane
from benchmarks.migrate_engine import EngineRun
from benchmarks.migrate_memory import cpu_seconds, peak_mib, resident_mib
from benchmarks.stored_objects import put_objects

VERSIONS = ("v1", "v2")
SERVERS = {"etcd": "etcd", "kube-apiserver-first": "API server"}
QUOTA_BYTES = 8 << 30
LOOK_SECONDS = 30.0
POLL_SECONDS = 0.5
# After the change the server reads all objects again, for the cache of each version. That must not
# count for the first tenth.
REST_SECONDS, MOST_LOAD_AT_REST = 5.0, 0.1
LONGEST_UNREST_SECONDS = 1800.0


def main() -> None:
    """
    Measure; print lines for people and the figures as JSON.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale")
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument(
        "--payload", type=int, default=120, help="bytes; about 300 less than stored"
    )
    given = parser.parse_args()
    with control_plane(etcd_flags=[f"--quota-backend-bytes={QUOTA_BYTES}"]) as plane:
        crd = Crd(plane, "manys", GROUP)
        versions = [version(name, schema({"payload": {"type": "string"}})) for name in VERSIONS]
        crd.create(versions, storage=VERSIONS[0])
        begun = time.monotonic()
        put_objects(plane, crd, _objects(crd, given.objects, given.payload))
        print(f"{given.objects:,} objects stored in {time.monotonic() - begun:.0f} s", flush=True)
        crd.set_versions(versions, storage=VERSIONS[1])
        crd.label(mode="enforce")
        for name in VERSIONS:
            # The first request for a version makes the server fill its cache.
            plane.api.get(f"{crd.objects_path(name)}?limit=1")
        _wait_for_rest(plane)
        figures = _migrate(plane, crd)
        if crd.stored_versions() != [VERSIONS[1]]:
            raise SystemExit(f"storedVersions: {crd.stored_versions()}")
        _check_all(crd, given.objects)
    figures["objects"] = given.objects
    print(orjson.dumps({name: round(figure, 3) for name, figure in figures.items()}).decode())


def _objects(crd: Crd, number: int, payload: int) -> Iterator[Document]:
    spec = {"payload": "x" * payload}
    for index in range(number):
        yield crd.object(VERSIONS[0], f"o{index:07}", spec=spec)


def _wait_for_rest(plane: ControlPlane) -> None:
    server = plane.pids()["kube-apiserver-first"]
    begun = time.monotonic()
    load = 1.0
    while load > MOST_LOAD_AT_REST:
        if time.monotonic() - begun > LONGEST_UNREST_SECONDS:
            raise SystemExit("the API server did not fill its caches in half an hour")
        before = cpu_seconds(server)
        time.sleep(REST_SECONDS)
        load = (cpu_seconds(server) - before) / REST_SECONDS
    print(f"the caches were filled after {time.monotonic() - begun:.0f} s", flush=True)


def _migrate(plane: ControlPlane, crd: Crd) -> dict[str, float]:
    servers = {title: plane.pids()[name] for name, title in SERVERS.items()}
    before = {title: cpu_seconds(pid) for title, pid in servers.items()}
    command = [sys.executable, "-m", "benchmarks.migrate_engine", str(plane.kubeconfig), crd.name]
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen(command, stdout=output) as engine:  # noqa: S603 - our own module
            _look_until_done(plane, engine, servers)
        if engine.returncode:
            raise SystemExit("the engine failed")
        output.seek(0)
        run = EngineRun(**orjson.loads(output.read()))
    figures = {
        "whole_seconds": run.total_seconds,
        "rewrite_seconds": run.rewrite_seconds,
        "verify_seconds": run.verify_seconds,
        "first_tenth_per_second": run.first_tenth_per_second,
        "last_tenth_per_second": run.last_tenth_per_second,
        "last_tenth_over_first": run.last_tenth_per_second / (run.first_tenth_per_second or 1),
        "first_tenth_rss_mib": run.first_tenth_rss_mib,
        "last_tenth_rss_mib": run.last_tenth_rss_mib,
        "peak_rss_mib": run.peak_rss_mib,
        "client_cpu_seconds": run.total_cpu_seconds,
        "patches": run.patches,
        "judged": run.judged,
        "database_mib": plane.etcd.database_bytes() / (1 << 20),
    }
    for title, pid in servers.items():
        name = title.lower().replace(" ", "_")
        figures[f"{name}_cpu_seconds"] = cpu_seconds(pid) - before[title]
        figures[f"{name}_peak_rss_mib"] = peak_mib(pid)
    return figures


def _look_until_done(
    plane: ControlPlane, engine: subprocess.Popen[bytes], servers: dict[str, int]
) -> None:
    begun = looked = time.monotonic()
    while engine.poll() is None:
        time.sleep(POLL_SECONDS)
        now = time.monotonic()
        if now - looked < LOOK_SECONDS:
            continue
        looked = now
        sizes = {"engine": engine.pid, **servers}
        shown = ", ".join(f"{title} {resident_mib(pid):,.0f} MiB" for title, pid in sizes.items())
        database = plane.etcd.database_bytes() / (1 << 20)
        print(f"{now - begun:6.0f} s  {shown}, database {database:,.0f} MiB", flush=True)


def _check_all(crd: Crd, objects: int) -> None:
    # In a million decoded documents at once, this process would need more than the servers.
    suffix = f'"apiVersion":"{crd.group}/{VERSIONS[1]}"'.encode()
    current = sum(suffix in value for _, value in crd.plane.etcd.values(crd.raw_prefix))
    if current != objects:
        raise SystemExit(f"{current} of {objects} objects are stored at {VERSIONS[1]}")


if __name__ == "__main__":
    main()
