"""
``espalier validate`` and a real server have the same verdict on new objects, for the same causes.
"""

import http.client
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from espalier.cli.checks.catalogue import DefinitionCatalogue
from espalier.cli.checks.object import (
    FieldValidation,
    ObjectStatus,
    ObjectVerdict,
    ValidationContext,
    validate_document,
)
from espalier.cli.input.files import Document, read_documents
from espalier.cli.result import Level
from espalier.schema import Profile
from tests.e2e.controlplane.api import CRDS, ApiError
from tests.e2e.controlplane.running import ControlPlane
from tests.e2e.crds import GROUP
from tests.e2e.crds import Document as Manifest
from tests.e2e.creations import KINDS, Creation, Kind, creations
from tests.e2e.waiting import eventually

pytestmark = pytest.mark.e2e

COUNT = int(os.environ.get("ESPALIER_CREATIONS", "1000"))
SEED = int(os.environ.get("ESPALIER_CREATIONS_SEED", "1"))
UNKNOWN = re.compile(r'(unknown|duplicate) field "(.*)"', re.DOTALL)
WARNING = re.compile(r'299 \S+ "(.*)"', re.DOTALL)
SET_ALREADY = re.compile(r'line \d+: key "(.*?)" already set in map')
# A generated name: its prefix, as far as it is used, and a random suffix.
GENERATED = re.compile(r'(^metadata\.name: Invalid value: "(?:[Aa]-|-|a_|b{58}))[a-z0-9]{5}":')
CANNOT = re.compile(r'.* in version ".*?" cannot be handled as a \w+: ', re.DOTALL)


class Told(NamedTuple):
    """
    An answer in a form that both give: whether it is refused, and the texts of the causes.

    Attributes:
        strict: The unknown and duplicate fields; with Strict they are the causes, with Warn
            warnings.
    """

    accepted: bool
    causes: Mapping[str, int]
    strict: Mapping[str, int]


def manifest(kind: Kind) -> Manifest:
    names = {
        "plural": kind.plural,
        "singular": kind.plural.removesuffix("s"),
        "kind": kind.plural.title(),
        "listKind": f"{kind.plural.title()}List",
    }
    versions = [{**one, "storage": one["name"] == "v1"} for one in kind.versions]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": kind.scope, "names": names, "versions": versions},
    }


def path_of(kind: Kind, version: str, namespace: str) -> str:
    within = f"namespaces/{namespace}/" if kind.scope == "Namespaced" else ""
    return f"/apis/{GROUP}/{version}/{within}{kind.plural}"


@pytest.fixture
def defined(control_plane: ControlPlane) -> Iterator[DefinitionCatalogue]:
    catalogue = DefinitionCatalogue()
    for kind in KINDS:
        control_plane.api.post(CRDS, manifest(kind))
        catalogue.add(manifest(kind), where=kind.plural)

    def served() -> None:
        for kind in KINDS:
            try:
                control_plane.api.get(path_of(kind, "v1", "default"))
            except ApiError as error:
                raise AssertionError(str(error)) from error

    eventually(served)
    yield catalogue
    for kind in KINDS:
        control_plane.api.delete(f"{CRDS}/{kind.plural}.{GROUP}")


def asked(
    connection: http.client.HTTPSConnection,
    headers: Mapping[str, str],
    one: Creation,
    mode: FieldValidation,
) -> Told:
    path = (
        f"{path_of(one.kind, one.version, one.namespace)}?dryRun=All&fieldValidation={mode.title()}"
    )
    connection.request(
        "POST", path, one.text.encode(), {**headers, "Content-Type": one.content_type}
    )
    response = connection.getresponse()
    answer = response.read()
    if response.status < http.client.BAD_REQUEST:
        return Told(accepted=True, causes={}, strict=warned(response.headers))
    if response.status == http.client.NOT_FOUND:
        return Told(accepted=False, causes={"404": 1}, strict={})
    status = json.loads(answer)
    if response.status == http.client.UNPROCESSABLE_ENTITY:
        causes = [f"{cause['field']}: {cause['message']}" for cause in status["details"]["causes"]]
        if '"generateName"' in one.text:
            causes = [GENERATED.sub(r'\1xxxxx":', cause) for cause in causes]
        return Told(accepted=False, causes=Counter(causes), strict=warned(response.headers))
    text = CANNOT.sub("", status["message"])
    strict = text.removeprefix("strict decoding error: ")
    if strict != text:
        return Told(accepted=False, causes={}, strict=Counter(strict_in(strict)))
    return Told(accepted=False, causes={text: 1}, strict={})


def strict_in(text: str) -> list[str]:
    """
    Return the unknown and duplicate fields that a strict decoding error or a warning names.
    """
    # Of a YAML text the server tells the line and the key, of JSON the whole path.
    keys = [f"duplicate {key}" for key in SET_ALREADY.findall(text)]
    found = [UNKNOWN.fullmatch(one) for one in re.split(r", (?=unknown|duplicate)", text)]
    return [*keys, *(f"{match[1]} {match[2]}" for match in found if match)]


def warned(headers: http.client.HTTPMessage) -> Counter[str]:
    """
    Return the unknown and duplicate fields that the server warns of.
    """
    texts = [WARNING.fullmatch(header) for header in headers.get_all("Warning", [])]
    plain = [re.sub(r"\\(.)", r"\1", match[1]) for match in texts if match]
    return Counter(one for text in plain for one in strict_in(text))


def said(document: Document, verdict: ObjectVerdict, mode: FieldValidation) -> Told:
    """
    Return our own answer.
    """
    causes: Counter[str] = Counter()
    strict: Counter[str] = Counter()
    for finding in verdict.findings:
        match finding.rule.partition("/")[2]:
            case "unknown-field":
                strict["unknown " + finding.message.partition(": unknown field: ")[0]] += 1
            case "duplicate-field":
                path = finding.message.partition(": duplicate field: ")[0]
                strict[f"duplicate {path}"] += 1
            case "not-served":
                causes["404"] += 1
            case _:
                causes[finding.message] += finding.level is Level.ERROR
    duplicates = [one for one in strict if one.startswith("duplicate ")]
    if duplicates and not document.is_json:
        for one in duplicates:
            del strict[one]
        strict.update(f"duplicate {one.path[-1]}" for one in document.duplicates)
    if mode is FieldValidation.STRICT and strict:
        # The server looks no further.
        causes.clear()
    return Told(verdict.status is not ObjectStatus.INVALID, +causes, strict)


def test_new_objects_are_refused_for_the_servers_causes(
    control_plane: ControlPlane, defined: DefinitionCatalogue, tmp_path: Path
) -> None:
    connection = control_plane.api.connect()
    file = tmp_path / "object.yaml"
    verdicts: Counter[bool] = Counter()
    different = []
    for one in creations(COUNT, SEED):
        file.write_text(one.text, encoding="utf-8")
        for mode in FieldValidation:
            theirs = asked(connection, control_plane.api.headers, one, mode)
            context = ValidationContext(
                catalogue=defined,
                profile=Profile.APISERVER,
                namespace="default",
                field_validation=mode,
            )
            (document,) = read_documents(str(file), keeps_duplicates=True)
            ours = said(document, validate_document(document, context), mode)
            verdicts[ours.accepted] += 1
            if ours != theirs:
                different.append((mode, one.text, theirs, ours))
    connection.close()

    shown = "\n\n".join("\n".join(map(str, each)) for each in different[:12])
    assert not different, f"{len(different)} of {3 * COUNT} differ:\n{shown}"
    assert min(verdicts.values()) > COUNT // 4, verdicts
