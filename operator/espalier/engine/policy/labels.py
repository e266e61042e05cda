"""
What the labels and annotations of a definition ask for. Pure.
"""

import difflib
import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from espalier.crd import Definition
from espalier.engine.policy.windows import Window, read_window
from espalier.engine.status.text import MAX_NAMED, enumerated

PREFIX = "espalier.dev/"

STEPS = ("prune", "default", "migrate", "validate", "annotate")

_ALLOWED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "mode": ("observe", "enforce"),
        "loss": ("accept",),
        "managed-fields": ("keep", "clean"),
        "skip-owned": ("true", "false"),
    }
    | dict.fromkeys(STEPS, ("true", "false"))
)

PLACES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(_ALLOWED, "label") | dict.fromkeys(("window", "namespaces"), "annotation")
)
"""All keys that mean something on a definition, without their prefix, and where each must stand."""

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
        is_loss_accepted: Go on although stored data would be lost.
        left_out: The steps that are not to be done, of ``STEPS``.
        skips_owned: Leave objects alone that a GitOps controller manages.
        keeps_managed_fields: Do not clean entries of versions that are gone.
        window: When writing is allowed; None for always.
        namespaces: The only ones to work on; all if empty.
        mistakes: Sentences on labels and annotations that make no sense.
    """

    mode: Mode
    is_loss_accepted: bool = False
    left_out: frozenset[str] = frozenset()
    skips_owned: bool = False
    keeps_managed_fields: bool = False
    window: Window | None = None
    namespaces: tuple[str, ...] = ()
    mistakes: tuple[str, ...] = ()

    def does(self, step: str) -> bool:
        """
        Tell whether a step is to be done.
        """
        return step not in self.left_out


def read_policy(definition: Definition) -> Policy:
    """
    Read what a definition's labels and annotations ask for.

    Unknown keys and values are told, not guessed: who wrote ``skip_owned`` wants something left
    alone. Espalier itself writes neither labels nor annotations on definitions.
    """
    labels = {
        name: definition.labels[PREFIX + name]
        for name in _ALLOWED
        if PREFIX + name in definition.labels
    }
    mistakes = [
        f"the label {PREFIX}{name} may be {' or '.join(_ALLOWED[name])}"
        for name, value in labels.items()
        if value not in _ALLOWED[name]
    ]
    mistakes += _strangers("label", definition.labels)
    mistakes += _strangers("annotation", definition.annotations)
    mode = labels.get("mode")
    return Policy(
        mode={None: Mode.OFF, "enforce": Mode.ENFORCE}.get(mode, Mode.OBSERVE),
        is_loss_accepted=labels.get("loss") == "accept",
        left_out=frozenset(step for step in STEPS if labels.get(step) == "false"),
        skips_owned=labels.get("skip-owned") == "true",
        keeps_managed_fields=labels.get("managed-fields") == "keep",
        window=_read_window(definition, mistakes),
        namespaces=_read_namespaces(definition, mistakes),
        mistakes=tuple(mistakes),
    )


def _strangers(place: str, found: Mapping[str, str]) -> Iterator[str]:
    """
    Tell of Espalier's keys that say nothing where they stand.
    """
    names = sorted(key.removeprefix(PREFIX) for key in found if key.startswith(PREFIX))
    for name in names:
        if PLACES.get(name, place) != place:
            yield f"{PREFIX}{name} is no {place}: make it {_with_article(PLACES[name])}"
    unknown = [name for name in names if name not in PLACES]
    if unknown:
        # A definition may carry thousands of keys; to guess takes its time.
        named = (f"{PREFIX}{name}{_guess(name)}" for name in unknown[:MAX_NAMED])
        yield f"there is no {place} {enumerated(named, total=len(unknown))}"


def _guess(name: str) -> str:
    written = name.lower().replace("_", "-")
    for meant in difflib.get_close_matches(written, PLACES, n=1):
        return f" (is {_with_article(PLACES[meant])} {PREFIX}{meant} meant?)"
    return ""


def _with_article(place: str) -> str:
    return f"an {place}" if place == "annotation" else f"a {place}"


def _read_window(definition: Definition, mistakes: list[str]) -> Window | None:
    text = definition.annotations.get(PREFIX + "window")
    if text is None:
        return None
    window = read_window(text)
    if window is None:
        mistakes.append(f"the annotation {PREFIX}window must be like 22:00-06:00, in UTC")
    return window


def _read_namespaces(definition: Definition, mistakes: list[str]) -> tuple[str, ...]:
    text = definition.annotations.get(PREFIX + "namespaces")
    if text is None:
        return ()
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if not all(_NAMESPACE.fullmatch(name) for name in names):
        mistakes.append(f"the annotation {PREFIX}namespaces must be like a,b")
        return ()
    if not definition.namespaced:
        mistakes.append(
            f"the annotation {PREFIX}namespaces makes no sense: the objects are in no namespace"
        )
        return ()
    return names
