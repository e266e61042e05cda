"""
What is shown of a run while it goes on: the numbers that the engine gives, not those of its words.
"""

from espalier.cli.output.run_progress import RunProgress
from espalier.cli.output.terminal import Terminal
from espalier.engine.ports.progress import PassProgress
from espalier.engine.status import conditions
from espalier.engine.status.conditions import Reason
from tests.fakes.widgets import widgets


class Bar:
    """
    Keeps where it was moved to.
    """

    def __init__(self) -> None:
        self.moves: list[tuple[int, int | None, str]] = []

    def __call__(self, done: int, *, total: int | None = None, text: str = "") -> None:
        self.moves.append((done, total, text))


async def test_the_bar_moves_by_numbers_whatever_the_message_says() -> None:
    bar = Bar()
    screen = RunProgress(bar, Terminal())
    words = conditions.not_current(Reason.REWRITING, "1 of 2 objects, or so")

    await screen.report(
        widgets(),
        words,
        PassProgress(phase="verifying", number=2, done=40, total=100, objects_per_second=812.4),
    )
    await screen.report(widgets(), conditions.not_current(Reason.PENDING, "7 of 9 objects wait"))

    assert bar.moves == [
        (40, 100, "widgets.example.com: verifying (pass 2), 812/s"),
        (40, None, "widgets.example.com: 7 of 9 objects wait"),
    ]


async def test_a_dry_run_claims_no_proof_and_the_end_of_a_run_leaves_room_for_the_bar() -> None:
    bar = Bar()
    proved = conditions.current(widgets(), objects=3)

    for is_dry in (True, False):
        screen = RunProgress(bar, Terminal(), is_dry=is_dry)
        await screen.report(widgets(), conditions.not_current(Reason.PENDING, "objects wait"))
        await screen.report(widgets(), proved, PassProgress(phase="rewriting"))
        await screen.report(widgets(), proved)

    assert [text for _, _, text in bar.moves] == [
        "widgets.example.com, dry run: Pending",
        "widgets.example.com, dry run: rewriting",
        "widgets.example.com, dry run: Verified",
        "widgets.example.com: objects wait",
        "widgets.example.com: rewriting",
        "widgets.example.com: Verified",
    ]


async def test_a_pass_that_has_just_begun_has_no_pace_and_long_messages_are_cut() -> None:
    bar = Bar()
    screen = RunProgress(bar, Terminal())

    await screen.report(widgets(), conditions.not_current(Reason.PENDING, "word " * 40))
    await screen.report(
        widgets(), conditions.not_current(Reason.REWRITING, ""), PassProgress(phase="rewriting")
    )

    (_, _, long), (_, _, begun) = bar.moves
    assert long.endswith(" ...")
    assert len(long) <= 60
    assert begun == "widgets.example.com: rewriting"
