"""
The steps of a demo chapter, as data; ``player`` carries them out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from espalier.paths import JSON


@dataclass(frozen=True, slots=True)
class Say:
    """
    Print a paragraph of the story.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Define:
    """
    Create a CustomResourceDefinition through the API, and wait until it is served.
    """

    manifest: Mapping[str, JSON] = field(hash=False)


@dataclass(frozen=True, slots=True)
class Inherit:
    """
    Write a v1beta1 CustomResourceDefinition directly to etcd, as an upgraded cluster has it.

    Attributes:
        served: Whether to wait until its objects are served.
    """

    manifest: Mapping[str, JSON] = field(hash=False)
    served: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateObjects:
    """
    Create objects at a version; they differ only in their names.

    Attributes:
        count: The number of objects; their names are numbered from 1.
    """

    version: str
    count: int
    spec: Mapping[str, JSON] = field(hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchDefinition:
    """
    Change the definition with a merge patch.

    Attributes:
        command: The command that a person would type for it, to be printed.
    """

    patch: Mapping[str, JSON] = field(hash=False)
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Await:
    """
    Wait until a condition of the definition is reached; print every change until then.

    Attributes:
        reason: The expected reason; None accepts any.
        mentions: A text that the message must contain.
    """

    type: str
    status: str
    reason: str | None = None
    mentions: str = ""


@dataclass(frozen=True, slots=True)
class Remember:
    """
    Read the first object from etcd, to compare with later.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """
    Print how the first object in etcd has changed since ``Remember``; fail if that is unexpected.

    Attributes:
        gone: Texts that must be in it before, and not now.
        came: Texts that must be in it now, and not before.
        kept: Texts that must be in it before and now.
    """

    gone: tuple[str, ...] = ()
    came: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Versions:
    """
    Print ``status.storedVersions``; fail if it is not as expected.
    """

    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Archived:
    """
    Print the archive's entries; fail if their number is not as expected.
    """

    entries: int


Action: TypeAlias = Define | Inherit | CreateObjects | PatchDefinition | Await
Display: TypeAlias = Say | Remember | Compare | Versions | Archived
Step: TypeAlias = Action | Display


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """
    The story of one definition.

    Attributes:
        plural: The plural name of the definition's resource.
        outcome: One line for the summary.
    """

    title: str
    plural: str
    kind: str
    outcome: str
    steps: tuple[Step, ...]
