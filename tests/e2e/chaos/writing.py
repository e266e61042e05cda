"""
Writers that constantly create, edit and delete objects, and record the expected state.
"""

import http.client
import random
import time
from typing import Any

from tests.e2e.chaos.repeating import Repeating
from tests.e2e.controlplane.api import ApiError
from tests.e2e.crds import Crd

VERSIONS = ("v1alpha1", "v1")
REFUSED = frozenset({403, 422})
PAUSE_SECONDS = 0.1
AWAY_SECONDS = 0.5


class Writer(Repeating):
    """
    One writer, with objects of its own.

    Attributes:
        expected: The expected value of each object; None for deleted objects.
        writes: The number of confirmed writes.
        refused: The number of writes that admission denied.
    """

    def __init__(self, crd: Crd, names: list[str], *, seed: int) -> None:
        super().__init__(pause_seconds=PAUSE_SECONDS)
        self._crd = crd
        self._chance = random.Random(seed)  # noqa: S311 - no secret
        self._created = 0
        self._prefix = names[0]
        self.expected: dict[str, int | None] = dict.fromkeys(names, 0)
        self.writes = 0
        self.refused = 0

    def _step(self) -> None:
        version = self._chance.choice(VERSIONS)
        value = self._chance.randrange(1, 1_000_000)
        living = [name for name, held in self.expected.items() if held is not None]
        what = self._chance.choices(("create", "edit", "delete"), (1, 8, 1))[0]
        match what if living else "create":
            case "create":
                self._created += 1
                name = f"{self._prefix}-n{self._created:05}"
                body = self._crd.object(version, name, spec={"value": value})
                self._settle(name, value, "POST", self._crd.objects_path(version), body)
            case "edit":
                name = self._chance.choice(living)
                path = f"{self._crd.objects_path(version)}/{name}"
                self._settle(name, value, "PATCH", path, {"spec": {"value": value}})
            case _:
                name = self._chance.choice(living)
                path = f"{self._crd.objects_path(version)}/{name}"
                self._settle(name, None, "DELETE", path, None)

    def _settle(
        self, name: str, value: int | None, method: str, path: str, body: dict[str, Any] | None
    ) -> None:
        """
        Make a request; after an error, read the object to learn whether it was carried out.
        """
        options = {"content_type": "application/merge-patch+json"} if method == "PATCH" else {}
        try:
            self._crd.plane.api.call(method, path, body, **options)
        except ApiError as error:
            self.refused += error.status in REFUSED
        except (OSError, http.client.HTTPException):
            pass
        else:
            self.writes += 1
            self.expected[name] = value
            return
        # The request may have been carried out: the present state is the expected one.
        found = self._read(name)
        if name in self.expected or found is not None:
            self.expected[name] = found

    def _read(self, name: str) -> int | None:
        while True:
            try:
                found = self._crd.plane.api.find(f"{self._crd.objects_path('v1')}/{name}")
            except (ApiError, OSError, http.client.HTTPException):
                time.sleep(AWAY_SECONDS)
                continue
            return None if found is None else int(found["spec"]["value"])
