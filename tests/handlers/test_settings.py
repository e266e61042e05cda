from dataclasses import fields

import pytest

from espalier.errors import ConfigurationError
from espalier.handlers.settings import Settings, read_settings


def test_without_an_environment_the_defaults_hold() -> None:
    assert read_settings({}) == Settings()


def test_every_setting_can_be_given_by_the_environment() -> None:
    environment = {
        "ESPALIER_NAMESPACE": "elsewhere",
        "ESPALIER_SETTLE_SECONDS": "1.5",
        "ESPALIER_PAGE_SIZE": "20",
        "ESPALIER_MAX_IN_FLIGHT": "3",
        "ESPALIER_MAX_BYTES_PER_SECOND": "65536",
        "ESPALIER_MAX_WRITES_PER_SECOND": "8.5",
        "ESPALIER_MAX_RUNS": "2",
        "ESPALIER_LEASE_SECONDS": "8",
        "ESPALIER_BUCKETS": "4",
        "ESPALIER_STRUCTURAL": "off",
        "ESPALIER_STRUCTURAL_GRACE_SECONDS": "5",
        "ESPALIER_PROGRESS_SECONDS": "6",
        "ESPALIER_RESYNC_SECONDS": "7",
        "ESPALIER_RESURVEY_SECONDS": "9",
        "ESPALIER_SURVEY_PERCENT": "2.5",
        "ESPALIER_ARCHIVE_MAX_BYTES": "4096",
        "ESPALIER_WORKER_PROCESSES": "1",
        "ESPALIER_OBJECT_DEADLINE_SECONDS": "2.5",
        "ESPALIER_PROBE_PORT": "8080",
        "ESPALIER_METRICS_PORT": "8081",
        "ESPALIER_PAGE_PORT": "8082",
        "ESPALIER_PAGE_WITHOUT_ACCESS_CONTROL": "yes",
        "ESPALIER_PAGE_MESSAGES": "yes",
        "ESPALIER_REPORT": "no",
        "ESPALIER_REPORT_MESSAGES": "1",
        "ESPALIER_READ_ONLY": "true",
        "ESPALIER_PAUSE": "true",
        "UNRELATED": "x",
    }
    assert {f"ESPALIER_{field.name.upper()}" for field in fields(Settings)} == set(environment) - {
        "UNRELATED"
    }

    assert read_settings(environment) == Settings(
        namespace="elsewhere",
        settle_seconds=1.5,
        page_size=20,
        max_in_flight=3,
        max_bytes_per_second=65_536,
        max_writes_per_second=8.5,
        max_runs=2,
        lease_seconds=8,
        buckets=4,
        structural=False,
        structural_grace_seconds=5,
        progress_seconds=6,
        resync_seconds=7,
        resurvey_seconds=9,
        survey_percent=2.5,
        archive_max_bytes=4096,
        worker_processes=1,
        object_deadline_seconds=2.5,
        probe_port=8080,
        metrics_port=8081,
        page_port=8082,
        page_without_access_control=True,
        page_messages=True,
        report=False,
        report_messages=True,
        read_only=True,
        pause=True,
    )


def test_flags_win_over_the_environment_and_absent_flags_do_not() -> None:
    settings = read_settings(
        {"ESPALIER_PAGE_SIZE": "20", "ESPALIER_MAX_RUNS": "2"},
        {"page_size": 30, "max_runs": None},
    )

    assert (settings.page_size, settings.max_runs) == (30, 2)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("PAGE_SIZE", "many", "ESPALIER_PAGE_SIZE: 'many' is no whole number"),
        ("PAGE_SIZE", "1.5", "ESPALIER_PAGE_SIZE: '1.5' is no whole number"),
        ("PAGE_SIZE", "0", "page_size: 0 is not between 1 and 10000"),
        ("SETTLE_SECONDS", "soon", "ESPALIER_SETTLE_SECONDS: 'soon' is no number of seconds"),
        ("SURVEY_PERCENT", "most", "ESPALIER_SURVEY_PERCENT: 'most' is no number"),
        ("SETTLE_SECONDS", "nan", "ESPALIER_SETTLE_SECONDS: 'nan' is no number of seconds"),
        ("SETTLE_SECONDS", "inf", "ESPALIER_SETTLE_SECONDS: 'inf' is no number of seconds"),
        ("SETTLE_SECONDS", "-1", "settle_seconds: -1.0 is not between 0 and 3600"),
        ("READ_ONLY", "perhaps", "ESPALIER_READ_ONLY: 'perhaps' is neither true nor false"),
        ("NAMESPACE", "", "namespace: must not be empty"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_in_one_line(
    name: str, text: str, said: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_settings({f"ESPALIER_{name}": text})

    assert str(refused.value) == said
