"""
Decides what happens to stored objects, and drives it through ``espalier.engine.ports``.

No HTTP, no Kopf, no clock of its own.
"""
