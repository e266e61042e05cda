"""
Convert the API server's paths of findings into paths in a manifest.
"""

from espalier.paths import JSON, Path


def v1_path(path: Path) -> Path:
    """
    Convert the server's path of a finding into the path in a v1 manifest.

    A field that is equal in all versions has the path in the first version.
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


def path_in_manifest(path: Path, manifest: JSON) -> Path:
    """
    Convert a path of a v1 manifest into the path in the given manifest, which may be v1beta1.

    A v1beta1 manifest may have the schema and other fields above the versions, and the fields of
    the conversion directly in ``conversion``.
    """
    match manifest:
        case {"apiVersion": "apiextensions.k8s.io/v1beta1", "spec": dict(spec)}:
            return _beta_path(path, spec)
        case _:
            return path


def _beta_path(path: Path, spec: dict[str, JSON]) -> Path:
    match path:
        case ("spec", "versions", int(index), str(own), *rest) if not _has(spec, index, own):
            name = {"schema": "validation", "name": "version"}.get(own, own)
            return ("spec", name, *_beta_column(own, rest)) if name in spec else path
        case ("spec", "versions", int(index), str(own), *rest):
            return ("spec", "versions", index, own, *_beta_column(own, rest))
        case ("spec", "conversion", "webhook", "clientConfig", *rest):
            return ("spec", "conversion", "webhookClientConfig", *rest)
        case ("spec", "conversion", "webhook", *rest):
            return ("spec", "conversion", *rest)
        case _:
            return path


def _has(spec: dict[str, JSON], index: int, own: str) -> bool:
    versions = spec.get("versions")
    version = versions[index] if isinstance(versions, list) and index < len(versions) else None
    return isinstance(version, dict) and version.get(own) is not None


def _beta_column(own: str, rest: list[str | int]) -> list[str | int]:
    if own != "additionalPrinterColumns":
        return rest
    return ["JSONPath" if step == "jsonPath" else step for step in rest]
