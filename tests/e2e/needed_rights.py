"""
Why each right of the manifests is needed: what fails without it, and which test needs it.
"""

from typing import NamedTuple

EXTENSIONS = "apiextensions.k8s.io"
AUTHORIZATION = "authorization.k8s.io"
COORDINATION = "coordination.k8s.io"
MIGRATION = "storagemigration.k8s.io"

BY_CONDITION = "Forbidden"
"""The run stops before it writes: the condition has this reason, and names the resource."""

BY_REQUEST = "403"
"""The request is made, and refused: the audit log has it."""


class Need(NamedTuple):
    """
    One verb of one rule.

    Attributes:
        failure: How it shows that the verb is missing.
        work: What the operator is given to do: a definition of this kind.
        test: What fails without the verb, besides the test that takes each one away.
    """

    group: str
    resource: str
    verb: str
    failure: str
    work: str
    test: str


LEGACY, GRANTED_NOTHING, CONVERTED = "legacy", "granted nothing", "converted"

# In the order in which they are taken away: the first one while the operator starts, and the last
# one costs it its bucket.
NEEDS = (
    Need(
        EXTENSIONS,
        "customresourcedefinitions",
        "watch",
        BY_REQUEST,
        LEGACY,
        "tests/e2e/test_pausing.py::test_a_run_stops_within_a_second_of_the_label",
    ),
    Need(
        EXTENSIONS,
        "customresourcedefinitions",
        "list",
        BY_REQUEST,
        LEGACY,
        "tests/e2e/test_structural.py::test_the_condition_computed_is_the_servers",
    ),
    Need(
        EXTENSIONS,
        "customresourcedefinitions",
        "get",
        BY_REQUEST,
        LEGACY,
        "tests/e2e/test_migration.py"
        "::test_all_objects_move_to_the_new_storage_version_and_the_old_one_is_trimmed",
    ),
    Need(
        EXTENSIONS,
        "customresourcedefinitions/status",
        "patch",
        BY_REQUEST,
        LEGACY,
        "tests/e2e/test_structural.py::test_where_the_server_is_silent_espalier_says_the_same",
    ),
    Need(
        MIGRATION,
        "storageversionmigrations",
        "list",
        BY_REQUEST,
        LEGACY,
        "tests/engine/conversion/test_webhook.py::test_the_servers_own_migration_is_waited_for",
    ),
    Need(
        "",
        "namespaces",
        "list",
        BY_REQUEST,
        CONVERTED,
        "tests/engine/rewriting/test_canary.py"
        "::test_a_loss_that_only_later_namespaces_have_stops_the_run_at_the_first_one",
    ),
    Need(
        AUTHORIZATION,
        "selfsubjectaccessreviews",
        "create",
        BY_REQUEST,
        GRANTED_NOTHING,
        "tests/e2e/test_rights.py::test_roles_of_one_definition_are_enough_for_it_and_for_no_other",
    ),
    Need(
        AUTHORIZATION,
        "selfsubjectrulesreviews",
        "create",
        BY_REQUEST,
        LEGACY,
        "tests/e2e/test_survey_requests.py"
        "::test_twenty_definitions_are_surveyed_three_times_with_few_questions_about_rights",
    ),
    *(
        Need(
            "",
            "secrets",
            verb,
            BY_CONDITION,
            LEGACY,
            "tests/e2e/test_legacy.py"
            "::test_unknown_fields_are_pruned_into_the_archive_and_brought_back_on_demand",
        )
        for verb in ("create", "get", "list")
    ),
    *(
        Need(
            "",
            "configmaps",
            verb,
            # Without it the operator does not know whether it is paused, and writes no condition.
            BY_REQUEST if verb == "get" else BY_CONDITION,
            LEGACY,
            "tests/e2e/test_interruptions.py::test_a_run_survives_the_death_of_its_process",
        )
        for verb in ("create", "get", "update")
    ),
    Need(
        "",
        "events",
        "create",
        BY_REQUEST,
        LEGACY,
        "tests/cluster/resources/test_definitions.py::test_an_event_is_posted_on_the_definition",
    ),
    *(
        Need(
            COORDINATION,
            "leases",
            verb,
            BY_CONDITION if verb != "patch" else BY_REQUEST,
            LEGACY,
            "tests/e2e/test_replicas.py"
            "::test_each_definition_is_surveyed_written_and_reported_by_one_replica_alone",
        )
        for verb in ("create", "get", "patch")
    ),
)
