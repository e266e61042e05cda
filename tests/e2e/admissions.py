"""
Admission in tests: what is to be written is changed or refused.
"""

from collections.abc import Callable

from tests.e2e.controlplane.api import ApiError
from tests.e2e.crds import GROUP, Crd, Document, schema, version
from tests.e2e.waiting import eventually

API = "/apis/admissionregistration.k8s.io/v1"
SIZE = {"size": {"type": "integer"}}
VERSIONS = [version("v1alpha1", schema(SIZE)), version("v1", schema(SIZE))]

Post = Callable[[str, str, str, Document], str]


def flipped(crd: Crd, *names: str) -> None:
    crd.create(VERSIONS, storage="v1alpha1")
    crd.add("v1alpha1", *(crd.object("v1alpha1", name, spec={"size": 1}) for name in names))
    crd.set_versions(VERSIONS, storage="v1")


def rules(crd: Crd) -> list[Document]:
    return [
        {
            "apiGroups": [GROUP],
            "apiVersions": ["*"],
            "resources": [crd.plural],
            "operations": ["UPDATE"],
        }
    ]


def in_force(crd: Crd, name: str, holds: Callable[[Document], bool]) -> None:
    """
    Wait until a dry run shows that admission is in force.
    """

    def look() -> None:
        path = f"{crd.objects_path('v1')}/{name}?dryRun=All"
        try:
            seen = crd.plane.api.merge(path, {"metadata": {"labels": {"a": "b"}}})
        except ApiError as error:
            seen = {"refused": error.message}
        assert holds(seen), seen

    eventually(look)
