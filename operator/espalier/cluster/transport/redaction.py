"""
Remove the values of objects from the API server's error messages. Pure.

Values of an object must not appear in conditions, Events and logs, but the rest of an error message
must: it explains what to do. Field errors have their value at a known position. The message of a
webhook or a policy has no fixed form; the usual forms are recognised: a field error, a quoted text
after words such as ``got``, and a whole object as JSON or as Go prints it.

Source:
    apimachinery, ``pkg/util/validation/field/errors.go``, ``ErrorBody``; kube-openapi,
    ``pkg/validation/errors/schema.go``; the messages of Go's own parsers about a text.
"""

import json
import re

from espalier.engine.status.text import cut_in_the_middle, printable
from espalier.findings import ErrorType

_GO_STRING = r'"(?:[^"\\]|\\.)*"'
# A message about a wrong type has only the type; one about a wrong format has the value.
_NAMES = "array|boolean|integer|null|number|object|string"
_TYPE = f'"(?:{_NAMES})"'
_BEGINNING = re.compile(
    r"(?P<field>\b(?:(?:Invalid|Unsupported|Duplicate) value: |Not found: (?=\")))"
    r"|(?P<quoted>(?i:\b(?:got|value|found|was|pars(?:e|ing)(?: time)?|duration|unit"
    rf"|Parse(?:Addr|Prefix))\b[:=(]? ?)|must be of type [^\s:]+: (?!{_TYPE})){_GO_STRING}"
    r"|(?P<bare>unexpected GroupVersion string: |invalid CIDR address: )"
    r'|(?P<json>\{"(?:[^"\\]|\\.)*": ?)'
    r"|(?P<go>\bmap\[|\[\]interface ?\{\}\{)"
)
_COLON = ": "
_SIMPLE = re.compile(rf"{_GO_STRING}|-?(?:\d[\d.eE+-]*|\+?Inf\b)|NaN\b|<nil>|(?:true|false|null)\b")
_COMPOSITE = re.compile(r"[\"\[{}&(*]|map\[|[\w.]+\{")
_WORD = re.compile(r"[^\s:]+(?=: )")
# What may follow the end of a value.
_AFTER = re.compile(r"$|: |[,;\])\n]")
_BRACKET = re.compile(r"[\[\]{}]")
_CLOSING = {"[": "]", "{": "}"}

_LEFT_OUT = "..."

_KIND = re.compile(rf"(?:{'|'.join(re.escape(kind.value.strip()) for kind in ErrorType)})(?=:|$)")
# The API server's own texts, of the schema's keywords and of what it does itself.
_OF_SCHEMA = re.compile(
    r"should be (?:less|greater) than(?: or equal to)? -?\d[\d.e+-]*"
    r"|should be a multiple of -?\d[\d.e+-]*"
    r"|should be at (?:least|most) \d+ chars long"
    r"|should have at (?:least|most) \d+ (?:items|properties)"
    rf"|must be of type (?:{_NAMES})(?:,(?:{_NAMES}))*(?:: {_TYPE})?"
    r"|may not be (?:more|longer) than \d+(?: bytes)?"
    r"|(?:\d+: )?must have at most \d+ items"
    r"|field is immutable"
    r"|some validation rules were not checked because [a-z;. ]+"
)


def without_values(text: str) -> str:
    """
    Return a message without the values that can be recognised in it.

    If the end of a value is not clear, everything after its start is removed.
    """
    parts: list[str] = []
    at = 0
    while (found := _BEGINNING.search(text, at)) is not None:
        parts.append(text[at : found.start()])
        if found["field"] is not None:
            parts.append(found["field"].removesuffix(_COLON))
            end = _end_of_field_value(text, found.end())
        elif found["quoted"] is not None:
            parts.append(f'{found["quoted"]}"{_LEFT_OUT}"')
            end = found.end()
        elif found["bare"] is not None:
            # The value has no quotes, so its end is not known.
            parts.append(f"{found['bare']}{_LEFT_OUT}")
            end = None
        elif found["json"] is not None:
            parts.append(_LEFT_OUT)
            end = _end_of_json(text, found.start())
        else:
            parts.append(_LEFT_OUT)
            end = _end_of_brackets(text, found.end() - 1)
        if end is None:
            return "".join(parts)
        at = end
    return "".join((*parts, text[at:]))


def place_of(field: str, message: str, *, reason: str) -> str:
    """
    Write a field error as its place and kind, with what the schema itself asks for.

    What else a text says may be a ``messageExpression``'s, made of the object's values.

    Args:
        field: The path; may be empty.
        message: The server's text, which begins with the kind.
        reason: Stands for a kind that is not known.
    """
    text = on_one_line(without_values(message))
    found = _KIND.match(text)
    kind = found[0] if found else reason
    rest = text[found.end() :].removeprefix(_COLON) if found else ""
    of_schema = rest.removeprefix(f"{field} in body ")
    is_of_schema = kind == ErrorType.NOT_SUPPORTED.value or _OF_SCHEMA.fullmatch(of_schema)
    shown = f"{kind}: {rest}" if rest and is_of_schema else kind
    return f"{printable(field)}: {shown}" if field else shown


def on_one_line(text: str) -> str:
    """
    Return a text as one line, without control characters and changes of writing direction.
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def shortened(text: str, length: int) -> str:
    """
    Return a text of at most ``length`` characters; ``...`` in its middle marks a cut.
    """
    return cut_in_the_middle(text, length)


def _end_of_field_value(text: str, start: int) -> int | None:
    simple = _SIMPLE.match(text, start)
    if simple is None and _COMPOSITE.match(text, start) is None:
        # The error may have no value; then only a single word before a colon counts as one.
        word = _WORD.match(text, start)
        return word.end() if word else start - len(_COLON)
    end = simple.end() if simple else _end_of_json(text, start)
    return end if end is not None and _AFTER.match(text, end) else None


def _end_of_json(text: str, start: int) -> int | None:
    try:
        return json.JSONDecoder().raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def _end_of_brackets(text: str, start: int) -> int | None:
    opened: list[str] = []
    for found in _BRACKET.finditer(text, start):
        bracket = found[0]
        if bracket in _CLOSING:
            opened.append(_CLOSING[bracket])
        elif opened.pop() != bracket:
            return None
        if not opened:
            return found.end()
    return None
