"""
Conversion between versions: strategy, webhook, review versions.
"""

from collections.abc import Iterator
from urllib.parse import SplitResult, urlsplit

from espalier import schema
from espalier.crd import faults
from espalier.crd.fields import Fields
from espalier.crd.internal import Conversion
from espalier.crd.requirements import ACCEPTED_REVIEW_VERSIONS
from espalier.findings import FieldError
from espalier.paths import Path

_FORM = "; desired format: https://host[/path]"
_DEFAULT_PORT, _MAX_PORT = 443, 65535
PATH: Path = ("spec", "conversion")


def conversion_errors(
    conversion: Conversion, *, require_known_review_version: bool
) -> Iterator[FieldError]:
    """
    Find what is wrong with ``spec.conversion``, on the server's paths.

    The certificates of ``caBundle`` are not looked into.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``validateCustomResourceConversion``; apiserver, ``pkg/util/webhook/validation.go``.
    """
    strategy, below = conversion.strategy, (*PATH, "strategy")
    if not strategy:
        yield faults.required(below)
    elif strategy not in ("None", "Webhook"):
        yield faults.unsupported(below, strategy, ("None", "Webhook"))
    config, reviews = (*PATH, "webhookClientConfig"), (*PATH, "conversionReviewVersions")
    if strategy == "Webhook":
        if conversion.client_config is None:
            yield faults.required(config, "required when strategy is set to Webhook")
        else:
            yield from _client_config(conversion.client_config, config)
        yield from _review_versions(
            conversion.review_versions, reviews, require_known=require_known_review_version
        )
        return
    detail = "should not be set when strategy is not set to Webhook"
    if conversion.client_config is not None:
        yield faults.forbidden(config, detail)
    if conversion.review_versions:
        yield faults.forbidden(reviews, detail)


def _review_versions(
    versions: tuple[str, ...], path: Path, *, require_known: bool
) -> Iterator[FieldError]:
    if not versions:
        yield faults.required(path)
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield faults.invalid((*path, index), version, "duplicate version")
            continue
        for error in schema.dns1035_label_errors(version):
            yield faults.invalid((*path, index), version, error)
    if require_known and not any(version in ACCEPTED_REVIEW_VERSIONS for version in versions):
        detail = f"must include at least one of {', '.join(ACCEPTED_REVIEW_VERSIONS)}"
        yield faults.invalid(path, [*versions], detail)


def _client_config(config: Fields, path: Path) -> Iterator[FieldError]:
    url, service = config.optional_text("url"), config.object("service")
    if (url is None) == (service is None):
        yield faults.required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _url(url, (*path, "url"))
    elif service is not None:
        yield from _service(service, (*path, "service"))


def _url(url: str, path: Path) -> Iterator[FieldError]:
    try:
        parts: SplitResult = urlsplit(url)
        user = "" if parts.username is None else parts.netloc.rpartition("@")[0]
    except ValueError as error:
        yield faults.required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if parts.scheme != "https":
        detail = f"'https' is the only allowed URL scheme{_FORM}"
        yield faults.invalid(path, parts.scheme, detail)
    if not parts.netloc.rpartition("@")[2]:
        yield faults.invalid(path, "", f"host must be specified{_FORM}")
    if user:
        yield faults.invalid(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield faults.invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield faults.invalid(path, parts.query, "query parameters are not permitted in the URL")


def _service(service: Fields, path: Path) -> Iterator[FieldError]:
    # The server hands name and namespace over in each other's place, so that it says of the one
    # that it is missing when the other is.
    if not service.text("namespace"):
        yield faults.required((*path, "name"))
    if not service.text("name"):
        yield faults.required((*path, "namespace"))
    port = service.integer("port", default=_DEFAULT_PORT)
    if not 1 <= port <= _MAX_PORT:
        detail = f"port is not valid: must be between 1 and {_MAX_PORT}, inclusive"
        yield faults.invalid((*path, "port"), port, detail)
    served = service.optional_text("path")
    if served not in (None, "", "/"):
        yield from _service_path(str(served), (*path, "path"))


def _service_path(served: str, path: Path) -> Iterator[FieldError]:
    if served == "//":
        yield faults.invalid(path, served, "segment[0] may not be empty")
        return
    if not served.startswith("/"):
        yield faults.invalid(path, served, "must start with a '/'")
    for index, segment in enumerate(served[1:].removesuffix("/").split("/")):
        if not segment:
            yield faults.invalid(path, served, f"segment[{index}] may not be empty")
            continue
        for error in schema.dns1123_subdomain_errors(segment):
            yield faults.invalid(path, served, f"segment[{index}]: {error}")
