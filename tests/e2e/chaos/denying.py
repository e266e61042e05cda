"""
An admission policy that denies one object in a hundred for some time.
"""

import http
import time
from collections.abc import Mapping
from datetime import datetime

from tests.e2e.chaos.demanding import demand, insist
from tests.e2e.controlplane.api import MERGE_PATCH, ApiError
from tests.e2e.controlplane.auditing import Request
from tests.e2e.crds import Crd
from tests.e2e.operating import is_ours
from tests.patience import Deadline

API = "/apis/admissionregistration.k8s.io/v1"
POLICIES = f"{API}/validatingadmissionpolicies"
BINDINGS = f"{API}/validatingadmissionpolicybindings"
NAME = "chaos-denies-one-in-a-hundred"
SUFFIX = "77"
MESSAGE = "not this one"
IN_FORCE_SECONDS = 60.0
POLL_SECONDS = 0.2


class Denial:
    """
    The policy, and the objects that it denied.
    """

    def __init__(self, crd: Crd) -> None:
        self._crd = crd
        self._plane = crd.plane
        self.is_in_force = False

    def impose(self, name: str) -> None:
        """
        Create the policy, and wait until the server enforces it.

        Args:
            name: The name of a denied object, for a dry run.
        """
        rule = {
            "apiGroups": [self._crd.group],
            "apiVersions": ["*"],
            "resources": [self._crd.plural],
            "operations": ["UPDATE"],
        }
        validation = {
            "expression": f"!object.metadata.name.endsWith('{SUFFIX}')",
            "message": MESSAGE,
        }
        spec = {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [validation],
        }
        self._post(POLICIES, "ValidatingAdmissionPolicy", spec)
        binding = {"policyName": NAME, "validationActions": ["Deny"]}
        self._post(BINDINGS, "ValidatingAdmissionPolicyBinding", binding)
        deadline = Deadline(IN_FORCE_SECONDS)
        while not self._denies(name):
            demand(not deadline.has_passed(), "the policy never came into force")
            time.sleep(POLL_SECONDS)
        self.is_in_force = True

    def lift(self) -> None:
        """
        Delete the policy; retry until it is deleted.
        """
        insist(self._delete)
        self.is_in_force = False

    def check(self, living: set[str]) -> int:
        """
        Check that the operator was denied, and rewrote the denied objects later.

        Args:
            living: The objects that exist at the end.

        Returns:
            The number of denied writes of the operator.
        """
        ours = [r for r in self._plane.audit.requests() if self._is_write_of_ours(r)]
        denied = [r for r in ours if r.code == http.HTTPStatus.UNPROCESSABLE_ENTITY]
        demand(denied, "the operator was never turned away by the policy")
        lifted = self._lifted_at()
        done = {r.name for r in ours if r.code == http.HTTPStatus.OK and r.received > lifted}
        left = {r.name for r in denied} & living - done
        demand(not left, f"denied once, and never done afterwards: {sorted(left)[:5]}")
        return len(denied)

    def _is_write_of_ours(self, request: Request) -> bool:
        is_object = request.group == self._crd.group and request.name.endswith(SUFFIX)
        return is_object and is_ours(request) and request.is_mutating

    def _lifted_at(self) -> datetime:
        deletions = [
            request.answered
            for request in self._plane.audit.requests()
            if request.verb == "delete"
            and request.name == NAME
            and request.code < http.HTTPStatus.BAD_REQUEST
        ]
        demand(deletions, "the policy was never taken away")
        return max(deletions)

    def _delete(self) -> None:
        for path in (BINDINGS, POLICIES):
            self._plane.api.delete(f"{path}/{NAME}")

    def _denies(self, name: str) -> bool:
        path = f"{self._crd.objects_path('v1')}/{name}?dryRun=All"
        patch = {"metadata": {"labels": {"a": "b"}}}
        try:
            self._plane.api.call("PATCH", path, patch, content_type=MERGE_PATCH)
        except ApiError as error:
            return MESSAGE in error.message
        return False

    def _post(self, path: str, kind: str, spec: Mapping[str, object]) -> None:
        head = {"apiVersion": API.removeprefix("/apis/"), "kind": kind, "metadata": {"name": NAME}}
        self._plane.api.post(path, head | {"spec": spec})
