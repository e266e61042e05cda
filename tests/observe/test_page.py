"""
The page: what it shows, that every text is escaped, and that it asks for nothing from elsewhere.
"""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.crd import Condition
from espalier.engine.ports.meter import ObjectCounts
from espalier.engine.status import conditions
from espalier.engine.status.conditions import Reason
from espalier.names import STORED_OBJECTS_CURRENT
from espalier.observe.page import render_definition, render_file, render_page, stylesheet
from espalier.observe.recorder import Recorder
from espalier.observe.state import DefinitionState, Snapshot, VersionState
from tests.handlers.world import definition_of
from tests.observe.states import ENFORCED, StillClock, migrating, prove, rewrite, versions

CRD = "widgets.example.com"
# What HTML5 lets stand without an end.
VOID = frozenset({"meta", "link", "wbr"})
ALLOWED = frozenset(
    {"html", "head", "meta", "title", "link", "style", "body", "header", "footer", "main"}
    | {"section", "article", "div", "h1", "h2", "h3", "h4", "p", "a", "b", "i", "span", "wbr"}
    | {"ul", "li", "pre", "code", "table", "thead", "tbody", "tr", "th", "td"}
    | {"svg", "path", "line", "circle", "text", "rect", "polyline"}
)


class Reader(HTMLParser):
    """
    Collects elements, attributes and texts, and checks that elements are nested.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(key, found or "") for key, found in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(key, found or "") for key, found in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def recorder() -> Recorder:
    return Recorder(StillClock())


def pages(snapshot: Snapshot) -> list[str]:
    made = [render_page(snapshot, with_messages=True), render_file(snapshot, with_messages=True)]
    for one in snapshot.definitions:
        own = render_definition(snapshot, one.name, with_messages=True)
        assert own is not None
        made.append(own)
    return made


def test_progress_is_shown_with_its_rate_and_the_time_left(recorder: Recorder) -> None:
    rewrite(recorder, migrating(), done=13_400, total=41_000)

    text = Reader(render_page(recorder.snapshot(), with_messages=False)).text

    assert "rewriting 13,400 of 41,000 50 objects/s about 9 min 12 s left" in " ".join(text.split())


def test_a_run_is_shown_by_its_phases_and_results(recorder: Recorder) -> None:
    prove(recorder, migrating(), objects=10)

    text = render_definition(recorder.snapshot(), CRD, with_messages=False) or ""

    for phase in ("wait", "rewrite", "settle", "verify", "trim", "survey"):
        assert f'class="p-{phase}"' in text
    assert 'class="r-rewritten"' in text
    assert "verified" in text


def test_what_waits_for_a_person_has_the_command_of_the_condition(recorder: Recorder) -> None:
    command = f"kubectl label crd {CRD} espalier.dev/loss=0123456789abcdef --overwrite"
    recorder.see(migrating())
    reported = conditions.not_current(Reason.WOULD_LOSE_DATA, f"it would lose. Consent: {command}")
    recorder.report(migrating(), reported)

    text = Reader(render_page(recorder.snapshot(), with_messages=False)).text

    assert command in text
    assert "it would lose." not in text


@pytest.mark.parametrize(
    ("names", "stored", "served", "label"),
    [
        (("v1",), ("v1",), ("v1",), "T1"),
        (("v1alpha1", "v1"), ("v1alpha1", "v1"), ("v1alpha1", "v1"), "T2"),
        (("v1alpha1", "v1"), ("v1alpha1", "v1"), ("v1",), "T3"),
        (("v1alpha1", "v1"), ("v1",), ("v1",), "T4"),
    ],
)
def test_the_life_line_shows_where_a_definition_stands(
    recorder: Recorder,
    names: tuple[str, ...],
    stored: tuple[str, ...],
    served: tuple[str, ...],
    label: str,
) -> None:
    found = migrating(versions=versions(*names, served=served), stored_versions=stored)
    recorder.see(found)

    page = render_page(recorder.snapshot(), with_messages=False)

    assert f'class="life" role="img" aria-label="{label}: ' in page


def test_messages_and_so_names_of_objects_are_shown_on_request_only(recorder: Recorder) -> None:
    recorder.see(migrating())
    recorder.report(migrating(), conditions.not_current(Reason.FAILED, "team-a/build failed"))
    snapshot = recorder.snapshot()

    with_messages = pages(snapshot)
    without = [
        render_page(snapshot, with_messages=False),
        render_file(snapshot, with_messages=False),
        render_definition(snapshot, CRD, with_messages=False) or "",
    ]

    assert all("team-a/build" in page for page in with_messages)
    assert not any("team-a/build" in page for page in without)


def test_nothing_is_asked_for_from_elsewhere_and_no_script_runs(recorder: Recorder) -> None:
    prove(recorder, migrating(), objects=10)
    rewrite(recorder, migrating("gadgets.example.com"), done=1, total=2)
    for page in pages(recorder.snapshot()):
        read = Reader(page)
        assert read.tags <= ALLOWED
        assert not [key for key, _ in read.attributes if key.startswith("on") or key == "style"]
        targets = [found for key, found in read.attributes if key in ("href", "src", "xlink:href")]
        assert all(re.fullmatch(r"/(style\.css|definitions/[\w.-]+)?|#[\w.-]+", t) for t in targets)
    assert "url(" not in stylesheet()
    assert "@import" not in stylesheet()


def test_a_cluster_without_definitions_has_a_page(recorder: Recorder) -> None:
    assert "have not been listed yet" in render_page(recorder.snapshot(), with_messages=False)


def test_rows_are_bounded_and_the_rest_is_counted(recorder: Recorder) -> None:
    for number in range(150):
        recorder.see(migrating(f"w{number}.example.com"))
    for number in range(250):
        stored = ("v1alpha1", "v1")
        recorder.see(definition_of(f"o{number}.example.com", stored_versions=stored))

    text = Reader(render_page(recorder.snapshot(), with_messages=False)).text

    assert "50 more are not shown" in text
    assert "400 definitions, 150 labelled" in text


TEXTS = st.one_of(
    st.sampled_from(["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}"]),
    st.text(max_size=40),
    st.text(alphabet="<&\"'>{}%", min_size=1, max_size=20),
    st.just("<b>" * 4000),
)


@given(name=TEXTS, reason=TEXTS, message=TEXTS, version=TEXTS)
@settings(max_examples=30, deadline=None)
def test_every_text_comes_out_as_text(name: str, reason: str, message: str, version: str) -> None:
    current = Condition(type=STORED_OBJECTS_CURRENT, status="False", reason=reason, message=message)
    stored = VersionState(name=version, is_served=True, is_storage=True, is_stored=True)
    state = DefinitionState(
        name=name,
        mode="enforce",
        is_structural=True,
        storage=version,
        versions=(stored, replace(stored, is_storage=False)),
        conditions=(current,),
    )
    snapshot = Snapshot(taken_at="now", version="0", definitions=(state,))

    for page in pages(snapshot):
        read = Reader(page)
        assert read.tags <= ALLOWED
        assert not [key for key, _ in read.attributes if key.startswith("on") or key == "style"]
        assert message[:2000] in read.text or not message.strip()
        assert "49" not in read.text or "49" in name + reason + message + version


def test_the_most_frequent_paths_are_bars_and_only_text() -> None:
    recorder = Recorder(StillClock())
    made = definition_of(labels=ENFORCED)
    recorder.see(made)
    lost = (("<script>alert(1)</script>" + "x" * 10_000, 40),)
    recorder.survey(made.name, ObjectCounts(80, lost=lost, violated=((".spec.a\x1b[2J", 8),)))

    page = render_definition(recorder.snapshot(), made.name, with_messages=False) or ""

    assert "A rewrite would or might remove" in page
    assert "40 of 80 objects" in page
    assert 'width="50.0%"' in page
    assert "<script" not in page
    assert "\x1b" not in page
    assert "x" * 200 not in page
