"""
Definitions and objects that tests of the command line share.
"""

import json
from pathlib import Path
from typing import Any

import jsonschema

from espalier import cli
from espalier.paths import JSON

STRUCTURAL = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
"""
NOT_STRUCTURAL = STRUCTURAL.replace(
    "              type: object\n", "              properties:\n                size: {}\n"
)
# A warning, a note and no error.
DOUBTFUL = (
    STRUCTURAL
    + """\
              properties:
                size: {type: integer, default: 1}
                name:
                  type: string
                  x-kubernetes-validations: [{rule: "self != ''"}]
"""
)

WIDGETS = (
    STRUCTURAL
    + """\
              properties:
                size: {type: integer, minimum: 1, default: 3}
                mode: {type: string, nullable: true}
                open:
                  type: object
                  x-kubernetes-preserve-unknown-fields: true
                  properties:
                    bare: {type: object}
"""
)
RULED = (
    WIDGETS
    + """\
              x-kubernetes-validations:
                - rule: "self.size < 9 || has(self.mode)"
                  message: large ones need a mode
"""
)
INVALID = """\
apiVersion: example.com/v1
kind: Widget
metadata: {name: Blue_}
spec:
  size: 0
  mode: 7
  colour: red
---
apiVersion: example.com/v1
kind: Widget
metadata: {generateName: ok-}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
"""
OBJECTS = """\
# a widget
apiVersion: example.com/v1
kind: Widget
metadata:
  name: blue
  namespace: default
spec:
  mode: "yes"
  colour: red
  size: null
  open: {bare: {x: 1}, "on": 1, y: 'y'}
---
apiVersion: v1
kind: List
items:
- apiVersion: example.com/v2
  kind: Widget
  metadata: {name: other}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: d}
"""


_SCHEMA = Path(cli.__file__).with_name("result.schema.json")


def document_in(output: str) -> dict[str, JSON]:
    """
    Read the JSON of ``-o json``, and hold it to the schema that is published.
    """
    document: dict[str, JSON] = json.loads(output)
    schema = json.loads(_SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)
    return document


def items_in(output: str) -> list[dict[str, Any]]:
    """
    Read the items of ``-o json``.
    """
    items = document_in(output)["items"]
    assert isinstance(items, list)
    return [item for item in items if isinstance(item, dict)]
