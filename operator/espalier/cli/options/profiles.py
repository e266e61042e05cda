"""
The option for the profile of the schema rules.
"""

import functools

import click

from espalier.cli.options.decoration import Command, Decorator, with_options
from espalier.schema.profile import Profile


def profiled(*, default: Profile) -> Decorator:
    """
    Add ``--profile``; pass on a ``profile``.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(**given: object) -> None:
            profile = Profile(given.pop("profile"))
            command(profile=profile, **given)

        option = click.option(
            "--profile",
            type=click.Choice([profile.value for profile in Profile]),
            default=default.value,
            show_default=True,
            help="Follow the enhancement proposals (kep), or API servers (apiserver).",
        )
        return with_options(wrapped, [option])

    return decorate
