import pytest

from espalier.golang.regexps import pattern_error

# What Go 1.26's regexp.Compile says, as it was run.
TOLD_BY_GO = {
    "^(?!bad).+$": "invalid or unsupported Perl syntax: `(?!`",
    "(?=a)": "invalid or unsupported Perl syntax: `(?=`",
    "^(?>a)b$": "invalid or unsupported Perl syntax: `(?>`",
    "(?z)": "invalid or unsupported Perl syntax: `(?z`",
    "(?P=name)": "invalid or unsupported Perl syntax: `(?P`",
    "(?<": "invalid or unsupported Perl syntax: `(?<`",
    "(?<=x)y": "invalid named capture: `(?<=x)y`",
    "(?<=a)b>c": "invalid named capture: `(?<=a)b>`",
    "\\(?<=(?<=a)": "invalid named capture: `(?<=a)`",
    "[(?<=](?<!z)": "invalid named capture: `(?<!z)`",
    "(?P<n": "invalid named capture: `(?P<n`",
    "(": "missing closing ): `(`",
    "((a)": "missing closing ): `((a)`",
    "a)": "unexpected ): `a)`",
    "a[b": "missing closing ]: `[b`",
    "[z-a]": "invalid character class range: `z-a`",
    "\\p{Foo}": "invalid character class range: `\\p{Foo}`",
    "\\p": "invalid character class range: `\\p`",
    "[[:foo:]]": "invalid character class range: `[:foo:]`",
    "*": "missing argument to repetition operator: `*`",
    "^a*+$": "invalid nested repetition operator: `*+`",
    "x{2}{3}": "invalid nested repetition operator: `{2}{3}`",
    "a{2,1}": "invalid repeat count: `{2,1}`",
    "^a{1,1001}$": "invalid repeat count: `{1,1001}`",
    "(((a{100}){100}){100})": "invalid repeat count: `{100}`",
    "^(a+)b\\1$": "invalid escape sequence: `\\1`",
    "\\Z": "invalid escape sequence: `\\Z`",
    "\\C": "invalid escape sequence: `\\C`",
    "a\\C)": "invalid escape sequence: `\\C`",
    "a)\\C": "unexpected ): `a)\\C`",
    "*\\C": "missing argument to repetition operator: `*`",
    "\\x{": "invalid escape sequence: `\\x{`",
    "a\\": "trailing backslash at end of expression: ``",
}


@pytest.mark.parametrize("pattern", TOLD_BY_GO)
def test_a_pattern_fails_with_gos_message(pattern: str) -> None:
    assert pattern_error(pattern) == f"error parsing regexp: {TOLD_BY_GO[pattern]}"


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "^[a-z]{1,63}$",
        "(?P<n>a)(?P<n>b)",
        "(?<name>a)",
        "(?i)a",
        "\\pL\\z",
        "a{1000}",
        "x{,5}",
        "\\\\C",
        "\\Q\\C\\E",
        "é|日本",
        "\ud800",
        "(?:[0-9a-f]{64}){1,15}",
    ],
)
def test_a_pattern_that_go_compiles_is_right(pattern: str) -> None:
    assert pattern_error(pattern) is None


def test_nothing_is_written_to_the_log_of_the_library(capfd: pytest.CaptureFixture[str]) -> None:
    assert pattern_error("(?!never seen before)") is not None
    assert capfd.readouterr() == ("", "")
