"""
Import Kopf without the clients that it recognizes if they are there.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_CLIENTS = ("kubernetes", "pykube")


@contextmanager
def without_clients() -> Iterator[None]:
    """
    Keep an import of Kopf from loading other clients of Kubernetes; they can be imported later.

    Kopf loads ``kubernetes`` to recognize objects of its models, of which Espalier makes none, and
    to log in, which Espalier does itself. It takes 18 MiB.

    Source:
        kopf, ``kopf/_cogs/helpers/thirdparty.py``.
    """
    hidden = [name for name in _CLIENTS if name not in sys.modules]
    # An import of a name that stands for None fails as if there were no such module.
    sys.modules |= dict.fromkeys(hidden)  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
