"""
Find out by a read whether an object's bytes are stored at the storage version.

An API server reads the stored bytes by the schema of the version that they are stored at: it prunes
them by that schema, and fills in the defaults of that schema. With conversion ``None`` nothing else
is added before it shows the object at another version. So an object that shows a field which no
other version specifies at which it could be stored is stored at none of these.

That an object shows no such field says nothing.

Source:
    apiextensions-apiserver, ``pkg/apiserver/customresource_handler.go``, ``unstructuredCoercer``
    and ``unstructuredDefaulter``.
"""

from collections.abc import Iterable, Mapping

from espalier import schema
from espalier.crd import Definition
from espalier.crd.structural import structural_of
from espalier.engine.status.text import printable
from espalier.errors import SchemaParseError
from espalier.paths import JSON
from espalier.schema import Profile, Structural

MAX_MANAGER_CHARACTERS = 60


class StoredVersionWitness:
    """
    Looks at the objects of one definition, as they are read at its storage version.

    Attributes:
        is_asked: Whether objects are to be read before they are written.
    """

    def __init__(self, definition: Definition) -> None:
        self.is_asked = False
        self._api_version = f"{definition.group}/{definition.storage.name}"
        self._prefix = f"{definition.group}/"
        self._others = _other_schemas(definition)

    def shows_storage_version(self, obj: Mapping[str, JSON]) -> bool:
        """
        Report whether an object shows that its bytes are stored at the storage version.
        """
        return self._others is not None and all(
            schema.prune(dict(obj), other, profile=Profile.APISERVER).removed
            for other in self._others
        )

    def writers(self, managed_fields: Iterable[JSON]) -> tuple[str, ...]:
        """
        Name the field managers that wrote through another version, with that version.
        """
        names: dict[str, None] = {}
        for entry in managed_fields:
            match entry:
                case {"manager": str(name), "apiVersion": str(written)} if (
                    written.startswith(self._prefix) and written != self._api_version
                ):
                    version = written.removeprefix(self._prefix)
                    cut = printable(name, max_characters=MAX_MANAGER_CHARACTERS)
                    names[f'"{cut}" ({printable(version)})'] = None
                case _:
                    continue
        return tuple(names)


def _other_schemas(definition: Definition) -> tuple[Structural, ...] | None:
    """
    Return the schemas of the versions at which objects may be stored still; None if one is unknown.
    """
    if definition.conversion != "None" or definition.preserve_unknown_fields:
        return None
    others = [name for name in definition.stored_versions if name != definition.storage.name]
    by_name = {version.name: version for version in definition.versions}
    try:
        found = [structural_of(by_name[name]) if name in by_name else None for name in others]
    except SchemaParseError:
        return None
    schemas = tuple(one for one in found if one is not None)
    return schemas if len(schemas) == len(others) else None
