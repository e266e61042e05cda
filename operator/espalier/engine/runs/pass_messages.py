"""
A run's messages about a pass that did not prove what it was to prove.
"""

import re
from collections.abc import Iterable

from espalier.crd import Definition
from espalier.engine.listing.undecodable import NOT_IN_THE_DEFINITION
from espalier.engine.status.tally import Tally, describe_failures
from espalier.engine.status.text import enumerated
from espalier.plurals import counted

_MISSING_VERSION = re.compile(rf"stored at (\S+){NOT_IN_THE_DEFINITION}")


def failure_message(tally: Tally) -> str:
    """
    Describe the objects that could not be rewritten.
    """
    admission = f". {tally.admission}" if tally.admission else ""
    return (
        f"{counted(tally.failed, 'object')} of {tally.seen} could not be rewritten:"
        f" {describe_failures(tally.failures)}. storedVersions stays as it is;"
        f" the run is tried again{admission}"
    )


def unrest_message(tally: Tally, *, passes: int) -> str:
    """
    Describe the objects that had to be rewritten in each verify pass.
    """
    named = enumerated(map(str, sorted(tally.rewritten_first)), total=tally.rewritten)
    return (
        f"{passes} verify passes in a row found objects out of form, the last one"
        f" {counted(tally.rewritten, 'object')} ({named}): something keeps writing them so, such"
        " as an API server that still stores an older version, a GitOps tool, or clients of a"
        " version whose schema lacks a default of the storage version. storedVersions stays as it"
        " is; the run is tried again"
    )


def not_normal_message(definition: Definition, tally: Tally) -> str:
    """
    Describe objects that others keep writing out of normal form, though at the storage version.
    """
    version = definition.storage.name
    named = enumerated(map(str, sorted(tally.rewritten_first)), total=tally.rewritten)
    by = ""
    if tally.writers:
        writers = sorted(tally.writers, key=lambda name: (-tally.writers[name], name))
        by = f". Field managers that wrote them through another version: {enumerated(writers)}"
    return (
        f"all stored objects are at the storage version {version}, for generation"
        f" {definition.generation}; storedVersions: {version}. But something keeps writing"
        f" {counted(tally.rewritten, 'object')} of {tally.seen} out of normal form ({named}){by}."
        " API servers fill in the missing defaults whenever they read these objects; they are in"
        f" normal form once all clients write through {version}. The run is tried again"
    )


def expiry_message(*, passes: int) -> str:
    """
    Describe the lists of verify passes that went on with fresh continue tokens.
    """
    return (
        f"the continue token of a list expired during each of {passes} verify passes. A list that"
        " goes on with a fresh token proves nothing about what was listed before, since etcd may"
        " have been restored from a backup meanwhile. A pass must end before its list's revision"
        " is compacted, by default within 5 minutes (kube-apiserver --etcd-compaction-interval)."
        " storedVersions stays as it is; the run is tried again"
    )


def undecodable_message(tally: Tally) -> str:
    """
    Describe the objects that the server cannot read.
    """
    others = counted(tally.seen, "other object")
    text = (
        f"the API server cannot read {counted(len(tally.undecodable), 'object')}:"
        f" {enumerated(tally.undecodable)}. {_remedy(tally.undecodable)}; storedVersions stays as"
        f" it is. {others} looked at"
    )
    if tally.failed:
        return f"{text}, of which {tally.failed} failed: {describe_failures(tally.failures)}"
    return f"{text}, all in normal form" if not tally.rewritten else text


def proof_notes(last: Tally) -> tuple[str, ...]:
    """
    Describe how the objects were proved, if it was not by writing each of them again.
    """
    if not last.proved:
        return ()
    note = (
        f"{last.proved} of them were proved by the answers to their writes,"
        " the others were written again"
    )
    return (note,)


def _remedy(undecodable: Iterable[str]) -> str:
    found = {match[1] for name in undecodable for match in _MISSING_VERSION.finditer(name)}
    if not found:
        return "Repair or delete what is stored, in etcd if the API server does neither"
    versions = enumerated(sorted(found))
    return (
        f"Put {versions} back into spec.versions, with its schema of then and with served: true, so"
        " that what the storage version lacks is found; the run then rewrites these objects, and"
        " the version can be dropped again"
    )
