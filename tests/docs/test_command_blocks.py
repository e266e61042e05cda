"""
Every block of commands is run by a test, or it is listed here with the reason why it is not.
"""

import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from espalier.cli import main
from tests.docs.reading import PAGES, ROOT, text_of
from tests.docs.test_reference import TARGETS

RUN_BY = {
    "README.md": "tests/docs/test_readme.py",
    "docs/how-to/cli-in-ci.md": "tests/docs/test_commands.py",
    "docs/tutorial/first-steps.md": "tests/docs/test_tutorial.py",
    "docs/tutorial/from-a-new-version-to-a-dropped-one.md": "tests/e2e/test_tutorial.py",
}
"""The tests that read the blocks of a page and run those that show output."""

LIKE = {
    "CONTRIBUTING.md": "tests/docs/test_reference.py",
    "docs/how-to/accept-a-loss.md": "tests/e2e/test_loss_attacks.py",
    "docs/how-to/admission-policies.md": "tests/e2e/test_policies.py",
    "docs/how-to/gate-an-upgrade.md": "tests/e2e/test_plan.py",
    "docs/how-to/grant-rights.md": "tests/e2e/test_rights.py",
    "docs/how-to/pause.md": "tests/e2e/test_global_pause.py",
    "docs/how-to/restore.md": "tests/e2e/test_legacy.py",
    "docs/how-to/rotate-encryption-keys.md": "tests/e2e/test_key_rotation.py",
    "docs/how-to/run-as-a-job.md": "tests/e2e/test_parts.py",
    "docs/how-to/run-at-night.md": "tests/e2e/test_restricting.py",
    "docs/how-to/run-replicas.md": "tests/e2e/test_replicas.py",
    "docs/how-to/uninstall.md": "tests/e2e/test_uninstalling.py",
    "docs/operations/verify.md": "tests/release/test_signing.py",
}
"""The tests that do the same as the blocks of a page, with other names and less time to wait."""

NOT_RUN = {
    "charts": "needs a registry with the image; tests/charts render it",
    "docs/how-to/after-a-restored-etcd.md": "needs a restored cluster; make soak restores etcd",
    "docs/how-to/upgrade.md": "needs two releases and a kubelet",
    "docs/how-to/install-with-helm.md": "needs a registry with the image; tests/charts render it",
    "docs/how-to/install-without-a-network.md": "needs Docker; make bundle tries its archive",
    "docs/how-to/look-at-the-page.md": "port-forward needs a kubelet",
    "docs/how-to/page-somebody.md": "needs a cluster with labelled definitions",
    "docs/how-to/run-with-kopf.md": "runs until it is stopped; tests/handlers start the module",
    "docs/how-to/share-with-in-tree-migrations.md": "needs a controller that migrates",
    "docs/how-to/survey-a-fleet.md": "asks several clusters; tests/cli do so with sandboxes",
    "docs/operations/runbooks": "asks the pods of an operator, so it needs a kubelet",
}
"""Pages and folders, and why their blocks are run by no test."""

# Blocks of list items are indented.
_BLOCK = re.compile(r"^( *)```(sh|console|bash)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def commands(page: Path) -> Iterator[str]:
    for _, language, block in _BLOCK.findall(text_of(page)):
        text = textwrap.dedent(block).replace("\\\n", " ")
        lines = text.splitlines()[:1] if language == "console" else text.splitlines()
        for line in lines:
            yield from re.split(r"\s\|\s|;\s|&&", line.removeprefix("$ ").strip())


PAGES_WITH_COMMANDS = [page for page in PAGES if any(True for _ in commands(page))]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=name_of)
def test_a_page_with_commands_is_run_or_has_a_reason(page: Path) -> None:
    name = name_of(page)
    listed = [place for place in (*RUN_BY, *LIKE, *NOT_RUN) if Path(name).is_relative_to(place)]

    assert len(listed) == 1, name


@pytest.mark.parametrize("test", sorted({*RUN_BY.values(), *LIKE.values()}))
def test_a_test_that_is_listed_is_there(test: str) -> None:
    assert (ROOT / test).is_file()


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=name_of)
def test_a_command_that_is_shown_exists_with_its_options(page: Path) -> None:
    for line in commands(page):
        words = shlex.split(line, comments=True)
        if words[:1] == ["make"]:
            targets = [word for word in words[1:] if "=" not in word and not word.startswith("-")]
            assert set(targets) <= set(TARGETS), line
        if words[:1] == ["espalier"]:
            _look_up(words[1:], line)


def _look_up(words: list[str], line: str) -> None:
    command: click.Command = main
    context = click.Context(main)
    while isinstance(command, click.Group):
        name = words.pop(0)
        found = command.get_command(context, name)
        assert found is not None, line
        command = found
    known = {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)}
    used = {word.partition("=")[0] for word in words if word.startswith("-") and word != "-"}
    assert used <= known | {"-vv", "--help"}, line
