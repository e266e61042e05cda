"""
Values in the words of Go's error messages.
"""

from espalier.golang.printing import render_value
from espalier.paths import JSON


def go_text(value: JSON) -> str:
    """
    Write a value as Go's ``%v`` does: texts bare, ``[a b]``, ``map[key:value]`` with sorted keys.

    Nesting of any depth is written; nothing recurses.
    """
    written: list[str] = []
    # Punctuation waits among the values: texts are written as they are.
    waiting: list[JSON] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            written.append(item)
        elif isinstance(item, dict):
            written.append("map[")
            waiting.append("]")
            for index, key in enumerate(sorted(item, reverse=True), 1 - len(item)):
                waiting += (item[key], f"{' ' if index else ''}{key}:")
        elif isinstance(item, list):
            written.append("[")
            waiting.append("]")
            for index in range(len(item) - 1, -1, -1):
                waiting.append(item[index])
                if index:
                    waiting.append(" ")
        else:
            written.append("<nil>" if item is None else render_value(item))
    return "".join(written)
