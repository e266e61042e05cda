"""
Where cases are tried: files in a folder, and a sandbox that stores what etcd would hold.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

from espalier import crd
from espalier.cli import main
from espalier.crd.field_sets import specified_paths
from espalier.engine.policy.labels import read_policy
from espalier.engine.policy.plan import plan, run_key
from espalier.engine.surveys.examination import examination_of
from espalier.errors import EspalierError, MalformedDefinitionError
from espalier.paths import JSON
from espalier.sandbox import Sandbox
from tests.fuzz import texts
from tests.fuzz.hostile import Tree
from tests.fuzz.making import Case

CODES = (0, 1, 3, 4)
"""How a command may end; 2 would blame its arguments, which are right."""

_CRD = "/registry/apiextensions.k8s.io/customresourcedefinitions"
_MARKS = ("Traceback (most recent call last)", "please report it with -vv", "was never retrieved")


class Playground:
    """
    Tries cases, one after another.

    Args:
        folder: For the files of the cases.
        loop: The event loop of a thread, for sandboxes.
    """

    def __init__(self, folder: Path, loop: asyncio.AbstractEventLoop) -> None:
        self._folder = folder
        self._loop = loop

    def try_case(self, case: Case) -> Iterator[str]:
        """
        Yield what went wrong with a case, as one line each.
        """
        definition, objects = self._folder / "crd.yaml", self._folder / "objects.yaml"
        definition.write_bytes(case.definition_file)
        objects.write_bytes(case.object_file)
        yield from self._run("check", str(definition))
        yield from self._run("validate", "--crd", str(definition), str(objects))
        yield from _read(case)
        kubeconfig = self._folder / "kubeconfig"
        with self._cluster(case) as content:
            kubeconfig.write_text(content, encoding="utf-8")
            cluster = ("--kubeconfig", str(kubeconfig))
            yield from self._run("plan", *cluster, "-f", str(definition))
            yield from self._run("survey", *cluster, "--worker-processes", "1")

    def _run(self, *command: str) -> Iterator[str]:
        result = CliRunner().invoke(main, command)
        error = result.exception
        if error is not None and not isinstance(error, SystemExit):
            yield f"{command[0]}: {type(error).__name__}: {error}"
        elif any(mark in result.output for mark in _MARKS):
            (line, *_) = [one for one in result.output.splitlines() if any(map(one.count, _MARKS))]
            yield f"{command[0]}: {line}"
        elif result.exit_code not in CODES:
            yield f"{command[0]}: exit code {result.exit_code}: {result.output[-200:]!r}"

    @contextmanager
    def _cluster(self, case: Case) -> Iterator[str]:
        sandbox = Sandbox(structural_delay_seconds=None)
        self._call(sandbox.__aenter__())
        try:
            self._call(_store(sandbox, case))
            yield sandbox.kubeconfig()
        finally:
            self._call(sandbox.__aexit__(None, None, None))

    def _call(self, work: Coroutine[object, object, object]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def _store(sandbox: Sandbox, case: Case) -> None:
    try:
        definition = crd.read_definition(case.definition)
    except MalformedDefinitionError:
        # No API server could read it from etcd either.
        return
    stored = texts.dump(_established(case.definition)).encode()
    sandbox.raw_put(f"{_CRD}/{definition.name}", stored)
    for number, one in enumerate(case.objects):
        key = f"/registry/{definition.group}/{definition.plural}/default/a{number}"
        sandbox.raw_put(key, texts.dump(one).encode())


def _established(definition: Tree) -> Tree:
    condition = {"type": "Established", "status": "True", "reason": "", "message": ""}
    status = definition.get("status")
    kept = status if isinstance(status, dict) else {}
    return {**definition, "status": {"storedVersions": ["v1"], **kept, "conditions": [condition]}}


def _read(case: Case) -> Iterator[str]:
    # As the operator reads what its watch brings.
    try:
        definition = crd.read_definition(case.definition)
        crd.nonstructural_condition(definition)
        plan(definition, read_policy(definition))
        run_key(definition, read_policy(definition))
        for version in definition.versions:
            list(specified_paths(crd.structural_of(version)))
        examine = examination_of(definition).prepare()
    except EspalierError:
        return
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        yield f"read: {type(error).__name__}: {error}"
        return
    for one in case.objects:
        yield from _examined(examine, one)


def _examined(examine: Callable[[dict[str, JSON]], object], obj: Tree) -> Iterator[str]:
    try:
        if isinstance(obj, dict):
            examine(obj)
    except EspalierError:
        return
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        yield f"examine: {type(error).__name__}: {error}"


@contextmanager
def playground() -> Iterator[Playground]:
    """
    Start a thread for sandboxes, and make a folder.
    """
    # The sandbox is no API server: what it does not withstand is answered by 500.
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        with TemporaryDirectory() as folder:
            yield Playground(Path(folder), loop)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
