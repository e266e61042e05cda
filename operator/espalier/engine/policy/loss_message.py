"""
Messages about a loss: paths, versions, counts and names, and what a person may do.
"""

from collections.abc import Iterable, Mapping

from espalier import names
from espalier.crd import Definition
from espalier.engine.policy.consent import ShownLoss
from espalier.engine.policy.evidence import (
    GONE_VERSION,
    MORE_ITEMS,
    NO_MANAGED_FIELDS,
    NOT_SERVED,
    NOT_SHOWN,
    OWNED_AS_A_WHOLE,
    TAKES_LONG,
    UNCOMPARED,
)
from espalier.engine.policy.labels import PLAIN_ACCEPT
from espalier.engine.policy.version_evidence import PRESERVED, UNREADABLE_SCHEMA
from espalier.engine.status.tally import Tally
from espalier.engine.status.text import enumerated, printable
from espalier.plurals import counted

_UNPROVABLE: Mapping[str, str] = {
    NO_MANAGED_FIELDS: "what they hold cannot be known, since they have no managedFields",
    GONE_VERSION: (
        "what they hold cannot be known, since their managedFields name a version that is gone"
    ),
    UNREADABLE_SCHEMA: "what they hold cannot be known, since no schema can be read, of version",
    PRESERVED: "unknown fields were preserved before, and which are stored is unknown, at",
    OWNED_AS_A_WHOLE: "what it holds cannot be known, since it is owned as a whole:",
    NOT_SHOWN: "set once, and not shown any more, though it may be stored:",
    NOT_SERVED: (
        "what they hold cannot be known, since their managedFields name a version that is not"
        " served:"
    ),
    UNCOMPARED: "what they would lose cannot be known, since they cannot be read at both versions",
    TAKES_LONG: "what they would lose cannot be known, since it takes too long to compare them",
    "?lost-in-conversion": "lost when an object was written:",
    MORE_ITEMS: "more than can be named",
}

LOST_IN_CONVERSION = "?lost-in-conversion"
"""What an object had lost after its rewrite; the generation stands behind it, and then the path."""


def lost_items(paths: Iterable[str], *, generation: int) -> frozenset[str]:
    """
    Make of ``v1.spec.size`` what can be consented to, for one generation of the definition.
    """
    return frozenset(f"{LOST_IN_CONVERSION}@{generation} {path}" for path in paths)


def were_lost(items: Iterable[str], *, generation: int) -> bool:
    """
    Report whether what was shown is what objects had lost after a rewrite, for a generation.
    """
    return any(item.startswith(f"{LOST_IN_CONVERSION}@{generation} ") for item in items)


def conversion_loss_message(
    definition: Definition, shown: ShownLoss, *, key: str = "", before: int = 0, archive: str = ""
) -> str:
    """
    Describe what the rewrite of an object took from it, and how the run may go on.

    Args:
        key: The object's; empty if that is not known any more.
        before: How many objects were rewritten before it without such a loss.
        archive: Where the earlier views are.
    """
    paths = enumerated(_placed(item.partition(" ")[2]) for item in sorted(shown.items))
    what = f"the rewrite of {key} has" if key else "the rewrite of an object in an earlier run has"
    first = f"{what} removed from it what no comparison had shown before: {paths}"
    if key:
        others = counted(before, "other object")
        first += (
            f". {others[:1].upper()}{others[1:]} had been rewritten before it without such a loss."
            f" What each version showed of these objects is in the archive ({archive})"
        )
    label = f"kubectl label crd {definition.name} {names.LOSS}={shown.digest} --overwrite"
    return (
        f"{first}. No object is rewritten until the conversion webhook is repaired and the"
        " definition's spec changes, or until exactly this loss is consented to for all objects:"
        f" {label}"
    )


def describe_loss(item: str) -> str:
    """
    Describe what one object would lose: ``.spec.color at v1``.
    """
    if is_unprovable(item):
        kind, _, place = item.partition(" ")
        kind = kind.partition("@")[0]
        text = _UNPROVABLE.get(kind, kind)
        return f"{text} {_placed(place)}" if place else text
    return _placed(item)


def is_unprovable(item: str) -> bool:
    """
    Report whether an item is a reason why nothing can be proved, and not a field that is lost.
    """
    return item.startswith("?")


def would_lose_message(definition: Definition, tally: Tally, shown: ShownLoss) -> str:
    """
    Describe which objects were left alone, what they would lose, and how to consent to that.
    """
    left = tally.left_alone
    # What most objects would lose comes first.
    worst = sorted(tally.would_lose.items(), key=lambda one: (-one[1], one[0]))
    losses = enumerated(
        (f"{describe_loss(item)} ({counted(number, 'object')})" for item, number in worst),
        total=len(worst),
    )
    more = ", and more than are kept" if tally.is_loss_cut else ""
    others = tally.seen - left.count
    return (
        f"{counted(left.count, 'object')} of {tally.seen} left alone, since a rewrite would or"
        f" might remove: {losses}{more}. They are: {left}. {_rest(tally, others)}; storedVersions"
        f" stays as it is. {advice(definition, shown)}"
    )


def advice(definition: Definition, shown: ShownLoss) -> str:
    """
    Describe what a person may do: change the schema, or consent to exactly this loss.
    """
    label = f"kubectl label crd {definition.name} {names.LOSS}={shown.digest} --overwrite"
    plain = definition.labels.get(names.LOSS) == PLAIN_ACCEPT
    refused = f"{names.LOSS}={PLAIN_ACCEPT} consents to nothing. " if plain else ""
    keep = "Specify in the schema what is to be kept, or consent to exactly this loss"
    return f"{refused}{keep}: {label}"


def _rest(tally: Tally, others: int) -> str:
    if not others:
        return "Nothing was rewritten"
    done = f"{tally.rewritten} rewritten, {tally.unchanged} right already"
    return (
        f"Of the others, {done}, {tally.failed} failed"
        if tally.failed
        else (f"Of the others, {done}")
    )


def _placed(item: str) -> str:
    version, dot, path = item.partition(".")
    return f"{printable(f'.{path}')} at {version}" if dot else printable(version)
