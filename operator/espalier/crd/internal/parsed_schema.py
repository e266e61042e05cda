"""
A schema that many look at, and that is parsed once for all of them.
"""

from dataclasses import dataclass, field

from espalier import schema
from espalier.errors import SchemaParseError
from espalier.paths import JSON
from espalier.schema import Profile, Structural

_TOLD_APART: tuple[tuple[str, JSON], ...] = (
    ("readOnly", True),
    ("required", []),
    ("x-kubernetes-list-map-keys", []),
    ("x-kubernetes-validations", []),
)
_KEYWORDS = frozenset({"x-kubernetes-unions", *(keyword for keyword, _ in _TOLD_APART)})


class ParsedSchema:
    """
    Parses a schema when it is first asked for, and keeps what came of it as long as itself lives.
    """

    __slots__ = ("_known", "_raw")

    def __init__(self, raw: JSON) -> None:
        """
        Take a schema, which must not be changed from now on.

        Args:
            raw: The decoded ``openAPIV3Schema``, or None, as ``schema.parse`` takes it.
        """
        self._raw = raw
        self._known: dict[Profile, Structural | SchemaParseError | None] = {}

    def under(self, profile: Profile) -> Structural | None:
        """
        Give the schema as ``schema.parse`` reads it under a profile.

        Raises:
            SchemaParseError: It has a part that API servers refuse to read.
        """
        if profile not in self._known:
            self._known[profile] = self._read(profile)
        found = self._known[profile]
        if isinstance(found, SchemaParseError):
            raise found.with_traceback(None)
        return found

    def _read(self, profile: Profile) -> Structural | SchemaParseError | None:
        proposed = self._known.get(Profile.KEP)
        # What the proposals' profile could read in full is read the same by servers but for this.
        if isinstance(proposed, Structural) and not _tells_profiles_apart(self._raw):
            return proposed
        try:
            return schema.parse(self._raw, profile=profile)
        except SchemaParseError as error:
            return error


def _tells_profiles_apart(raw: JSON) -> bool:
    # A property of such a name, or a value that looks like it, costs no more than time.
    waiting: list[JSON] = [raw]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            if not _KEYWORDS.isdisjoint(value) and (
                "x-kubernetes-unions" in value
                or any(value.get(keyword) == told for keyword, told in _TOLD_APART)
            ):
                return True
            waiting += [inner for inner in value.values() if isinstance(inner, dict | list)]
    return False


@dataclass(frozen=True, slots=True)
class VersionSchema:
    """
    The ``schema`` of a version: there may be one without an ``openAPIV3Schema`` in it.

    Attributes:
        schema: As ``decode_schema`` gives it.
        set_at_root: Which keywords the root has, an empty list or map counting too.
        parsed: The same schema as it is read further.
    """

    schema: dict[str, JSON] | None
    set_at_root: tuple[str, ...] = ()
    parsed: ParsedSchema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """
        Have the schema parsed once, whoever asks.
        """
        object.__setattr__(self, "parsed", ParsedSchema(self.schema))
