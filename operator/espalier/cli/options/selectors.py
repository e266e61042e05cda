"""
The options that choose definitions: by their labels, as kubectl does.
"""

import click

from espalier.cli.options.decoration import Command


def selecting(command: Command) -> Command:
    """
    Add ``-l``; pass on a ``selector``, empty if it is not given.
    """
    option = click.option(
        "-l",
        "--selector",
        default="",
        metavar="SELECTOR",
        help="Only definitions with these labels: app=db, env!=dev, 'tier in (a,b)', !old.",
    )
    return option(command)
