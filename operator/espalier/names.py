"""
What Espalier's things are called in a cluster: labels, annotations, conditions, field managers.

Each name stands here once. Users see them, so none is ever changed.
"""

PREFIX = "espalier.dev/"
"""Of all labels and annotations on definitions and objects."""

OPERATOR_NAMESPACE = "espalier-system"
"""Where an operator keeps its data, unless it is given another namespace."""

ENVIRONMENT_PREFIX = "ESPALIER_"
"""Every setting may be given as an environment variable: this, and its name in capitals."""

# Labels on definitions.
MODE = f"{PREFIX}mode"
LOSS = f"{PREFIX}loss"
MANAGED_FIELDS = f"{PREFIX}managed-fields"
SKIP_OWNED = f"{PREFIX}skip-owned"
STEPS = ("prune", "default", "migrate", "validate", "annotate")
"""The steps of a run; a label of the same name leaves each out."""

# Annotations on definitions.
WINDOW = f"{PREFIX}window"
NAMESPACES = f"{PREFIX}namespaces"
RERUN_AT = f"{PREFIX}rerun-at"
"""A time; each new one has all objects rewritten and proved once more."""

# Annotations on objects.
SCHEMA_VIOLATIONS = f"{PREFIX}schema-violations"

# Labels and annotations on what Espalier creates.
MANAGED_BY = {"app.kubernetes.io/managed-by": "espalier"}
COMPONENT = "app.kubernetes.io/component"
CRD = f"{PREFIX}crd"
CRD_UID = f"{PREFIX}crd-uid"
CRD_HASH = f"{PREFIX}crd-hash"
SEQUENCE = f"{PREFIX}sequence"
PART = f"{PREFIX}part"
PARTS = f"{PREFIX}parts"
SHA256 = f"{PREFIX}sha256"
BYTES = f"{PREFIX}bytes"
CREATED = f"{PREFIX}created"
OBJECTS = f"{PREFIX}objects"
ENTRIES = f"{PREFIX}entries"

SECRET_TYPE = f"{PREFIX}archive"
NEVER_USED_FINALIZER = f"{PREFIX}never-used"
"""A name that no object carries: Kopf takes *its* finalizer off whatever it watches."""

AGGREGATION_LABEL = "rbac.espalier.dev/aggregate-to-operator"
"""On ClusterRoles whose rules the operator is to have."""

OUTPUT_API_VERSION = "cli.espalier.dev/v1alpha1"
"""Of the documents that the command line writes."""

# Conditions that Espalier writes.
STORED_OBJECTS_CURRENT = f"{PREFIX}StoredObjectsCurrent"
STORED_OBJECTS_VALID = f"{PREFIX}StoredObjectsValid"
RECORD = f"{PREFIX}Record"
"""Names where the record of what the schemas have specified is kept, and its digest."""

# Conditions that a cluster has of its own.
NON_STRUCTURAL_SCHEMA = "NonStructuralSchema"
"""Written by Espalier too, where no API server does."""

ESTABLISHED = "Established"
NAMES_ACCEPTED = "NamesAccepted"
NAMES_ACCEPTED = "NamesAccepted"
STORAGE_MIGRATING = "StorageMigrating"
"""Set on definitions by kube-controller-manager."""

FIELD_MANAGER = "espalier"
"""Owns what Espalier writes; an apply that names fewer conditions takes the others away."""

RECORD_FIELD_MANAGER = "espalier-record"
"""Owns the condition ``Record``, which outlives the others."""

STRUCTURAL_FIELD_MANAGER = "espalier-structural"
"""Owns the condition ``NonStructuralSchema`` where Espalier writes it."""


def step_label(step: str) -> str:
    """
    The label that leaves a step out.
    """
    return PREFIX + step


OLDEST_MINOR, NEWEST_MINOR = 25, 37
"""The minor versions of API servers that are known; all of them have rules by default."""

RATCHETING_MINOR = 30
"""The minor version of API servers since which old values are tolerated in updates."""
