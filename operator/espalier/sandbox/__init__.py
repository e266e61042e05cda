"""
An in-memory API server for CustomResourceDefinitions and their objects, on Espalier's own core.

It is for demonstrations and tests, and cannot replace a real API server. It has no validation of
values, little validation of definitions, no conversion webhooks, no admission and no tables; the
docstrings of its modules have the details.
"""

from espalier.sandbox.faults import Fault, Faults
from espalier.sandbox.running import Sandbox
from espalier.sandbox.serving import Request

__all__ = ["Fault", "Faults", "Request", "Sandbox"]
