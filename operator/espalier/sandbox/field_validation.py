"""
``fieldValidation=Strict``: refuse objects with fields that no schema specifies.

Source:
    apiserver, ``pkg/endpoints/handlers/create.go`` and ``patch.go``.
"""

from espalier.sandbox.calls import ObjectRequest
from espalier.sandbox.codecs import Codec
from espalier.sandbox.wire import Cause, Object, bad_request, invalid


def check_fields(codec: Codec, call: ObjectRequest, body: Object) -> None:
    """
    Check the body of a create or an update.

    Raises:
        Refusal: 400.
    """
    if text := _unknown_fields(codec, call, body):
        kind = codec.kind
        handled = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}'
        raise bad_request(f"{handled}: {text}")


def check_patched_fields(codec: Codec, call: ObjectRequest, new: Object) -> None:
    """
    Check an object as a patch makes it.

    Raises:
        Refusal: 422.
    """
    if text := _unknown_fields(codec, call, new):
        raise invalid("", "", "", [Cause("FieldValueInvalid", f"Invalid value: {text}", "patch")])


def _unknown_fields(codec: Codec, call: ObjectRequest, obj: Object) -> str:
    if call.options.get("fieldValidation") != "Strict":
        return ""
    unknown = ", ".join(f'unknown field "{path}"' for path in codec.undeclared(obj))
    return f"strict decoding error: {unknown}" if unknown else ""
