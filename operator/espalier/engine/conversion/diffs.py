"""
Where two JSON values differ.
"""

from espalier.paths import JSON, Path
from espalier.schema.values import equal_json


def differences(before: JSON, after: JSON) -> list[Path]:
    """
    Find the topmost paths at which two values differ, however deeply they are nested.
    """
    found: list[Path] = []
    waiting: list[tuple[Path, JSON, JSON]] = [((), before, after)]
    while waiting:
        path, left, right = waiting.pop()
        match left, right:
            case dict(), dict():
                found += [(*path, key) for key in left.keys() ^ right.keys()]
                waiting += [((*path, key), left[key], right[key]) for key in left if key in right]
            case list(), list() if len(left) == len(right):
                pairs = zip(left, right, strict=True)
                waiting += [((*path, index), *pair) for index, pair in enumerate(pairs)]
            case _:
                if not equal_json(left, right):
                    found.append(path)
    # Members of one container have steps of one type, so paths into one value can be sorted.
    return sorted(found)
