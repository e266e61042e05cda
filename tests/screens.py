"""
Takes pictures of the page in Chromium, and has axe look at it: ``python -m tests.screens FOLDER``.

Needs Debian's chromium, or another one on the PATH, and the packages of the group ``page``.
"""

import asyncio
import shutil
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from aiohttp.test_utils import unused_port
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Route, async_playwright

from espalier.crd import Condition
from espalier.engine.ports.meter import ObjectCounts, Phase
from espalier.engine.ports.progress import PassProgress
from espalier.engine.status import conditions
from espalier.engine.status.conditions import Reason
from espalier.handlers.serving.listener import listening
from espalier.handlers.serving.page import page_application
from espalier.names import STORED_OBJECTS_VALID
from espalier.observe.recorder import Recorder
from espalier.observe.state import ArchiveFill
from tests.handlers.world import definition_of
from tests.observe.states import StillClock, counts, migrating, prove, rewrite, versions

INVALID = Condition(
    type=STORED_OBJECTS_VALID, status="False", reason="Invalid", message="3 objects violate it"
)
WIDTHS = (360, 800, 1440)
SCHEMES: tuple[Any, ...] = ("light", "dark")
HEIGHT = 900


def empty() -> Recorder:
    """
    Make the record of a cluster without definitions.
    """
    return Recorder(StillClock())


def three() -> Recorder:
    """
    Make the record of three definitions: one proved, one at work, one that waits for a person.
    """
    clock = StillClock()
    fill = ArchiveFill(held_bytes=9 * 2**20, max_bytes=64 * 2**20)
    recorder = Recorder(clock, archive_fill=lambda: fill)
    gadgets = migrating("gadgets.example.com", stored_versions=("v1",))
    recorder.see(gadgets)
    recorder.begin_run(gadgets, "5f0c2a91")
    for phase, seconds in ((Phase.PREFLIGHT, 3.0), (Phase.REWRITE, 4.0), (Phase.SETTLE, 61.0)):
        clock.seconds += seconds
        recorder.enter(gadgets.name, phase)
    recorder.count_writes(gadgets.name, counts(rewritten=1180, unchanged=70, conflict=4, gone=12))
    for phase, seconds in ((Phase.VERIFY, 30.0), (Phase.TRIM, 44.0), (Phase.SURVEY, 1.0)):
        clock.seconds += seconds
        recorder.enter(gadgets.name, phase)
    recorder.survey(
        gadgets.name,
        ObjectCounts(
            objects=1250,
            invalid=3,
            unwritable=1,
            lost=((".spec.legacy.colour at v1alpha1", 812), (".spec.replicas at v1alpha1", 40)),
            violated=((".spec.size: Invalid value", 3),),
        ),
    )
    clock.seconds += 22.0
    recorder.report(gadgets, (*conditions.current(gadgets, objects=1250), INVALID))
    recorder.end_run(gadgets.name, "verified", reason="Verified")
    lost = migrating("pipelines.delivery.example.com", versions=versions("v1beta1", "v1"))
    recorder.see(replace(lost, stored_versions=("v1beta1", "v1")))
    recorder.report(
        lost,
        conditions.not_current(
            Reason.WOULD_LOSE_DATA,
            "12 objects of 400 left alone, since a rewrite would or might remove: .spec.retries at"
            " v1beta1 (12 objects). They are: team-a/build, team-a/deploy and 10 more. Specify in"
            " the schema what is to be kept, or consent to exactly this loss: kubectl label crd"
            " pipelines.delivery.example.com espalier.dev/loss=0123456789abcdef --overwrite",
        ),
    )
    widgets = migrating()
    rewrite(recorder, widgets, done=13_400, total=41_000)
    for rate in (210, 260, 300, 280, 340, 420, 390, 380, 400, 395):
        progress = PassProgress(
            phase="rewriting", done=13_400, total=41_000, objects_per_second=rate
        )
        clock.seconds += 31.0
        recorder.report(
            widgets,
            conditions.rewriting(widgets, "rewriting", done=13_400, total=41_000),
            progress,
        )
    recorder.see(definition_of("old.example.com", stored_versions=("v1alpha1", "v1")))
    return recorder


def thousand() -> Recorder:
    """
    Make the record of a thousand definitions.
    """
    recorder = three()
    for number in range(1000):
        name = f"kind{number:03}s.group{number % 37}.example.com"
        match number % 25:
            case 0:
                prove(recorder, migrating(name, stored_versions=("v1",)), objects=number)
            case 1:
                rewrite(recorder, migrating(name), done=number, total=1000)
            case 2 if number % 2:
                found = migrating(name)
                recorder.see(found)
                recorder.report(found, conditions.not_current(Reason.FORBIDDEN, "no right"))
            case 3:
                found = migrating(name)
                recorder.see(found)
                recorder.report(found, conditions.not_current(Reason.PENDING, "it settles"))
            case _:
                recorder.see(definition_of(name))
    return recorder


CLUSTERS = {"none": empty, "three": three, "thousand": thousand}


async def take(folder: Path) -> list[str]:
    """
    Take all pictures.

    Returns:
        What axe objects to.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit("Chromium is missing: on Debian, apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        return [
            fault
            for name, make in CLUSTERS.items()
            for fault in await _pictures(browser, name, make(), folder)
        ]


async def _pictures(browser: Browser, name: str, recorder: Recorder, folder: Path) -> list[str]:
    faults = []
    async with AsyncExitStack() as opened:
        port = unused_port()
        app = page_application(recorder.snapshot, is_local=True, with_messages=False)
        await opened.enter_async_context(listening(app, port=port, host="127.0.0.1"))
        for path, width, scheme in _views(name):
            context = await browser.new_context(
                color_scheme=scheme,
                viewport={"width": width, "height": HEIGHT},
                java_script_enabled=True,
            )
            page = await context.new_page()
            await page.route("**/*", _without_refresh)
            await page.goto(f"http://127.0.0.1:{port}{path}")
            what = f"{name}{'-definition' if len(path) > 1 else ''}-{width}-{scheme}"
            await page.screenshot(path=folder / f"{what}.png", full_page=name != "thousand")
            wide = await page.evaluate("document.documentElement.scrollWidth")
            if wide > width:
                faults.append(f"{what}: it is {wide} pixels wide")
            found = await Axe().run(page)
            faults += [
                f"{what}: {one['id']}: {one['help']}: {one['nodes'][0]['html'][:120]}"
                for one in found.response["violations"]
            ]
            await context.close()
    return faults


async def _without_refresh(route: Route) -> None:
    answer = await route.fetch()
    headers = {key: text for key, text in answer.headers.items() if key != "refresh"}
    await route.fulfill(response=answer, headers=headers)


def _views(name: str) -> Iterator[tuple[str, int, Any]]:
    for width in WIDTHS:
        for scheme in SCHEMES:
            yield "/", width, scheme
            if name == "three":
                yield "/definitions/gadgets.example.com", width, scheme


if __name__ == "__main__":
    into = Path(sys.argv[1] if len(sys.argv) > 1 else "build/page")
    into.mkdir(parents=True, exist_ok=True)
    found = asyncio.run(take(into))
    print("\n".join(found) or "axe has nothing to object to")  # noqa: T201 - it reports
    raise SystemExit(bool(found))
