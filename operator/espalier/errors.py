"""
The exceptions of Espalier. A class exists because a caller handles it differently.

::

    EspalierError                      the base class; never raised itself
    ├── DefinitionError                the CRD is not usable; a person must change it
    │   ├── MalformedDefinitionError   not a CRD, or a field of the wrong JSON type
    │   ├── NonStructuralSchemaError   carries the findings
    │   ├── NoStorageVersionError      carries the versions that are marked
    │   ├── NothingServedError         no version is served, so nothing can be read
    │   └── UnknownVersionError        carries the requested version and the existing ones
    ├── SchemaParseError               a schema that the API server cannot parse either
    ├── MalformedValueError            a value that the API server could not decode
    │   └── UnusableNameError          a name that cannot be part of a URL
    ├── SourceError                    a file or an input that could not be read
    ├── ConfigurationError             no usable kubeconfig, credentials or settings
    ├── ClusterError                   carries verb, resource, status, reason
    │   ├── TransientError             429, 5xx, timeouts, lost connections
    │   │   └── ConversionError        500; the conversion webhook does not answer as it must
    │   ├── ConflictError              409
    │   ├── NotFoundError              404
    │   ├── ExpiredTokenError          410; carries the fresh token
    │   ├── ForbiddenError             403, 401; a person must grant a permission
    │   ├── NamespaceGoneError         404, 403; the namespace is missing or terminating
    │   ├── UndecodableError           500; stored bytes that the server cannot read
    │   │   └── ConversionRefusedError 500; an object that the conversion webhook refuses
    │   └── RejectedError              every other 4xx, and what admission denies: no retry helps
    ├── DefinitionChangedError         the CRD changed during the run; start over
    ├── RunStoppedError                a run must stop; carries the condition's reason
    ├── ArchiveFullError               the fields to be removed cannot be archived
    └── LeaseLostError                 another process runs on this CRD now

They compare by identity, as exceptions do, and are not frozen: a frozen one breaks when it is
raised inside a context manager, since its ``__traceback__`` cannot be set.
"""

from collections.abc import Hashable
from http import HTTPStatus

from espalier.findings import FieldError
from espalier.golang.printing import aggregate
from espalier.paths import Path, render_path
from espalier.recorded_error import RecordedError


class EspalierError(RecordedError):
    """
    The base class of all errors that Espalier raises on purpose.
    """


class DefinitionError(EspalierError):
    """
    A CustomResourceDefinition does not allow the requested operation.
    """


class MalformedDefinitionError(DefinitionError):
    """
    A value is not a CustomResourceDefinition, or one of its fields has the wrong JSON type.
    """

    path: Path
    detail: str

    def __str__(self) -> str:
        return f"{render_path(self.path)}: {self.detail}" if self.path else self.detail


class NonStructuralSchemaError(DefinitionError):
    """
    A schema is not structural.
    """

    crd: str
    findings: tuple[FieldError, ...]

    def __str__(self) -> str:
        return f"{self.crd}: not structural: {aggregate(str(f) for f in self.findings)}"


class NoStorageVersionError(DefinitionError):
    """
    Not exactly one version is marked as the storage version.
    """

    crd: str
    marked: tuple[str, ...]

    def __str__(self) -> str:
        marked = ", ".join(self.marked) or "none"
        return f"{self.crd}: exactly one version must have storage: true, marked: {marked}"


class NothingServedError(DefinitionError):
    """
    No version is served through which objects could be read.
    """

    crd: str
    version: str

    def __str__(self) -> str:
        return f"{self.crd}: neither {self.version} nor another version is served"


class UnknownVersionError(DefinitionError):
    """
    The CustomResourceDefinition has no version of the requested name.
    """

    crd: str
    version: str
    versions: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.crd}: no version {self.version}; there are {', '.join(self.versions)}"


class SchemaParseError(EspalierError):
    """
    A schema has a part that the API server refuses to turn into a structural schema.

    Attributes:
        detail: The server's text.
    """

    detail: str

    def __str__(self) -> str:
        return self.detail


class MalformedValueError(EspalierError):
    """
    A value cannot be decoded as an object: its metadata, kind or apiVersion is malformed.

    Attributes:
        detail: The server's text.
        finding: The same error as a finding, if it has a path.
    """

    detail: str
    finding: FieldError | None = None

    def __str__(self) -> str:
        return self.detail


class UnusableNameError(MalformedValueError, ValueError):
    """
    A name cannot be a segment of a URL.
    """


class SourceError(EspalierError):
    """
    A file cannot be read, or holds no documents of the expected form.

    Attributes:
        source: The file's name as the user gave it, ``-`` for standard input.
        detail: What is wrong and what the user can do about it.
        line: One-based, if known.
    """

    source: str
    detail: str
    line: int | None = None

    def __str__(self) -> str:
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{where}: {self.detail}"


class ConfigurationError(EspalierError):
    """
    There is no usable kubeconfig, no credential, or a setting makes no sense.
    """

    detail: str

    def __str__(self) -> str:
        return self.detail


class ClusterError(EspalierError, kw_only=True):
    """
    The API server answered with an error, or did not answer.

    Attributes:
        verb: The attempted verb, as RBAC names it: get, list, watch, patch, update, create.
        resource: The resource, ``widgets.example.com``, with the object's name where it is known.
        status: The HTTP status, or 0 where no answer came.
        reason: The reason of the server's Status object, or the kind of failure.
        detail: The server's message; never an object's body.
    """

    verb: str
    resource: str
    status: int = 0
    reason: str = ""
    detail: str = ""

    def __str__(self) -> str:
        answer = f"{self.status} {self.reason}".strip() if self.status else self.reason
        text = f"{self.verb} {self.resource}: {answer}"
        return f"{text}: {self.detail}" if self.detail else text


class TransientError(ClusterError, kw_only=True):
    """
    The server was busy or did not answer; the same call may be repeated.
    """

    retry_after_seconds: float | None = None


class ConversionError(TransientError, kw_only=True):
    """
    The conversion webhook does not answer, or answers with an error; do not write now.
    """


class ConflictError(ClusterError, kw_only=True):
    """
    The object has another resource version by now; read it again.
    """


class NotFoundError(ClusterError, kw_only=True):
    """
    The object, or its whole resource, is gone.

    Attributes:
        is_object: Whether the answer is about the object itself. If not, its resource may not be
            served, or not by this server, and nothing is known about the object.
    """

    is_object: bool = False


class ExpiredTokenError(ClusterError, kw_only=True):
    """
    A continue token or a resource version is too old.

    Attributes:
        fresh_token: A token that continues the list at a newer resource version, if the server sent
            one.
    """

    fresh_token: str | None = None


class ForbiddenError(ClusterError, kw_only=True):
    """
    A permission is missing; a person must grant it.
    """


class NamespaceGoneError(ClusterError, kw_only=True):
    """
    The namespace of a new object does not exist, or is being deleted.

    Attributes:
        namespace: The name of the namespace.
    """

    namespace: str

    @property
    def is_terminating(self) -> bool:
        """
        Whether the namespace still exists.
        """
        return self.status != HTTPStatus.NOT_FOUND


class UndecodableError(ClusterError, kw_only=True):
    """
    The server cannot read what is stored; it answers 500, and a retry cannot help.

    Attributes:
        keys: The storage keys in the server's message: ``/GROUP/PLURAL/NAMESPACE/NAME``, without
            the namespace for cluster-scoped objects. Empty on servers whose message has none.
    """

    keys: tuple[str, ...] = ()


class ConversionRefusedError(UndecodableError, kw_only=True):
    """
    The conversion webhook answers, but does not convert an object, or converts it wrongly.

    The detail is the webhook's message. If the webhook does not answer, that is a
    ``ConversionError``.
    """


class RejectedError(ClusterError, kw_only=True):
    """
    The server refuses; a retry cannot help.

    Attributes:
        causes: The server's messages, one for each cause.
    """

    causes: tuple[str, ...] = ()


class DefinitionChangedError(EspalierError):
    """
    The CustomResourceDefinition changed while objects were being rewritten; start over.
    """

    crd: str
    detail: str

    def __str__(self) -> str:
        return f"{self.crd}: {self.detail}; start over"


class RunStoppedError(EspalierError):
    """
    A run must stop; nothing more is written.

    Attributes:
        reason: As in the condition ``espalier.dev/StoredObjectsCurrent``.
        detail: The condition's message.
    """

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


class ArchiveFullError(EspalierError):
    """
    The fields to be removed cannot be archived, so they must not be removed.

    Attributes:
        left: The keys of the objects that this is about, where others were archived; if empty,
            none was.
    """

    detail: str
    left: frozenset[Hashable] = frozenset()

    def __str__(self) -> str:
        return self.detail


class LeaseLostError(EspalierError):
    """
    Another process holds the lease of this CRD, or may take it now; stop immediately.

    Attributes:
        holder: The identity of the holder; empty if it is not known.
        free_in_seconds: How long until others may take the lease if it is not renewed; 0 if that is
            not known.
        detail: Why the lease is lost, if no other process holds it.
    """

    crd: str
    holder: str
    free_in_seconds: float = 0.0
    detail: str = ""

    def __str__(self) -> str:
        if self.detail:
            return f"{self.crd}: {self.detail}"
        return f"{self.crd}: {self.holder or 'another process'} holds the lease of this CRD"
