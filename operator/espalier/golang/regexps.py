r"""
Patterns as the API server compiles them: RE2 syntax, and the error messages of Go's ``regexp``.

The RE2 library and Go's package read the same language, except ``\C``, and call the same errors
by other names. Go since 1.25 knows more names of Unicode classes (``\p{Letter}``); they count as
errors here, as in API servers built before.
"""

import functools

# Room for the largest program that Go would compile; the library's own default is far below it.
_MAX_PROGRAM_BYTES = 256 << 20

_GO_NAMES = (
    ("missing argument to repetition operator", "no argument for repetition operator"),
    ("invalid nested repetition operator", "bad repetition operator"),
    ("invalid character class range", "invalid character class range"),
    ("invalid character class", "invalid character class"),
    ("invalid escape sequence", "invalid escape sequence"),
    ("invalid named capture", "invalid named capture group"),
    ("invalid or unsupported Perl syntax", "invalid perl operator"),
    ("invalid repeat count", "invalid repetition size"),
    ("missing closing ]", "missing ]"),
    ("missing closing )", "missing )"),
    ("unexpected )", "unexpected )"),
)


@functools.lru_cache(maxsize=4096)
def pattern_error(pattern: str) -> str | None:
    """
    Return why a pattern does not compile.

    Returns:
        Go's text, ``error parsing regexp: ...``; None if it compiles.

    Source:
        Go, ``regexp/syntax/parse.go``, ``ErrorCode`` and ``Error.Error``.
    """
    # A lone surrogate is no character to Go: it decodes such an escape to U+FFFD.
    text = pattern.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    at = _find_syntax(text, "\\C")
    if at is None:
        return _error_of(text)
    # Go reads no further than `\C`, so only what is wrong before it comes first.
    earlier = _error_of(text[:at])
    if earlier == _render("unexpected )", text[:at]):
        return _render("unexpected )", text)
    if earlier not in (None, _render("missing closing )", text[:at])):
        return earlier
    return _render("invalid escape sequence", "\\C")


def _error_of(pattern: str) -> str | None:
    import re2  # noqa: PLC0415 - few schemas have patterns

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_PROGRAM_BYTES
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        return _as_go_reports(pattern, _text_of(error))
    return None


def _text_of(error: Exception) -> str:
    message = error.args[0] if error.args else ""
    return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)


def _as_go_reports(pattern: str, message: str) -> str:
    if message.startswith("trailing \\"):
        return _render("trailing backslash at end of expression", "")
    if message.startswith("pattern too large"):
        return _render("expression too large", pattern)
    if message.startswith("invalid UTF-8"):
        # The pattern is valid UTF-8; the library stumbles over an escape that breaks off.
        return _render("invalid escape sequence", pattern[pattern.rindex("\\") :])
    if message in ("invalid escape sequence: \\p", "invalid escape sequence: \\P"):
        return _render("invalid character class range", message[-2:])
    for go_name, re2_name in _GO_NAMES:
        found, _, rest = message.partition(f"{re2_name}: ")
        if rest and not found:
            if rest == "(?<":
                return _render("invalid or unsupported Perl syntax", rest)
            if rest.startswith("(?<"):
                return _render("invalid named capture", _named_capture(pattern, rest))
            return _render(go_name, rest)
    return f"error parsing regexp: {message}"


def _render(name: str, expression: str) -> str:
    return f"error parsing regexp: {name}: `{expression}`"


def _named_capture(pattern: str, start: str) -> str:
    # Since Go 1.22 `(?<` begins a named capture, hence a look-behind is a badly named one: its
    # text goes to the next `>`, or to the end.
    at = _find_syntax(pattern, start)
    rest = pattern[at:] if at is not None else start
    name, closing, _ = rest.partition(">")
    return name + closing


def _find_syntax(pattern: str, wanted: str) -> int | None:
    # The first place of `wanted` that is neither escaped nor within brackets or `\Q...\E`.
    at, in_class = 0, False
    while at < len(pattern):
        if pattern.startswith(wanted, at) and not in_class:
            return at
        if pattern.startswith("\\Q", at) and not in_class:
            end = pattern.find("\\E", at)
            at = len(pattern) if end < 0 else end + 2
        elif pattern[at] == "\\":
            at += 2
        elif in_class:
            in_class = pattern[at] != "]"
            at += 1
        elif pattern[at] == "[":
            in_class = True
            # A bracket right after the opening one is a member of the class.
            at += 1 + pattern.startswith("^", at + 1)
            at += pattern.startswith("]", at)
        else:
            at += 1
    return None
