"""
Objects as Helm and as kustomize render them, in a form that can be compared.
"""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.charts.generating import CHART
from tests.charts.tools import helm

HELM_LABELS = {
    "app.kubernetes.io/instance",
    "app.kubernetes.io/version",
    "app.kubernetes.io/managed-by",
    "helm.sh/chart",
}
RENDER_SECONDS = 60.0

Document = dict[str, Any]


class RenderingError(Exception):
    """
    Helm refused the values or the chart; the message is its own.
    """


def rendered(values: Mapping[str, Any] | None = None, *, namespace: str = "default") -> str:
    """
    Render the chart.

    Args:
        values: As in a file of values; those of the chart where it has none.
        namespace: That of the release.

    Raises:
        RenderingError: Helm refused the values.
    """
    return run_helm(
        "template",
        "espalier",
        str(CHART),
        "-n",
        namespace,
        "-f",
        "-",
        stdin=json.dumps(values or {}),
    )


def run_helm(*arguments: str, stdin: str = "", kubeconfig: Path | None = None) -> str:
    """
    Run Helm, and return its output.

    Raises:
        RenderingError: It ended with an error.
    """
    connection = ["--kubeconfig", str(kubeconfig)] if kubeconfig is not None else []
    ended = subprocess.run(
        [helm(), *arguments, *connection],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=RENDER_SECONDS,
    )
    if ended.returncode:
        raise RenderingError(ended.stderr.strip())
    return ended.stdout


def comparable(text: str) -> dict[tuple[str, str, str], Document]:
    """
    Return the objects by kind, namespace and name, without what Helm adds.

    The order of objects and of environment variables is not kept, and empty fields are left out.
    """
    found = {}
    for document in yaml.safe_load_all(text):
        if document is None:
            continue
        metadata = document["metadata"]
        _without_helm(metadata)
        key = (document["kind"], metadata.get("namespace", ""), metadata["name"])
        assert key not in found, key
        found[key] = document
        for container in _containers(document):
            container["env"] = sorted(container.get("env", []), key=lambda entry: entry["name"])
    return found


def _without_helm(metadata: Document) -> None:
    labels = {
        name: value for name, value in metadata.pop("labels", {}).items() if name not in HELM_LABELS
    }
    if labels:
        metadata["labels"] = labels


def _containers(document: Document) -> list[Document]:
    if document["kind"] not in {"Deployment", "Job"}:
        return []
    found: list[Document] = document["spec"]["template"]["spec"]["containers"]
    return found
