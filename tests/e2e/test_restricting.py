"""
Labels and annotations that restrict a run, on a real server.
"""

import itertools
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import MakeCrd
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import CURRENT, GROUP, VALID, Crd, schema, version
from tests.e2e.operating import is_ours
from tests.e2e.waiting import eventually, throughout

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("operator")]

SIZE = {"size": {"type": "integer"}}
RED = {**SIZE, "color": {"type": "string", "default": "red"}}
VERSIONS = [version("v1alpha1", schema(SIZE)), version("v1", schema(RED))]


def flipped(crd: Crd, count: int = 3) -> None:
    crd.create(VERSIONS, storage="v1alpha1")
    crd.add(
        "v1alpha1", *(crd.object("v1alpha1", f"o{n:03}", spec={"size": n}) for n in range(count))
    )
    crd.set_versions(VERSIONS, storage="v1")


def annotate(crd: Crd, **annotations: str | None) -> None:
    named = {f"espalier.dev/{name}": text for name, text in annotations.items()}
    crd.plane.api.merge(crd.path, {"metadata": {"annotations": named}})


def written(crd: Crd, mark: dict[Path, int]) -> set[str]:
    """
    Return the names of a CRD's objects that Espalier has written after a mark.
    """
    return {
        request.name
        for request in crd.plane.audit.requests(mark)
        if is_ours(request)
        and request.is_mutating
        and request.resource.partition("/")[0] == crd.plural
        and "dryRun" not in request.path
    }


@pytest.fixture
def other_namespace(control_plane: ControlPlane) -> str:
    name = "elsewhere"
    if control_plane.api.find(f"/api/v1/namespaces/{name}") is None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        control_plane.api.post("/api/v1/namespaces", body)
    return name


def test_without_migrating_nothing_is_rewritten(crd: MakeCrd, control_plane: ControlPlane) -> None:
    bricks = crd("bricks")
    flipped(bricks)
    before, mark = bricks.raw(), control_plane.audit.mark()
    bricks.label(mode="enforce", migrate="false")
    partial = bricks.wait_for(CURRENT, "False", "Partial")
    bricks.wait_for(VALID, "True", "Valid")
    assert "label espalier.dev/migrate=false" in partial["message"]
    assert bricks.raw() == before
    assert written(bricks, mark) == set()
    assert bricks.stored_versions() == ["v1alpha1", "v1"]

    bricks.label(migrate=None)
    bricks.wait_until_current()
    assert bricks.stored_at() == {"v1": 3}


@pytest.mark.parametrize("left_out", [("prune",), ("default",), ("prune", "default")])
def test_a_server_prunes_and_defaults_in_spite_of_the_labels(
    crd: MakeCrd, left_out: tuple[str, ...]
) -> None:
    tiles = crd("tiles")
    flipped(tiles)
    tiles.label(mode="enforce", **dict.fromkeys(left_out, "false"))
    done = tiles.wait_until_current()
    labels = " and ".join(f"espalier.dev/{step}=false" for step in left_out)
    assert f"in spite of {labels}" in done["message"]
    assert {str(obj["spec"]["color"]) for obj in tiles.stored().values()} == {"red"}


def test_a_legacy_definition_is_pruned_as_ever_without_defaulting(crd: MakeCrd) -> None:
    flags = crd("flags")
    flags.put_legacy([version("v1", schema(SIZE))], storage="v1")
    flags.add("v1", flags.object("v1", "odd", spec={"size": 1, "junk": "gone"}))
    flags.label(mode="enforce", default="false")
    done = flags.wait_until_current()
    # Such a definition cannot have defaults, so the label has no effect.
    assert "in spite of" not in done["message"]
    assert flags.stored()["odd"]["spec"] == {"size": 1}


def test_a_legacy_definition_keeps_its_unknown_fields_without_pruning(crd: MakeCrd) -> None:
    slabs = crd("slabs")
    slabs.put_legacy([version("v1", schema(SIZE))], storage="v1")
    slabs.add("v1", slabs.object("v1", "odd", spec={"size": 1, "junk": "kept"}))
    slabs.label(mode="enforce", prune="false")
    slabs.wait_until_current()
    assert slabs.stored()["odd"]["spec"] == {"size": 1, "junk": "kept"}

    slabs.label(prune=None)

    def pruned() -> None:
        assert slabs.stored()["odd"]["spec"] == {"size": 1}

    eventually(pruned)


def test_validation_and_annotations_can_be_left_out(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    beams = crd("beams")
    beams.create([version("v1", schema(SIZE))], storage="v1")
    beams.add("v1", beams.object("v1", "large", spec={"size": 9}))
    strict = {"size": {"type": "integer", "maximum": 5}}
    beams.set_versions([version("v1", schema(strict))], storage="v1")
    beams.label(mode="enforce", validate="false")
    beams.wait_for(VALID, "Unknown", "NotAsked")
    mark = control_plane.audit.mark()
    beams.label(validate=None, annotate="false")
    beams.wait_for(VALID, "False", "Invalid")
    assert written(beams, mark) <= {"large"}
    assert "annotations" not in beams.stored()["large"]["metadata"]


def test_objects_of_a_gitops_controller_are_left_alone(
    crd: MakeCrd, control_plane: ControlPlane
) -> None:
    planks = crd("planks")
    planks.create(VERSIONS, storage="v1alpha1")
    planks.add("v1alpha1", planks.object("v1alpha1", "ours", spec={"size": 1}))
    path = f"{planks.objects_path('v1alpha1')}/theirs"
    apply(control_plane, path, planks.object("v1alpha1", "theirs", spec={"size": 2}))
    planks.set_versions(VERSIONS, storage="v1")
    mark = control_plane.audit.mark()

    planks.label(mode="enforce", skip_owned="true")
    partial = planks.wait_for(CURRENT, "False", "Partial")

    assert (
        "1 object that a GitOps controller manages left alone (default/theirs)"
        in (partial["message"])
    )
    assert written(planks, mark) == {"ours"}
    assert planks.stored_at() == {"v1": 1, "v1alpha1": 1}
    assert planks.stored_versions() == ["v1alpha1", "v1"]

    planks.label(skip_owned=None)
    planks.wait_until_current()
    assert planks.stored_versions() == ["v1"]


def apply(plane: ControlPlane, path: str, body: dict[str, Any]) -> None:
    named = body | {"metadata": body["metadata"] | {"namespace": "default"}}
    options = ("--server-side", "--field-manager=argocd-controller", "-f", "-")
    plane.kubectl("apply", *options, stdin=json.dumps(named))
    assert plane.api.find(path) is not None


def test_only_the_namespaces_asked_for_are_worked_on(
    crd: MakeCrd, control_plane: ControlPlane, other_namespace: str
) -> None:
    posts = crd("posts")
    posts.create(VERSIONS, storage="v1alpha1")
    posts.add("v1alpha1", posts.object("v1alpha1", "here", spec={"size": 1}))
    there = f"/apis/{GROUP}/v1alpha1/namespaces/{other_namespace}/posts"
    control_plane.api.post(there, posts.object("v1alpha1", "there", spec={"size": 2}))
    posts.set_versions(VERSIONS, storage="v1")
    annotate(posts, namespaces=other_namespace)

    posts.label(mode="enforce")
    partial = posts.wait_for(CURRENT, "False", "Partial")

    assert f"only in the namespaces {other_namespace}" in partial["message"]
    assert posts.stored()["there"]["apiVersion"] == f"{GROUP}/v1"
    assert posts.stored()["here"]["apiVersion"] == f"{GROUP}/v1alpha1"
    assert posts.stored_versions() == ["v1alpha1", "v1"]

    annotate(posts, namespaces=None)
    posts.wait_until_current()
    assert posts.stored_at() == {"v1": 2}


def test_outside_the_window_nothing_is_written(crd: MakeCrd, control_plane: ControlPlane) -> None:
    rails = crd("rails")
    flipped(rails)
    mark = control_plane.audit.mark()
    annotate(rails, window=closed_window(control_plane))
    rails.label(mode="enforce")
    rails.wait_for(CURRENT, "False", "OutsideWindow")

    def untouched() -> None:
        assert written(rails, mark) == set()

    throughout(untouched, seconds=2)
    annotate(rails, window=None)
    rails.wait_until_current()


def closed_window(plane: ControlPlane) -> str:
    """
    Return a window of two hours that begins six hours after the server's time.
    """
    hour = plane.api.time().hour
    return f"{(hour + 6) % 24:02d}:00-{(hour + 8) % 24:02d}:00"


def test_managed_fields_of_gone_versions_are_cleaned_after_the_trim(crd: MakeCrd) -> None:
    wires = crd("wires")
    both = [version(name, schema(SIZE)) for name in ("v1alpha1", "v1")]
    wires.create(both, storage="v1alpha1")
    wires.add("v1alpha1", *(wires.object("v1alpha1", f"o{n}", spec={"size": n}) for n in range(3)))
    wires.set_versions(both, storage="v1")
    wires.label(mode="enforce", managed_fields="keep")
    wires.wait_until_current()
    wires.plane.kubectl(
        *("patch", f"{wires.plural}.v1.{GROUP}", "o1", "--type=merge", "-p"),
        *('{"spec":{"size":7}}', "--field-manager=somebody"),
    )
    gone = [version("v1alpha1", schema(SIZE), served=False), both[1]]
    wires.set_versions(gone, storage="v1")
    wires.wait_until_current()
    assert managed_versions(wires) == {f"{GROUP}/v1alpha1", f"{GROUP}/v1"}

    wires.label(managed_fields=None)

    def cleaned() -> None:
        assert managed_versions(wires) == {f"{GROUP}/v1"}
        assert "managedFields" not in wires.stored()["o0"]["metadata"]

    eventually(cleaned)
    assert wires.stored_at() == {"v1": 3}
    assert {name: obj["spec"]["size"] for name, obj in wires.stored().items()} == {
        "o0": 0,
        "o1": 7,
        "o2": 2,
    }


@contextmanager
def editing(crd: Crd, names: list[str]) -> Iterator[dict[str, int]]:
    """
    Edit objects again and again while the block runs; yield the last value of each.
    """
    sizes: dict[str, int] = {}
    stopping = threading.Event()

    def edit() -> None:
        for size in itertools.count(1):
            for name in names:
                if stopping.is_set():
                    return
                path = f"{crd.objects_path('v1')}/{name}?fieldManager=somebody"
                crd.plane.api.merge(path, {"spec": {"size": size}})
                sizes[name] = size

    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(edit)
        try:
            yield sizes
        finally:
            stopping.set()
        work.result()


def test_managed_fields_are_cleaned_under_the_hands_of_writers(crd: MakeCrd) -> None:
    cords = crd("cords")
    both = [version(name, schema(SIZE)) for name in ("v1alpha1", "v1")]
    cords.create(both, storage="v1alpha1")
    names = [f"o{number:03}" for number in range(200)]
    cords.add("v1alpha1", *(cords.object("v1alpha1", name, spec={"size": 0}) for name in names))
    gone = [version("v1alpha1", schema(SIZE), served=False), both[1]]
    cords.set_versions(gone, storage="v1")
    cords.wait_until_served("v1")
    # Every second object, so that only Espalier writes the others.
    with editing(cords, names[::2]) as sizes:

        def all_edited() -> None:
            assert len(sizes) == len(names[::2])

        eventually(all_edited)
        cords.label(mode="enforce")
        cords.wait_until_current(within_seconds=60)

        def cleaned() -> None:
            assert managed_versions(cords) == {f"{GROUP}/v1"}

        eventually(cleaned)

    stored = cords.stored()
    assert {name: obj["spec"]["size"] for name, obj in stored.items()} == {
        name: sizes.get(name, 0) for name in names
    }
    for name in sizes:
        assert [e["manager"] for e in stored[name]["metadata"]["managedFields"]] == ["somebody"]


def managed_versions(crd: Crd) -> set[str]:
    return {
        entry["apiVersion"]
        for obj in crd.stored().values()
        for entry in obj["metadata"].get("managedFields", [])
    }
