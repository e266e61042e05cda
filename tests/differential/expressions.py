"""
Generate CEL expressions from a grammar of the libraries that rules may use.

Most of them have correct types and can be evaluated.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from tests.differential.dice import Dice

BOOL, INT, DOUBLE, STRING, BYTES = "bool", "int", "double", "string", "bytes"
TIMESTAMP, DURATION, OTHER = "timestamp", "duration", "other"
INTS, STRINGS, MAP, OBJECT = "list(int)", "list(string)", "map(string, string)", "object"
QUANTITY, URL, IP, CIDR, SEMVER = "quantity", "url", "ip", "cidr", "semver"
MAYBE_INT, MAYBE_STRING, UINT = "optional(int)", "optional(string)", "uint"


class _Form(NamedTuple):
    """
    A form of an expression: a text with a placeholder for each part, and the types of the parts.
    """

    text: str
    parts: tuple[str, ...] = ()


def _forms(*forms: tuple[str, ...]) -> tuple[_Form, ...]:
    return tuple(_Form(text, parts) for text, *rest in forms for parts in [tuple(rest)])


_LITERALS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        BOOL: ("true", "false"),
        INT: ("0", "1", "2", "-1", "7", "0x1F", "9223372036854775807", "-9223372036854775808"),
        UINT: ("0u", "1u", "18446744073709551615u"),
        DOUBLE: ("0.0", "1.5", "-2.5", "1e3", "1.0", "0.1"),
        STRING: (
            *("''", "'a'", "'b'", "'ab'", "'A b'", '"é"', "'1'", "r'\\d'", "'a,b,c'", "'%s'"),
            *("'\\u00e9\\n'", "'true'", "'1h'", "'10.0.0.1'", "'http://h:80/p?q=1'", "'1.2.3'"),
        ),
        BYTES: ("b'a'", "b''", "bytes('é')"),
        INTS: ("[1, 2, 3]", "[]", "[3, 1, 2, 1]", "[0]"),
        STRINGS: ("['a', 'b']", "[]", "['b', 'a', 'b']", "['']"),
        MAP: ("{'a': 'b'}", "{}", "{'a': '1', 'b': '2'}"),
        TIMESTAMP: (
            "timestamp('2020-01-01T00:00:00Z')",
            "timestamp('2020-02-29T23:59:59.5+02:00')",
        ),
        DURATION: ("duration('1h')", "duration('1m30.5s')", "duration('-2s')"),
        QUANTITY: (
            *("quantity('1k')", "quantity('500m')", "quantity('1Gi')", "quantity('-2')"),
            *("quantity('1e3')", "quantity('x')", "quantity('1.5')"),
        ),
        URL: (
            *("url('https://h.x:8080/a%20b?x=1&x=2')", "url('/p/q')", "url('http://[::1]/')"),
            "url('no url')",
        ),
        IP: ("ip('10.0.0.1')", "ip('::1')", "ip('fe80::1')", "ip('224.0.0.1')", "ip('1.2.3')"),
        CIDR: ("cidr('10.0.0.0/8')", "cidr('::1/128')", "cidr('10.0.0.1/24')", "cidr('x')"),
        SEMVER: ("semver('1.2.3')", "semver('1.0.0-a.1+b')", "semver('v1.0', true)", "semver('1')"),
        MAYBE_INT: ("optional.of(1)", "optional.none()", "optional.ofNonZeroValue(0)"),
        MAYBE_STRING: ("optional.of('a')", "optional.none()", "optional.ofNonZeroValue('')"),
        OTHER: ("null", "dyn(1)", "[1, 'a']", "type(1)", "{1: 2}", "[[1], []]", "{'a': 1}.a"),
    }
)
_COMPARED = (INT, DOUBLE, STRING, TIMESTAMP, DURATION, BYTES, BOOL, UINT)
_EQUAL = (*_COMPARED, INTS, STRINGS, MAP, QUANTITY, IP, CIDR, SEMVER, MAYBE_INT, OTHER, URL)

_FORMS: Mapping[str, tuple[_Form, ...]] = MappingProxyType(
    {
        BOOL: (
            *(
                _Form(f"{{0}} {sign} {{1}}", (of, of))
                for of in _COMPARED
                for sign in ("<", "<=", ">", ">=")
            ),
            *(_Form(f"{{0}} {sign} {{1}}", (of, of)) for of in _EQUAL for sign in ("==", "!=")),
            *_forms(
                ("{0} && {1}", BOOL, BOOL),
                ("{0} || {1}", BOOL, BOOL),
                ("!({0})", BOOL),
                ("{0} ? {1} : {2}", BOOL, BOOL, BOOL),
                ("{0} in {1}", INT, INTS),
                ("{0} in {1}", STRING, STRINGS),
                ("{0} in {1}", STRING, MAP),
                ("{0}.startsWith({1})", STRING, STRING),
                ("{0}.endsWith({1})", STRING, STRING),
                ("{0}.contains({1})", STRING, STRING),
                ("{0}.matches('^[a-z]+$')", STRING),
                ("{0}.matches('(')", STRING),
                ("{0}.matches({1})", STRING, STRING),
                ("{0}.all(x, x > {1})", INTS, INT),
                ("{0}.exists(x, x == {1})", STRINGS, STRING),
                ("{0}.exists_one(x, x < {1})", INTS, INT),
                ("{0}.all(k, {0}[k] != {1})", MAP, STRING),
                ("{0}.all(k, v, k != v && v != {1})", MAP, STRING),
                ("{0}.exists(i, v, i == v)", INTS),
                ("{0}.existsOne(i, v, i > {1} || v > 1)", INTS, INT),
                ("{0}.isSorted()", INTS),
                ("{0}.isSorted()", STRINGS),
                ("sets.contains({0}, {1})", INTS, INTS),
                ("sets.equivalent({0}, {1})", STRINGS, STRINGS),
                ("sets.intersects({0}, {1})", INTS, INTS),
                ("isURL({0})", STRING),
                ("isIP({0})", STRING),
                ("isCIDR({0})", STRING),
                ("isQuantity({0})", STRING),
                ("isSemver({0})", STRING),
                ("ip.isCanonical({0})", STRING),
                ("{0}.isLoopback()", IP),
                ("{0}.isGlobalUnicast()", IP),
                ("{0}.isLinkLocalMulticast()", IP),
                ("{0}.containsIP({1})", CIDR, IP),
                ("{0}.containsIP({1})", CIDR, STRING),
                ("{0}.containsCIDR({1})", CIDR, CIDR),
                ("{0}.isInteger()", QUANTITY),
                ("{0}.isGreaterThan({1})", QUANTITY, QUANTITY),
                ("{0}.isLessThan({1})", SEMVER, SEMVER),
                ("{0}.hasValue()", MAYBE_INT),
                ("{0}.hasValue()", MAYBE_STRING),
                ("!format.dns1123Label().validate({0}).hasValue()", STRING),
                ("format.named({0}).hasValue()", STRING),
                ("format.uuid().validate({0}).hasValue()", STRING),
                ("type({0}) == type({1})", INT, OTHER),
                ("bool({0})", STRING),
                ("dyn({0}) == dyn({1})", INT, DOUBLE),
            ),
        ),
        INT: _forms(
            ("{0} + {1}", INT, INT),
            ("{0} - {1}", INT, INT),
            ("{0} * {1}", INT, INT),
            ("{0} / {1}", INT, INT),
            ("{0} % {1}", INT, INT),
            ("-({0})", INT),
            ("({0} ? {1} : {2})", BOOL, INT, INT),
            ("size({0})", STRING),
            ("{0}.size()", STRINGS),
            ("{0}.size()", MAP),
            ("size({0})", BYTES),
            ("int({0})", STRING),
            ("int({0})", DOUBLE),
            ("int({0})", UINT),
            ("int({0})", TIMESTAMP),
            ("{0}[{1}]", INTS, INT),
            ("{0}.sum()", INTS),
            ("{0}.max()", INTS),
            ("{0}.min()", INTS),
            ("{0}.indexOf({1})", INTS, INT),
            ("{0}.lastIndexOf({1})", STRINGS, STRING),
            ("{0}.indexOf({1})", STRING, STRING),
            ("{0}.indexOf({1}, {2})", STRING, STRING, INT),
            ("{0}.lastIndexOf({1})", STRING, STRING),
            ("{0}.orValue({1})", MAYBE_INT, INT),
            ("{0}.value()", MAYBE_INT),
            ("{0}.optMap(x, x + {1}).orValue(0)", MAYBE_INT, INT),
            ("{0}.prefixLength()", CIDR),
            ("{0}.family()", IP),
            ("{0}.compareTo({1})", QUANTITY, QUANTITY),
            ("{0}.asInteger()", QUANTITY),
            ("{0}.sign()", QUANTITY),
            ("{0}.major()", SEMVER),
            ("{0}.compareTo({1})", SEMVER, SEMVER),
            ("{0}.getFullYear()", TIMESTAMP),
            ("{0}.getDayOfYear()", TIMESTAMP),
            ("{0}.getHours('Europe/Berlin')", TIMESTAMP),
            ("{0}.getMilliseconds()", DURATION),
            ("{0}.getSeconds()", DURATION),
        ),
        UINT: _forms(("uint({0})", INT), ("{0} + {1}", UINT, UINT), ("{0} / {1}", UINT, UINT)),
        DOUBLE: _forms(
            ("{0} + {1}", DOUBLE, DOUBLE),
            ("{0} / {1}", DOUBLE, DOUBLE),
            ("{0} * {1}", DOUBLE, DOUBLE),
            ("double({0})", INT),
            ("double({0})", STRING),
            ("{0}.asApproximateFloat()", QUANTITY),
        ),
        STRING: _forms(
            ("{0} + {1}", STRING, STRING),
            ("string({0})", INT),
            ("string({0})", DOUBLE),
            ("string({0})", BOOL),
            ("string({0})", TIMESTAMP),
            ("string({0})", DURATION),
            ("string({0})", BYTES),
            ("string({0})", IP),
            ("string({0})", CIDR),
            ("{0}[{1}]", STRINGS, INT),
            ("{0}[{1}]", MAP, STRING),
            ("{0}.charAt({1})", STRING, INT),
            ("{0}.lowerAscii()", STRING),
            ("{0}.upperAscii()", STRING),
            ("{0}.trim()", STRING),
            ("{0}.replace({1}, {2})", STRING, STRING, STRING),
            ("{0}.replace({1}, {2}, {3})", STRING, STRING, STRING, INT),
            ("{0}.substring({1})", STRING, INT),
            ("{0}.substring({1}, {2})", STRING, INT, INT),
            ("{0}.reverse()", STRING),
            ("strings.quote({0})", STRING),
            ("{0}.join({1})", STRINGS, STRING),
            ("{0}.join()", STRINGS),
            ("'%s-%d'.format([{0}, {1}])", STRING, INT),
            ("'%.2f %x %b %s'.format([{0}, {1}, {1}, {2}])", DOUBLE, INT, STRINGS),
            ("{0}.format([{1}])", STRING, STRING),
            ("{0}.find('[0-9]+')", STRING),
            ("{0}.find({1})", STRING, STRING),
            ("{0}.getHost()", URL),
            ("{0}.getHostname()", URL),
            ("{0}.getPort()", URL),
            ("{0}.getScheme()", URL),
            ("{0}.getEscapedPath()", URL),
            ("{0}.orValue({1})", MAYBE_STRING, STRING),
        ),
        BYTES: _forms(("bytes({0})", STRING), ("{0} + {1}", BYTES, BYTES)),
        INTS: _forms(
            ("{0} + {1}", INTS, INTS),
            ("{0}.map(x, x * {1})", INTS, INT),
            ("{0}.filter(x, x > {1})", INTS, INT),
            ("{0}.map(x, x > {1}, x + 1)", INTS, INT),
            ("[{0}, {1}]", INT, INT),
            ("[{0}, ?{1}]", INT, MAYBE_INT),
            ("{0}.map(s, s.size())", STRINGS),
            ("{0}.transformList(i, v, i + v)", INTS),
            ("{0}.sort()", INTS),
            ("{0}.distinct()", INTS),
            ("{0}.slice(0, {1})", INTS, INT),
            ("{0}.reverse()", INTS),
            ("lists.range({0})", INT),
        ),
        STRINGS: _forms(
            ("{0} + {1}", STRINGS, STRINGS),
            ("{0}.split({1})", STRING, STRING),
            ("{0}.split({1}, {2})", STRING, STRING, INT),
            ("{0}.findAll('[a-z]')", STRING),
            ("{0}.findAll({1}, {2})", STRING, STRING, INT),
            ("{0}.map(k, k)", MAP),
            ("{0}.filter(x, x != {1})", STRINGS, STRING),
            ("{0}.map(x, string(x))", INTS),
            ("[{0}]", STRING),
            ("{0}.getQuery()['x']", URL),
        ),
        MAP: _forms(
            ("{{'a': {0}, 'b': {1}}}", STRING, STRING),
            ("{{?'a': {0}}}", MAYBE_STRING),
            ("{0}.transformMap(k, v, k + v)", MAP),
            ("{0}.transformMap(k, v, v != {1}, v)", MAP, STRING),
            ("{0}.transformMapEntry(k, v, {{v: k}})", MAP),
        ),
        TIMESTAMP: _forms(
            ("{0} + {1}", TIMESTAMP, DURATION),
            ("timestamp({0})", STRING),
            ("timestamp({0})", INT),
        ),
        DURATION: _forms(
            ("{0} - {1}", TIMESTAMP, TIMESTAMP),
            ("{0} + {1}", DURATION, DURATION),
            ("duration({0})", STRING),
        ),
        QUANTITY: _forms(
            ("quantity({0})", STRING),
            ("{0}.add({1})", QUANTITY, QUANTITY),
            ("{0}.sub({1})", QUANTITY, INT),
        ),
        URL: _forms(("url({0})", STRING)),
        IP: _forms(("ip({0})", STRING), ("{0}.ip()", CIDR)),
        CIDR: _forms(("cidr({0})", STRING), ("{0}.masked()", CIDR)),
        SEMVER: _forms(("semver({0})", STRING), ("semver({0}, {1})", STRING, BOOL)),
        MAYBE_INT: _forms(
            ("optional.of({0})", INT),
            ("optional.ofNonZeroValue({0})", INT),
            ("{0}[?{1}]", INTS, INT),
            ("{0}.or({1})", MAYBE_INT, MAYBE_INT),
            ("{0}.optFlatMap(x, optional.of(x))", MAYBE_INT),
        ),
        MAYBE_STRING: _forms(("{0}[?{1}]", MAP, STRING), ("{0}.?a", MAP), ("{0}[?0]", STRINGS)),
        OTHER: _forms(("dyn({0})", STRING), ("[{0}, {1}]", INT, STRING), ("type({0})", DOUBLE)),
    }
)
_ODD = (
    *("math.greatest({0}, 1)", "base64.encode(b'')", "cel.bind(x, {0}, x)"),
    *("foo", "self.nothing", "odd({0})", "{0}.odd()", "({0}", "{0} +", "size()", "self", "oldSelf"),
)


class Grammar:
    """
    Generate expressions.

    Args:
        reachable: The expressions that yield a value, such as ``self.a``, by type.
    """

    def __init__(self, dice: Dice, reachable: Mapping[str, Sequence[str]]) -> None:
        self._dice = dice
        self._reachable = reachable

    def expression(self, of: str, depth: int = 3) -> str:
        """
        Return an expression of a type, and now and then one of a wrong type.
        """
        dice = self._dice
        if dice.seldom(90):
            return dice.pick(_ODD).format(self._leaf(of))
        if dice.seldom(70):
            of = dice.pick([*_LITERALS])
        if depth == 0 or dice.seldom(4):
            return self._leaf(of)
        form = dice.pick(_FORMS[of])
        return form.text.format(*[self._part(part, depth - 1) for part in form.parts])

    def _part(self, of: str, depth: int) -> str:
        written = self.expression(of, depth)
        return f"({written})" if " " in written and written[0] not in "'\"[{" else written

    def _leaf(self, of: str) -> str:
        reachable = self._reachable.get(of, ())
        if reachable and not self._dice.seldom(4):
            return self._dice.pick(reachable)
        return self._dice.pick(_LITERALS[of])
