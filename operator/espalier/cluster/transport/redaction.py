"""
Takes the values of objects out of the API server's texts. Pure.

What stands in an object must not get into conditions, Events and logs by way of an error, and the
rest of an error's text must: it is what tells people what to do. Field errors say where a value
begins. In the text of a webhook or a policy, which is its author's own, what is recognised is what
such texts usually are made of: a field error, a quoted text after ``got`` and the like, and a
whole object as JSON or as Go prints it.

Source:
    apimachinery, ``pkg/util/validation/field/errors.go``, ``ErrorBody``; kube-openapi,
    ``pkg/validation/errors/schema.go``; what Go's own parsers say of a text.
"""

import json
import re

_GO_STRING = r'"(?:[^"\\]|\\.)*"'
# Of a value of the wrong type only the type is told; of a text of the wrong format, the text.
_TYPE = r'"(?:array|boolean|integer|null|number|object|string)"'
_BEGINNING = re.compile(
    r"(?P<field>\b(?:(?:Invalid|Unsupported|Duplicate) value: |Not found: (?=\")))"
    r"|(?P<told>(?i:\b(?:got|value|found|was|pars(?:e|ing)(?: time)?|duration|unit"
    rf"|Parse(?:Addr|Prefix))\b[:=(]? ?)|must be of type [^\s:]+: (?!{_TYPE})){_GO_STRING}"
    r"|(?P<bare>unexpected GroupVersion string: |invalid CIDR address: )"
    r'|(?P<json>\{"(?:[^"\\]|\\.)*": ?)'
    r"|(?P<go>\bmap\[|\[\]interface ?\{\}\{)"
)
_COLON = ": "
_SIMPLE = re.compile(rf"{_GO_STRING}|-?(?:\d[\d.eE+-]*|\+?Inf\b)|NaN\b|<nil>|(?:true|false|null)\b")
_COMPOSITE = re.compile(r"[\"\[{}&(*]|map\[|[\w.]+\{")
_WORD = re.compile(r"[^\s:]+(?=: )")
# What follows a value that has come to its end.
_AFTER = re.compile(r"$|: |[,;\])\n]")
_BRACKET = re.compile(r"[\[\]{}]")
_CLOSING = {"[": "]", "{": "}"}

_LEFT_OUT = "..."


def without_values(text: str) -> str:
    """
    Take the values out of a text, as far as they can be recognised.

    Returns:
        The text without them; where a value's end cannot be told, nothing of what follows it.
    """
    parts: list[str] = []
    at = 0
    while (found := _BEGINNING.search(text, at)) is not None:
        parts.append(text[at : found.start()])
        if found["field"] is not None:
            parts.append(found["field"].removesuffix(_COLON))
            end = _end_of_field_value(text, found.end())
        elif found["told"] is not None:
            parts.append(f'{found["told"]}"{_LEFT_OUT}"')
            end = found.end()
        elif found["bare"] is not None:
            # Nothing tells where it ends.
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


def on_one_line(text: str) -> str:
    """
    Take control characters, line breaks and what turns the direction of writing out of a text.
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def shortened(text: str, length: int) -> str:
    """
    Cut a text that has more characters than that.
    """
    return text if len(text) <= length else f"{text[: length - len(_LEFT_OUT)]}{_LEFT_OUT}"


def _end_of_field_value(text: str, start: int) -> int | None:
    simple = _SIMPLE.match(text, start)
    if simple is None and _COMPOSITE.match(text, start) is None:
        # Errors may have no value: only a single word before a colon is taken for one then.
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
