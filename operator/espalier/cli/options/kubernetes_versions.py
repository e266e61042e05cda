"""
The option for the version of the API servers that a verdict is for.
"""

import functools
import re

import click

from espalier.cli.options.decoration import Command, Decorator, with_options
from espalier.names import NEWEST_MINOR, OLDEST_MINOR


def versioned() -> Decorator:
    """
    Add ``--kubernetes-version``; pass on the ``minor`` version, None if it is not given.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(**given: object) -> None:
            version = given.pop("kubernetes_version")
            command(minor=None if version is None else _minor_of(str(version)), **given)

        option = click.option(
            "--kubernetes-version",
            metavar="1.MINOR",
            help="The oldest version of API servers to answer for, 1.25 or newer.",
        )
        return with_options(wrapped, [option])

    return decorate


def _minor_of(version: str) -> int:
    match = re.fullmatch(r"v?1\.([0-9]{1,3})(?:\..*)?", version)
    minor = -1 if match is None else int(match[1])
    if not OLDEST_MINOR <= minor <= NEWEST_MINOR:
        known = f"1.{OLDEST_MINOR} to 1.{NEWEST_MINOR}"
        raise click.BadParameter(
            f"{version!r} is no known version: use {known}", param_hint="--kubernetes-version"
        )
    return minor
