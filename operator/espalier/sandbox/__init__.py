"""
An in-memory API server for CustomResourceDefinitions and their objects, on Espalier's own core.

It is a stand-in for demonstrations and tests, never for a real API server. What it leaves out is
said in its modules: validation of values, most validation of definitions, conversion webhooks,
admission, tables.
"""

from espalier.sandbox.faults import Fault, Faults
from espalier.sandbox.running import Sandbox
from espalier.sandbox.serving import Request

__all__ = ["Fault", "Faults", "Request", "Sandbox"]
