"""
A schema that is parsed once for all of its users.
"""

from dataclasses import dataclass, field

from espalier import schema
from espalier.errors import SchemaParseError
from espalier.paths import JSON
from espalier.schema import Profile, Structural

_PROFILE_DEPENDENT: tuple[tuple[str, JSON], ...] = (
    ("readOnly", True),
    ("required", []),
    ("x-kubernetes-list-map-keys", []),
    ("x-kubernetes-validations", []),
)
_KEYWORDS = frozenset({"x-kubernetes-unions", *(keyword for keyword, _ in _PROFILE_DEPENDENT)})


class ParsedSchema:
    """
    Parse a schema when it is first needed, and keep the result.
    """

    __slots__ = ("_known", "_raw")

    def __init__(self, raw: JSON) -> None:
        """
        Take a schema, which must not be changed afterwards.

        Args:
            raw: The decoded ``openAPIV3Schema``, or None, as ``schema.parse`` takes it.
        """
        self._raw = raw
        self._known: dict[Profile, Structural | SchemaParseError | None] = {}

    def under(self, profile: Profile) -> Structural | None:
        """
        Return the schema as ``schema.parse`` reads it by a profile.

        Raises:
            SchemaParseError: API servers refuse to read a part of the schema.
        """
        if profile not in self._known:
            self._known[profile] = self._read(profile)
        found = self._known[profile]
        if isinstance(found, SchemaParseError):
            raise found.with_traceback(None)
        return found

    def _read(self, profile: Profile) -> Structural | SchemaParseError | None:
        proposed = self._known.get(Profile.KEP)
        # A schema that ``KEP`` can parse is parsed to the same result by ``APISERVER``, unless it
        # has one of these keywords.
        if isinstance(proposed, Structural) and not _depends_on_profile(self._raw):
            return proposed
        try:
            return schema.parse(self._raw, profile=profile)
        except SchemaParseError as error:
            return error


def _depends_on_profile(raw: JSON) -> bool:
    # A property or a value of such a name only causes an unnecessary second parse.
    waiting: list[JSON] = [raw]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            if not _KEYWORDS.isdisjoint(value) and (
                "x-kubernetes-unions" in value
                or any(value.get(keyword) == different for keyword, different in _PROFILE_DEPENDENT)
            ):
                return True
            waiting += [inner for inner in value.values() if isinstance(inner, dict | list)]
    return False


@dataclass(frozen=True, slots=True)
class VersionSchema:
    """
    The ``schema`` of a version, which need not have an ``openAPIV3Schema``.

    Attributes:
        schema: As ``decode_schema`` returns it.
        set_at_root: The names of the root's keywords, including empty lists and maps.
        parsed: The same schema, parsed when it is needed.
    """

    schema: dict[str, JSON] | None
    set_at_root: tuple[str, ...] = ()
    parsed: ParsedSchema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """
        Share one parsed schema among all users.
        """
        object.__setattr__(self, "parsed", ParsedSchema(self.schema))
