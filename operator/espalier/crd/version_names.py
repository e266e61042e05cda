"""
The order of the names of versions: v1alpha1, v1beta1, v1, v2.
"""

_RANKS = ("alpha", "beta", "")


def version_priority(name: str) -> tuple[int, int, int, str]:
    """
    Return what versions of a group are ordered by; the one that servers prefer is the greatest.

    Names that are no Kubernetes version come last, and rise with the alphabet; servers have these
    in the opposite order.

    Source:
        apimachinery, ``pkg/version/helpers.go``, ``CompareKubeAwareVersionStrings``.
    """
    stem, rank = name.removeprefix("v"), len(_RANKS)
    major, minor = stem, "0"
    for index, stage in enumerate(_RANKS):
        if stage and stage in stem:
            major, _, minor = stem.partition(stage)
            rank = index
    if not (major.isdigit() and minor.isdigit()):
        return -1, 0, 0, name
    return rank, int(major), int(minor), name
