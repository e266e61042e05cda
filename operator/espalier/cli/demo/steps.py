"""
What a chapter of the demo is made of: steps, as data. ``playing`` acts them out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from espalier.paths import JSON


@dataclass(frozen=True, slots=True)
class Say:
    """
    Tell the reader something.
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
    Put a v1beta1 CustomResourceDefinition straight into etcd, as an upgraded cluster has it.

    Attributes:
        served: Whether its objects are to be used, so that this is waited for.
    """

    manifest: Mapping[str, JSON] = field(hash=False)
    served: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    """
    Create objects at a version, equal but for their names.

    Attributes:
        count: How many; they are numbered from 1.
    """

    version: str
    count: int
    spec: Mapping[str, JSON] = field(hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchDefinition:
    """
    Change the definition by a merge patch.

    Attributes:
        command: How a person would do it, for the reader.
    """

    patch: Mapping[str, JSON] = field(hash=False)
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Await:
    """
    Wait until a condition of the definition says this; all changes on the way are shown.

    Attributes:
        reason: None for any.
        mentions: A text that the message must hold.
    """

    type: str
    status: str
    reason: str | None = None
    mentions: str = ""


@dataclass(frozen=True, slots=True)
class Remember:
    """
    Read what etcd holds for the first object, to compare with later.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    """
    Show what became of the first object since it was remembered; fail unless that is as promised.

    Attributes:
        gone: Texts that must have stood in it before, and must not any more.
        came: Texts that must not have stood in it before, and must now.
        kept: Texts that must stand in it before and now.
    """

    gone: tuple[str, ...] = ()
    came: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Versions:
    """
    Show ``status.storedVersions``; fail unless it is this.
    """

    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Archived:
    """
    Show what the archive keeps; fail unless it has an entry for each object.
    """

    entries: int


Deed: TypeAlias = Define | Inherit | Plant | PatchDefinition | Await
Sight: TypeAlias = Say | Remember | Compare | Versions | Archived
Step: TypeAlias = Deed | Sight


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """
    One definition's story.

    Attributes:
        plural: Of the definition that it is about.
        outcome: What its end shows, for the summary.
    """

    title: str
    plural: str
    kind: str
    outcome: str
    steps: tuple[Step, ...]
