"""
The log of a command, on standard error.

Only what talks to a cluster logs anything, so no other command loads this.
"""

import logging
import sys
from typing import Final

_LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)


def start_log(verbosity: int) -> None:
    """
    Send Espalier's log to standard error.

    Args:
        verbosity: How many times ``-v`` was given; it sets the level.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    if verbosity > 0:
        from espalier.handlers.logs import TextFormatter

        # With the values that belong to each sentence.
        handler.setFormatter(TextFormatter())
    logging.basicConfig(handlers=[handler])
    logging.getLogger("espalier").setLevel(_LEVELS[min(verbosity, 2)])
    # The server's own texts may hold values of objects: only who asks for them sees them.
    shows_texts = verbosity > 0
    logging.getLogger("espalier.server_text").setLevel(
        logging.DEBUG if shows_texts else logging.WARNING
    )
