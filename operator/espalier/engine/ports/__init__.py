"""
The world as the engine sees it: small protocols in the domain's terms, no client types.

``espalier.cluster`` implements them over HTTP, ``tests/fakes`` in memory. All calls are
coroutines that time out by themselves; what they raise is listed a protocol.
"""

from espalier.engine.ports.archive import (
    DAMAGES,
    Archive,
    ArchiveEntry,
    ArchivePage,
    ArchivePages,
    UnreadablePage,
)
from espalier.engine.ports.clock import Clock
from espalier.engine.ports.definitions import Definitions, Rights
from espalier.engine.ports.objects import Objects
from espalier.engine.ports.progress import PassProgress
from espalier.engine.ports.records import (
    Endpoint,
    MetadataPage,
    ObjectKey,
    ObjectPage,
    StoredMetadata,
    WatchEvent,
    WritePermit,
    key_of,
    resource_of,
)
from espalier.engine.ports.reporter import Reporter
from espalier.engine.ports.shards import MAX_PARTS, HashRange, Part, read_part
from espalier.engine.ports.state import Checkpoints, Leases
from espalier.engine.ports.workers import Computation, NotComputed, Workers, WorkItem

__all__ = [
    "DAMAGES",
    "MAX_PARTS",
    "Archive",
    "ArchiveEntry",
    "ArchivePage",
    "ArchivePages",
    "Checkpoints",
    "Clock",
    "Computation",
    "Definitions",
    "Endpoint",
    "HashRange",
    "Leases",
    "MetadataPage",
    "NotComputed",
    "ObjectKey",
    "ObjectPage",
    "Objects",
    "Part",
    "PassProgress",
    "Reporter",
    "Rights",
    "StoredMetadata",
    "UnreadablePage",
    "WatchEvent",
    "WorkItem",
    "Workers",
    "WritePermit",
    "key_of",
    "read_part",
    "resource_of",
]
