"""
Has a real Prometheus scrape the operator in a migration, and asks it each panel of the dashboard.

``python -m tests.panels``; ``make monitoring`` fetches Prometheus as a Debian package.
"""

import asyncio
import json
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from aiohttp import ClientSession
from aiohttp.test_utils import unused_port

from espalier.cluster import connect_to
from espalier.cluster.clock import SystemClock
from espalier.handlers.settings import Settings
from espalier.handlers.startup import run_operator
from tests.debian import program
from tests.handlers import test_startup as world
from tests.handlers.sandboxed import sandbox_running
from tests.observe.test_dashboard import QUERIES

OBJECTS = 120
SCRAPING_SECONDS = 30.0
# The first survey and the first archive come later.
LATER = {"Invalid and blocked objects", "Archive"}


@contextmanager
def prometheus(*, scraped: int, port: int) -> Iterator[None]:
    """
    Run Prometheus, which scrapes a port of this machine every two seconds.
    """
    path = program("prometheus", "usr/bin/prometheus")
    if path is None:
        raise SystemExit("Prometheus is missing: install it, or run make monitoring on Debian")
    target = {"targets": [f"127.0.0.1:{scraped}"], "labels": {"cluster": "here", "pod": "espalier"}}
    config = {
        "global": {"scrape_interval": "2s"},
        "scrape_configs": [{"job_name": "espalier", "static_configs": [target]}],
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "prometheus.yaml")
        file.write_text(yaml.safe_dump(config), encoding="utf-8")
        running = subprocess.Popen(
            [
                path,
                f"--config.file={file}",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            running.terminate()
            running.wait()


def empty_panels(port: int) -> list[str]:
    """
    Ask all panels; return the titles of those without a series.
    """
    empty = []
    for title, query in QUERIES:
        asked = query.replace("$cluster", ".*").replace("$crd", ".*")
        asked = asked.replace("$__rate_interval", "20s").replace("[5m]", "[20s]")
        text = urllib.parse.urlencode({"query": asked})
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{text}") as answer:
            if not json.load(answer)["data"]["result"]:
                empty.append(title)
    return empty


async def migrate_slowly(url: str, *, scraped: int, port: int) -> list[str]:
    """
    Run the operator on objects at an old version, and ask all panels after a while.
    """
    settings = Settings(
        settle_seconds=2, page_size=10, max_writes_per_second=3, metrics_port=scraped
    )
    stop_flag = asyncio.Event()
    async with (
        ClientSession(url, headers={"User-Agent": "a person"}) as session,
        connect_to(world.connection_to(url), SystemClock()) as cluster,
    ):
        client = world.Client(session)
        await world.stored_at_v1alpha1(client, labels=world.ENFORCE["metadata"]["labels"])
        for number in range(OBJECTS):
            widget = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"size": number}}
            await client.post(world.WIDGETS, {**widget, "metadata": {"name": f"more{number}"}})
        running = asyncio.create_task(run_operator(settings, cluster, stop_flag=stop_flag))
        await asyncio.sleep(SCRAPING_SECONDS)
        empty = await asyncio.to_thread(empty_panels, port)
        stop_flag.set()
        await running
    return empty


if __name__ == "__main__":
    ports = {"scraped": unused_port(), "port": unused_port()}
    begun = time.monotonic()
    with sandbox_running() as server, prometheus(**ports):
        found = sorted({*asyncio.run(migrate_slowly(server.url, **ports))} - LATER)
    print(f"{len(QUERIES)} queries asked after {time.monotonic() - begun:.0f} s")  # noqa: T201
    raise SystemExit(f"no series: {', '.join(found)}" if found else 0)
