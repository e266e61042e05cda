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
    from espalier.cli.options.definitions import Chosen, chosen, selecting, without_kind
    from espalier.cli.options.fleets import Fleet, fleeting
    from espalier.cli.options.kubernetes_versions import versioned
    from espalier.cli.options.namespaces import (
        allow_missing,
        chosen_namespaces,
        everywhere,
        namespace_names,
        namespaced,
    )
    from espalier.cli.options.profiles import profiled
    from espalier.cli.options.reporting import reporting
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "clusters": ("Target", "operator_homes", "targeting"),
            "decoration": ("Command", "Decorator", "with_options"),
            "definitions": ("Chosen", "chosen", "selecting", "without_kind"),
            "fleets": ("Fleet", "fleeting"),
            "kubernetes_versions": ("versioned",),
            "namespaces": (
                "allow_missing",
                "chosen_namespaces",
                "everywhere",
                "namespace_names",
                "namespaced",
            ),
            "profiles": ("profiled",),
            "reporting": ("reporting",),
        },
    )

__all__ = [
    "Chosen",
    "Command",
    "Decorator",
    "Fleet",
    "Target",
    "allow_missing",
    "chosen",
    "chosen_namespaces",
    "everywhere",
    "fleeting",
    "namespace_names",
    "namespaced",
    "operator_homes",
    "profiled",
    "reporting",
    "selecting",
    "targeting",
    "versioned",
    "with_options",
    "without_kind",
]
