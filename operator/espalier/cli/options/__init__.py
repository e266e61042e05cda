"""
The options that several commands share, as decorators.

Each decorator adds options and passes one value made from them to the command. A module is loaded
when a name of it is used.
"""

from typing import TYPE_CHECKING

from espalier.lazy import lazy_names

if TYPE_CHECKING:
    from espalier.cli.options.clusters import Target, operator_homes, targeting
    from espalier.cli.options.decoration import Command, Decorator, with_options
    from espalier.cli.options.kubernetes_versions import versioned
    from espalier.cli.options.namespaces import namespace_names
    from espalier.cli.options.profiles import profiled
    from espalier.cli.options.reporting import reporting
    from espalier.cli.options.selectors import selecting
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "clusters": ("Target", "operator_homes", "targeting"),
            "decoration": ("Command", "Decorator", "with_options"),
            "kubernetes_versions": ("versioned",),
            "namespaces": ("namespace_names",),
            "profiles": ("profiled",),
            "reporting": ("reporting",),
            "selectors": ("selecting",),
        },
    )

__all__ = [
    "Command",
    "Decorator",
    "Target",
    "namespace_names",
    "operator_homes",
    "profiled",
    "reporting",
    "selecting",
    "targeting",
    "versioned",
    "with_options",
]
