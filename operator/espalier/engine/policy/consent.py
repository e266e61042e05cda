"""
Consent to a loss: to exactly what was shown, by the digest that the condition prints.
"""

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from espalier.crd.definition import Definition
from espalier.crd.field_sets import is_path, specifies
from espalier.engine.policy.evidence import MORE_ITEMS
from espalier.engine.policy.version_evidence import structural_at
from espalier.paths import JSON

DIGEST_LENGTH = 16
"""How many hexadecimal digits a person copies."""

_DIGEST = re.compile(rf"[0-9a-f]{{{DIGEST_LENGTH}}}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ShownLoss:
    """
    What a condition has shown that a run would lose.

    Attributes:
        items: As ``espalier.engine.policy.evidence.Verdict`` has them.
        spent: How many consents were spent before: what is lost later has another digest, even if
            the same fields are.
    """

    items: frozenset[str] = frozenset()
    spent: int = 0

    @property
    def digest(self) -> str:
        """
        What a person repeats to consent; empty if nothing was shown.
        """
        if not self.items:
            return ""
        text = "\n".join([*sorted(self.items), *([f"{self.spent} spent"] if self.spent else [])])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_LENGTH]

    def covers(self, items: Iterable[str]) -> bool:
        """
        Report whether all that one object would lose was shown.
        """
        return MORE_ITEMS not in (wanted := frozenset(items)) and wanted <= self.items


NOTHING_SHOWN = ShownLoss()


def are_kept(definition: Definition, items: Collection[str]) -> bool:
    """
    Report whether any of these would not be lost any more, by the schemas of now.
    """
    storage = structural_at(definition, definition.storage.name)
    for item in items:
        name, dot, path = item.partition(".")
        structural = structural_at(definition, name) if dot and not item.startswith("?") else None
        if structural is None or not is_path(f".{path}"):
            continue
        if not specifies(structural, f".{path}"):
            continue
        if definition.conversion != "None" or specifies(storage, f".{path}"):
            return True
    return False


def after_both(shown: ShownLoss, accepted: ShownLoss) -> ShownLoss:
    """
    Begin anew when nothing of what was shown or consented to is lost any more, or was lost.

    A label with the digest may stay on the definition for years. What is lost later was never
    shown to the person who set it, even if it has the same name.
    """
    return ShownLoss(spent=shown.spent + bool(shown.items or accepted.items))


def is_digest(text: str) -> bool:
    """
    Report whether a text has the form of a digest.
    """
    return _DIGEST.fullmatch(text) is not None


def consented(text: str, shown: Iterable[ShownLoss]) -> ShownLoss:
    """
    Find what a digest stands for; nothing if it stands for nothing that was shown.
    """
    known = tuple(shown)
    spent = max((each.spent for each in known), default=0)
    return next((each for each in known if text and each.digest == text), ShownLoss(spent=spent))


def render_shown(shown: ShownLoss) -> JSON:
    """
    Make the document of what was shown.
    """
    return [*sorted(shown.items)]


def read_shown(document: JSON, *, spent: int = 0) -> ShownLoss | None:
    """
    Read the document of what was shown; None if it is not of that form.
    """
    items = read_texts(document)
    return None if items is None else ShownLoss(items, spent)


def read_texts(document: JSON) -> frozenset[str] | None:
    """
    Read a list of texts of which none occurs twice; None if it is not of that form.
    """
    if not isinstance(document, list):
        return None
    texts = frozenset(item for item in document if isinstance(item, str))
    return texts if len(texts) == len(document) else None
