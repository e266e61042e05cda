"""
Writes ``THIRD-PARTY-NOTICES.txt``, which is part of the image: ``python -m tests.release.notices``.
"""

from collections import defaultdict
from collections.abc import Iterable

from tests.release.lock import ROOT
from tests.release.wheels import Wheel, fetch, read_wheels

NOTICES = ROOT / "THIRD-PARTY-NOTICES.txt"
_HEAD = """\
What Espalier's image has from others: the packages in requirements.lock, on Linux with Python 3.11.
This file is written by `make notices` from the metadata of their wheels. The image's base is not in
it: it has notices of its own.

"""
_RULE = "\n" + "=" * 80 + "\n"


def notices(wheels: Iterable[Wheel]) -> str:
    """
    Return a line for each package, and each licence text once.
    """
    lines = []
    users = defaultdict[str, list[str]](list)
    for wheel in wheels:
        lines.append(line_of(wheel.name, wheel.version, wheel.license))
        for name, text in wheel.texts.items():
            users[text].append(f"{wheel.name} {wheel.version}: {name}")
        if not wheel.texts:
            users["The wheel has no licence file."].append(f"{wheel.name} {wheel.version}")
    parts = ["\n".join(names) + "\n\n" + _plain(text) for text, names in users.items()]
    return _HEAD + "\n".join(lines) + "\n" + _RULE + _RULE.join(parts)


def line_of(name: str, version: str, text: str) -> str:
    """
    Return the line of a package.
    """
    return f"{name} {version}: {text}"


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).strip() + "\n"


def main() -> None:
    """
    Fetch the wheels, and write the file.
    """
    NOTICES.write_text(notices(read_wheels(fetch())), encoding="utf-8")


if __name__ == "__main__":
    main()
