"""
Work that is put off until it is needed: imports of a package's names, and compiled patterns.

A command line starts many times a day, and needs a small part of what its modules define.
"""

import functools
import importlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence


def lazy_names(package: str, names: Mapping[str, Sequence[str]]) -> Callable[[str], object]:
    """
    Return the ``__getattr__`` of a package.

    Args:
        package: Its ``__name__``.
        names: The names that it exports, by the module below the package that defines them.

    Source:
        PEP 562, "Module __getattr__ and __dir__".
    """
    modules = {name: f"{package}.{module}" for module, defined in names.items() for name in defined}

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


def lazy_pattern(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """
    Return a function that returns the compiled pattern, which it compiles when it is called first.
    """
    return functools.cache(functools.partial(re.compile, pattern, flags))
