"""
Chaos on the real control plane: ``make e2e-chaos``, bounded to twelve minutes.

Writers change thousands of objects while the operator's replicas are killed again and again, the
API server and etcd are restarted, and requests get denials and 429s. At the end, every object must
have the value of its last write and be stored at the storage version, and storedVersions must have
been trimmed exactly once, after the last old value was gone. A slow machine gets more time, and a
run without enough time reports what is missing.

With ``--parts N`` there is no operator: N parts of the definition are killed and started again, as
an Indexed Job does, and then the last step. It takes fewer objects, and four minutes.
"""

import argparse
import json
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.chaos.demanding import ChaosError, say
from tests.e2e.chaos.in_parts import ChaosInParts
from tests.e2e.chaos.storm import FLAGS, Storm
from tests.e2e.chaos.with_operator import ChaosWithOperator
from tests.e2e.controlplane.assets import find_assets
from tests.e2e.controlplane.running import ControlPlane

OBJECTS, REPLICAS, KILLS_WHILE_WRITING = 3000, 2, 30
OBJECTS_IN_PARTS, KILLS_IN_PARTS = 600, 6
SECONDS = 600.0
"""For what is broken; what must follow has its own time."""


def main() -> int:
    """
    Run the chaos test once.

    Returns:
        0 if all conditions hold.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.chaos")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--objects", type=int)
    parser.add_argument("--kills", type=int, help="of a process that was writing")
    parser.add_argument("--replicas", type=int, default=REPLICAS, help="of the operator")
    parser.add_argument("--parts", type=int, default=0, help="no operator, but so many parts")
    given = parser.parse_args()
    flags = f' FLAGS="--parts {given.parts}"' if given.parts else ""
    say(f"seed {given.seed}: make e2e-chaos SEED={given.seed}{flags}")
    try:
        with _control_plane() as plane:
            figures = _chaos_of(plane, given).run()
    except ChaosError as error:
        say(f"seed {given.seed}: {error}")
        return 1
    say(json.dumps({"seed": given.seed, **figures}))
    return 0


def _chaos_of(plane: ControlPlane, given: argparse.Namespace) -> ChaosInParts | ChaosWithOperator:
    objects = given.objects or (OBJECTS_IN_PARTS if given.parts else OBJECTS)
    kills = given.kills or (KILLS_IN_PARTS if given.parts else KILLS_WHILE_WRITING)
    storm = Storm(plane, seed=given.seed, objects=objects)
    if given.parts:
        return ChaosInParts(storm, seconds=given.seconds, kills=kills, parts=given.parts)
    return ChaosWithOperator(storm, seconds=given.seconds, kills=kills, replicas=given.replicas)


@contextmanager
def _control_plane() -> Iterator[ControlPlane]:
    plane = ControlPlane(find_assets(), is_durable=True, api_server_flags=FLAGS)
    plane.start()
    try:
        yield plane
    finally:
        plane.stop()


if __name__ == "__main__":
    sys.exit(main())
