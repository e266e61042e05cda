"""
Check the conversion between versions: strategy, webhook, review versions.
"""

from binascii import b2a_base64
from collections.abc import Iterator

from espalier.crd.internal.client_config import ClientConfig, Service, ca_bundle_problem
from espalier.crd.internal.definition import Conversion
from espalier.crd.validation import errors as field_errors
from espalier.crd.validation.requirements import ACCEPTED_REVIEW_VERSIONS, Requirements
from espalier.findings import FieldError
from espalier.golang.names import dns1035_label_errors, dns1123_subdomain_errors
from espalier.golang.printing import Printed, quote
from espalier.golang.utf8 import to_valid_utf8
from espalier.paths import Path

_FORM = "; desired format: https://host[/path]"
_MAX_PORT = 65535
PATH: Path = ("spec", "conversion")


def conversion_errors(conversion: Conversion, requirements: Requirements) -> Iterator[FieldError]:
    """
    Yield the errors of ``spec.conversion``, with the server's paths.

    Source:
        apiextensions-apiserver, ``pkg/apis/apiextensions/validation/validation.go``,
        ``validateCustomResourceConversion``; apiserver, ``pkg/util/webhook/validation.go``.
    """
    strategy, below = conversion.strategy, (*PATH, "strategy")
    if not strategy:
        yield field_errors.required(below)
    elif strategy not in ("None", "Webhook"):
        yield field_errors.unsupported(below, strategy, ("None", "Webhook"))
    config, reviews = (*PATH, "webhookClientConfig"), (*PATH, "conversionReviewVersions")
    if strategy == "Webhook":
        if conversion.client_config is None:
            yield field_errors.required(config, "required when strategy is set to Webhook")
        else:
            yield from _client_config(conversion.client_config, config, requirements)
        yield from _review_versions(
            conversion.review_versions, reviews, require_known=requirements.known_review_version
        )
        return
    detail = "should not be set when strategy is not set to Webhook"
    if conversion.client_config is not None:
        yield field_errors.forbidden(config, detail)
    if conversion.review_versions:
        yield field_errors.forbidden(reviews, detail)


def _review_versions(
    versions: tuple[str, ...], path: Path, *, require_known: bool
) -> Iterator[FieldError]:
    if not versions:
        yield field_errors.required(path)
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield field_errors.invalid((*path, index), version, "duplicate version")
            continue
        for error in dns1035_label_errors(version):
            yield field_errors.invalid((*path, index), version, error)
    if require_known and not any(version in ACCEPTED_REVIEW_VERSIONS for version in versions):
        detail = f"must include at least one of {', '.join(ACCEPTED_REVIEW_VERSIONS)}"
        yield field_errors.invalid(path, [*versions], detail)


def _client_config(
    config: ClientConfig, path: Path, requirements: Requirements
) -> Iterator[FieldError]:
    if (config.url is None) == (config.service is None):
        yield field_errors.required(path, "exactly one of url or service is required")
    elif config.url is not None:
        yield from _url(config.url, (*path, "url"))
    elif config.service is not None:
        yield from _service(config.service, (*path, "service"))
    if config.ca_bundle and requirements.readable_ca_bundle:
        problem = ca_bundle_problem(config.ca_bundle)
        if problem:
            shown = b2a_base64(config.ca_bundle, newline=False).decode()
            yield field_errors.invalid((*path, "caBundle"), shown, problem)


def _url(text: str, path: Path) -> Iterator[FieldError]:
    from espalier.golang.urls import UrlError, parse_url  # noqa: PLC0415 - few have a URL

    try:
        url = parse_url(text)
    except UrlError as error:
        yield field_errors.required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if url.scheme != "https":
        detail = f"'https' is the only allowed URL scheme{_FORM}"
        yield field_errors.invalid(path, url.scheme, detail)
    if not url.host:
        yield field_errors.invalid(path, "", f"host must be specified{_FORM}")
    if url.user is not None:
        yield field_errors.invalid(path, url.user, "user information is not permitted in the URL")
    if url.fragment:
        yield field_errors.invalid(
            path, _printable(url.fragment), "fragments are not permitted in the URL"
        )
    if url.query:
        yield field_errors.invalid(path, url.query, "query parameters are not permitted in the URL")


def _printable(fragment: str) -> str:
    # An escape may stand for a byte that is no UTF-8, which the server prints as such.
    is_valid = to_valid_utf8(fragment) == fragment
    return fragment if is_valid else Printed(quote(fragment))


def _service(service: Service, path: Path) -> Iterator[FieldError]:
    # The server swaps the name and the namespace: it reports one as missing when the other is.
    if not service.namespace:
        yield field_errors.required((*path, "name"))
    if not service.name:
        yield field_errors.required((*path, "namespace"))
    if not 1 <= service.port <= _MAX_PORT:
        detail = f"port is not valid: must be between 1 and {_MAX_PORT}, inclusive"
        yield field_errors.invalid((*path, "port"), service.port, detail)
    if service.path not in (None, "", "/"):
        yield from _service_path(str(service.path), (*path, "path"))


def _service_path(served: str, path: Path) -> Iterator[FieldError]:
    if served == "//":
        yield field_errors.invalid(path, served, "segment[0] may not be empty")
        return
    if not served.startswith("/"):
        yield field_errors.invalid(path, served, "must start with a '/'")
    for index, segment in enumerate(served[1:].removesuffix("/").split("/")):
        if not segment:
            yield field_errors.invalid(path, served, f"segment[{index}] may not be empty")
            continue
        for error in dns1123_subdomain_errors(segment):
            yield field_errors.invalid(path, served, f"segment[{index}]: {error}")
