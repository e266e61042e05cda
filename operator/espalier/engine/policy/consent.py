"""
Consent to a loss: to exactly what was shown, by the digest that the condition prints.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from espalier.engine.policy.evidence import MORE_ITEMS
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
    """

    items: frozenset[str] = frozenset()

    @property
    def digest(self) -> str:
        """
        What a person repeats to consent; empty if nothing was shown.
        """
        if not self.items:
            return ""
        text = "\n".join(sorted(self.items))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST_LENGTH]

    def covers(self, items: Iterable[str]) -> bool:
        """
        Report whether all that one object would lose was shown.
        """
        return MORE_ITEMS not in (wanted := frozenset(items)) and wanted <= self.items


NOTHING_SHOWN = ShownLoss()


def is_digest(text: str) -> bool:
    """
    Report whether a text has the form of a digest.
    """
    return _DIGEST.fullmatch(text) is not None


def consented(text: str, shown: Iterable[ShownLoss]) -> ShownLoss:
    """
    Find what a digest stands for; nothing if it stands for nothing that was shown.
    """
    return next((each for each in shown if text and each.digest == text), NOTHING_SHOWN)


def render_shown(shown: ShownLoss) -> JSON:
    """
    Make the document of what was shown.
    """
    return [*sorted(shown.items)]


def read_shown(document: JSON) -> ShownLoss | None:
    """
    Read the document of what was shown; None if it is not of that form.
    """
    if not isinstance(document, list):
        return None
    items = frozenset(item for item in document if isinstance(item, str))
    return ShownLoss(items) if len(items) == len(document) else None
