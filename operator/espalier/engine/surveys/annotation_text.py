"""
The text of the annotation of an object that violates its schema: bounded, and without values.
"""

import json
from collections.abc import Iterable

from espalier.engine.status.text import printable_path
from espalier.engine.surveys.object_verdict import schema_detail
from espalier.findings import FieldError

MAX_ANNOTATION_BYTES = 4 * 1024


def render_violations(violations: Iterable[FieldError]) -> str | None:
    """
    Write violations as compact JSON of at most 4 KiB, without values; None without any.

    Returns:
        ``{"violations":[{"path":..,"reason":..,"detail":..}],"more":3}``; ``more`` only if
        something was cut off.
    """
    written: list[str] = []
    more, size_bytes = 0, len('{"violations":[],"more":1000000000}')
    for one in violations:
        entry = {"path": printable_path(one.path), "reason": one.type.value.strip()}
        detail = schema_detail(one)
        if detail:
            entry["detail"] = detail
        text = json.dumps(entry, separators=(",", ":"))
        if more or size_bytes + len(text) + 1 > MAX_ANNOTATION_BYTES:
            more += 1
            continue
        size_bytes += len(text) + 1
        written.append(text)
    if not written and not more:
        return None
    cut = f',"more":{more}' if more else ""
    return f'{{"violations":[{",".join(written)}]{cut}}}'
