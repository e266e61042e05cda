"""
By which schema objects are judged for a plan, where a webhook converts.
"""

from espalier import crd
from espalier.crd import Definition
from espalier.engine.surveys.forecast import forecast_of


def definition(
    storage: str, *names: str, webhook: bool = False, stored: tuple[str, ...] = ()
) -> Definition:
    return crd.read_definition(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "logs.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "logs", "kind": "Log"},
                "conversion": {"strategy": "Webhook" if webhook else "None"},
                "versions": [
                    {"name": name, "served": True, "storage": name == storage} for name in names
                ],
            },
            "status": {"storedVersions": list(stored)},
        }
    )


def test_without_a_webhook_objects_are_held_to_the_new_storage_version() -> None:
    candidate = definition("v2", "v1", "v2")

    forecast = forecast_of(definition("v1", "v1", stored=("v1",)), candidate)

    assert forecast.candidate == candidate
    assert forecast.unjudged == ()


def test_behind_a_new_webhook_objects_are_judged_as_they_are_stored() -> None:
    live = definition("v1", "v1", stored=("v1",))

    forecast = forecast_of(live, definition("v2", "v1", "v2", webhook=True))

    assert forecast.candidate is not None
    assert forecast.candidate.storage.name == "v1"
    assert "what it makes of them at v2 was not judged" in forecast.unjudged[0]


def test_a_version_that_todays_webhook_shows_is_read_through_it() -> None:
    live = definition("v1", "v1", "v2", webhook=True, stored=("v1",))
    candidate = definition("v2", "v1", "v2", webhook=True)

    forecast = forecast_of(live, candidate)

    assert forecast.definition.storage.name == "v2"
    assert forecast.candidate == candidate
    assert "as today's webhook converts them" in forecast.unjudged[0]


def test_a_storage_version_that_is_dropped_behind_a_webhook_leaves_nothing_to_judge() -> None:
    live = definition("v1", "v1", stored=("v1",))

    forecast = forecast_of(live, definition("v2", "v2", webhook=True))

    assert forecast.candidate is None
    assert "no object was judged" in forecast.unjudged[0]


def test_a_webhook_that_goes_or_comes_leaves_what_is_stored_elsewhere_unjudged() -> None:
    plain = definition("v2", "v1", "v2", stored=("v1", "v2"))
    converted = definition("v2", "v1", "v2", webhook=True, stored=("v1", "v2"))

    assert "is dropped" in forecast_of(converted, plain).unjudged[0]
    assert "the new webhook" in forecast_of(plain, converted).unjudged[0]
    assert forecast_of(converted, converted).unjudged == ()


def test_a_webhook_that_goes_is_no_matter_where_all_is_stored_at_one_version() -> None:
    live = definition("v2", "v1", "v2", webhook=True, stored=("v2",))

    assert forecast_of(live, definition("v2", "v1", "v2")).unjudged == ()
