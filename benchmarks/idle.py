"""
Measure the memory of an idle operator: ``make bench-idle``.

The API server is a real one. The definitions have from 40 to as many fields as asked for, in equal
steps of ten sizes; a field takes 130 bytes of JSON. The last line is one JSON object.
"""

import argparse

import orjson

from benchmarks.migrate import control_plane
from benchmarks.migrate_idle import FIELDS, measure_idle


def main() -> None:
    """
    Measure; print a line for people and the figures as JSON.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.idle")
    parser.add_argument("--definitions", type=int, default=400)
    parser.add_argument(
        "--fields",
        type=int,
        nargs=2,
        metavar=("LEAST", "MOST"),
        default=(FIELDS, FIELDS),
        help="of the schema of each definition",
    )
    given = parser.parse_args()
    with control_plane() as plane:
        idle = measure_idle(plane, given.definitions, *given.fields)
    print(
        f"{given.definitions} definitions of {idle.least_kib:.0f} to {idle.most_kib:.0f} KiB:"
        f" {idle.resident_mib:.1f} MiB, {idle.peak_mib:.1f} MiB at its peak"
    )
    print(
        orjson.dumps({name: round(figure, 1) for name, figure in idle._asdict().items()}).decode()
    )


if __name__ == "__main__":
    main()
