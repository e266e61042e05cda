"""
What the labels and annotations of a definition ask for. Pure.
"""

import difflib
import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from espalier import names
from espalier.crd import Definition
from espalier.engine.policy.consent import DIGEST_LENGTH, is_digest
from espalier.engine.policy.timestamps import seconds_of
from espalier.engine.policy.windows import Window, read_window
from espalier.engine.status.text import MAX_NAMED, enumerated

_ALLOWED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        names.MODE: ("observe", "enforce"),
        names.MANAGED_FIELDS: ("keep", "clean"),
        names.SKIP_OWNED: ("true", "false"),
    }
    | {names.step_label(step): ("true", "false") for step in names.STEPS}
)

PLACES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys((*_ALLOWED, names.LOSS), "label")
    | dict.fromkeys((names.WINDOW, names.NAMESPACES, names.RERUN_AT), "annotation")
)
"""All keys that mean something on a definition, and where each must stand."""

PLAIN_ACCEPT = "accept"
"""What earlier versions took as consent to any loss; it consents to nothing."""

# A DNS label, as the API server wants a namespace to be called.
_NAMESPACE = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)


class Mode(enum.Enum):
    """
    What the label ``espalier.dev/mode`` asks for.
    """

    OFF = "off"
    OBSERVE = "observe"
    ENFORCE = "enforce"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """
    What is asked for.

    Attributes:
        accepted_loss: The digest of what was shown that a run would lose, as consent to it;
            ``accept``, which earlier versions took, consents to nothing.
        left_out: The steps that are not to be done, of ``names.STEPS``.
        skips_owned: Leave objects alone that a GitOps controller manages.
        keeps_managed_fields: Do not clean entries of versions that are gone.
        window: When writing is allowed; None for always.
        namespaces: The only ones to work on; all if empty.
        rerun_at: The time at which a person asked for another run; empty if none did.
        mistakes: Sentences on labels and annotations that make no sense.
    """

    mode: Mode
    accepted_loss: str = ""
    left_out: frozenset[str] = frozenset()
    skips_owned: bool = False
    keeps_managed_fields: bool = False
    window: Window | None = None
    namespaces: tuple[str, ...] = ()
    rerun_at: str = ""
    mistakes: tuple[str, ...] = ()

    def does(self, step: str) -> bool:
        """
        Report whether a step is to be done.
        """
        return step not in self.left_out


def read_policy(definition: Definition) -> Policy:
    """
    Read what a definition's labels and annotations ask for.

    Unknown keys and values are reported, not ignored: a person who wrote ``skip_owned`` wants
    objects left alone. Espalier itself writes neither labels nor annotations on definitions.
    """
    labels = {key: definition.labels[key] for key in _ALLOWED if key in definition.labels}
    mistakes = [
        f"the label {key} may be {' or '.join(_ALLOWED[key])}"
        for key, value in labels.items()
        if value not in _ALLOWED[key]
    ]
    loss = definition.labels.get(names.LOSS, "")
    if loss and loss != PLAIN_ACCEPT and not is_digest(loss):
        mistakes.append(
            f"the label {names.LOSS} takes the digest that the condition prints"
            f" ({DIGEST_LENGTH} hexadecimal digits)"
        )
    mistakes += _strangers("label", definition.labels)
    mistakes += _strangers("annotation", definition.annotations)
    mode = labels.get(names.MODE)
    return Policy(
        mode={None: Mode.OFF, "enforce": Mode.ENFORCE}.get(mode, Mode.OBSERVE),
        accepted_loss=loss,
        left_out=frozenset(
            step for step in names.STEPS if labels.get(names.step_label(step)) == "false"
        ),
        skips_owned=labels.get(names.SKIP_OWNED) == "true",
        keeps_managed_fields=labels.get(names.MANAGED_FIELDS) == "keep",
        window=_read_window(definition, mistakes),
        namespaces=_read_namespaces(definition, mistakes),
        rerun_at=_read_rerun_at(definition, mistakes),
        mistakes=tuple(mistakes),
    )


def _strangers(place: str, found: Mapping[str, str]) -> Iterator[str]:
    """
    Report Espalier's keys that have no effect where they stand.
    """
    keys = sorted(key for key in found if key.startswith(names.PREFIX))
    for key in keys:
        if PLACES.get(key, place) != place:
            yield f"{key} is no {place}: make it {_with_article(PLACES[key])}"
    unknown = [key for key in keys if key not in PLACES]
    if unknown:
        # A definition may carry thousands of keys; to guess takes its time.
        named = (f"{key}{_guess(key)}" for key in unknown[:MAX_NAMED])
        yield f"there is no {place} {enumerated(named, total=len(unknown))}"


def _guess(key: str) -> str:
    written = key.removeprefix(names.PREFIX).lower().replace("_", "-")
    # By the names alone: the prefix, which all have, would make any two of them look alike.
    known = {each.removeprefix(names.PREFIX): each for each in PLACES}
    for name in difflib.get_close_matches(written, known, n=1):
        return f" (is {_with_article(PLACES[known[name]])} {known[name]} meant?)"
    return ""


def _with_article(place: str) -> str:
    return f"an {place}" if place == "annotation" else f"a {place}"


def _read_window(definition: Definition, mistakes: list[str]) -> Window | None:
    text = definition.annotations.get(names.WINDOW)
    if text is None:
        return None
    window = read_window(text)
    if window is None:
        mistakes.append(f"the annotation {names.WINDOW} must be like 22:00-06:00, in UTC")
    return window


def _read_rerun_at(definition: Definition, mistakes: list[str]) -> str:
    text = definition.annotations.get(names.RERUN_AT, "")
    if text and seconds_of(text) is None:
        mistakes.append(
            f"the annotation {names.RERUN_AT} must be a time in UTC, like 2027-01-31T12:00:00Z"
        )
        return ""
    return text


def _read_namespaces(definition: Definition, mistakes: list[str]) -> tuple[str, ...]:
    text = definition.annotations.get(names.NAMESPACES)
    if text is None:
        return ()
    namespaces = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if not all(_NAMESPACE.fullmatch(name) for name in namespaces):
        mistakes.append(f"the annotation {names.NAMESPACES} must be like a,b")
        return ()
    if not definition.namespaced:
        mistakes.append(
            f"the annotation {names.NAMESPACES} makes no sense: the objects are in no namespace"
        )
        return ()
    return namespaces
