"""
Compare whole command lines that validate objects in files.

kubectl-validate evaluates rules and defaults, as Espalier does; kubeconform does neither.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from benchmarks.manifests import Kind, own_kinds, published_kinds, write_manifests
from benchmarks.processes import Cost, cost_of, installed_go_command, medians
from benchmarks.validate_objects import as_json_schema

_OBJECTS = 1057
KUBECTL_VALIDATE = ("sigs.k8s.io/kubectl-validate", "v0.0.4")
_KUBECONFORM = ("github.com/yannh/kubeconform/cmd/kubeconform", "v0.8.0")


def compare_commands(definitions: Sequence[Path], *, rounds: int) -> dict[str, float]:
    """
    Validate the same files by each command, in turns; print a table and return the figures.

    Args:
        definitions: Files with the definitions; none takes three of our own.
    """
    kinds = [*(published_kinds(definitions) if definitions else own_kinds())]
    with tempfile.TemporaryDirectory() as name:
        crds, objects = write_manifests(Path(name), kinds, _OBJECTS)
        commands = _commands(Path(name), kinds, crds, objects)
        one = next(objects.iterdir())
        commands |= {
            f"{tool}, one object": [*command[:-1], str(one)] for tool, command in commands.items()
        }
        runs: dict[str, list[Cost]] = {tool: [] for tool in commands}
        for _ in range(rounds):
            for tool, command in commands.items():
                runs[tool].append(cost_of(command))
    found = {tool: medians(costs) for tool, costs in runs.items()}
    _print_table(found, [kind.plural for kind in kinds], rounds)
    return _figures(found)


def _commands(
    folder: Path, kinds: Sequence[Kind], crds: Path, objects: Path
) -> dict[str, list[str]]:
    schemas = folder / "schemas"
    schemas.mkdir()
    for kind in kinds:
        text = orjson.dumps(as_json_schema(kind.schema))
        (schemas / f"{kind.name.lower()}.json").write_bytes(text)
    location = f"{schemas}/{{{{ .ResourceKind }}}}.json"
    kubectl_validate = str(installed_go_command(*KUBECTL_VALIDATE))
    kubeconform = str(installed_go_command(*_KUBECONFORM))
    espalier = [sys.executable, "-m", "espalier", "validate", "--allow-unchecked"]
    return {
        "espalier": [*espalier, "--crd", str(crds), str(objects)],
        "kubectl-validate": [kubectl_validate, "--local-crds", str(crds), str(objects)],
        "kubeconform": [kubeconform, "-schema-location", location, str(objects)],
    }


def _print_table(found: Mapping[str, Cost], names: Sequence[str], rounds: int) -> None:
    print(f"\n{_OBJECTS:,} objects of {', '.join(names)}; medians of {rounds}, in turns")
    print(f"{'':30} {'CPU seconds':>12} {'MiB':>6}")
    for tool, cost in found.items():
        print(f"{tool:30} {cost.cpu_seconds:12.2f} {cost.peak_mib:6.0f}")


def _figures(found: Mapping[str, Cost]) -> dict[str, float]:
    espalier = found["espalier"]
    return {
        "espalier_over_kubectl_validate_cpu": espalier.cpu_seconds
        / found["kubectl-validate"].cpu_seconds,
        "espalier_over_kubeconform_cpu": espalier.cpu_seconds / found["kubeconform"].cpu_seconds,
        "espalier_cpu_seconds": espalier.cpu_seconds,
        "espalier_mib": espalier.peak_mib,
        "espalier_one_object_cpu_seconds": found["espalier, one object"].cpu_seconds,
    }
