"""
From the paths that the API server names back to those in a v1 manifest.
"""

from espalier.paths import Path


def v1_path(path: Path) -> Path:
    """
    Turn the server's path of a finding into the path in a v1 manifest.

    What is the same in all versions is shown at the first of them.
    """
    match path:
        case ("spec", "validation", *rest):
            return ("spec", "versions", 0, "schema", *rest)
        case ("spec", "version", *rest):
            return ("spec", "versions", 0, "name", *rest)
        case ("spec", ("subresources" | "selectableFields") as own, *rest):
            return ("spec", "versions", 0, own, *rest)
        case ("spec", "additionalPrinterColumns", *rest):
            return ("spec", "versions", 0, "additionalPrinterColumns", *_column(rest))
        case ("spec", "versions", int() as index, "additionalPrinterColumns", *rest):
            return ("spec", "versions", index, "additionalPrinterColumns", *_column(rest))
        case ("spec", "conversion", "webhookClientConfig", *rest):
            return ("spec", "conversion", "webhook", "clientConfig", *rest)
        case ("spec", "conversion", "conversionReviewVersions", *rest):
            return ("spec", "conversion", "webhook", "conversionReviewVersions", *rest)
        case _:
            return path


def _column(steps: list[str | int]) -> list[str | int]:
    return ["jsonPath" if step == "JSONPath" else step for step in steps]
