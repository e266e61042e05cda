"""
The command line as a whole: help, exit codes, and one clear line where the world is not in order.
"""

import logging
import socket
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from espalier.cli import main
from espalier.cli.commands.operator import operator
from espalier.cli.output.error_exits import IncompleteError, exit_of, text_of
from espalier.cli.output.exit_codes import Exit
from espalier.errors import (
    ArchiveFullError,
    ConfigurationError,
    DefinitionChangedError,
    EspalierError,
    LeaseLostError,
    MalformedDefinitionError,
    NamespaceGoneError,
    NotFoundError,
    SourceError,
    TransientError,
)
from espalier.handlers.settings import Settings

ENDINGS: list[tuple[EspalierError, Exit]] = [
    (ConfigurationError("x"), Exit.USAGE),
    (SourceError("x", "y"), Exit.UNREADABLE),
    (TransientError(verb="get", resource="x"), Exit.UNREADABLE),
    (MalformedDefinitionError((), "x"), Exit.UNREADABLE),
    (ArchiveFullError("x"), Exit.INCOMPLETE),
    (DefinitionChangedError("x", "y"), Exit.INCOMPLETE),
    (LeaseLostError("x", "y"), Exit.INCOMPLETE),
    (IncompleteError("x"), Exit.INCOMPLETE),
]


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in ("", "espalier", "kopf", "aiohttp.access")]
    handlers, levels = loggers[0].handlers[:], [logger.level for logger in loggers]
    yield
    loggers[0].handlers[:] = handlers
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(
    ("error", "code"), ENDINGS, ids=[type(error).__name__ for error, _ in ENDINGS]
)
def test_each_error_has_its_exit_code(error: EspalierError, code: Exit) -> None:
    assert exit_of(error) is code


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            NotFoundError(
                verb="get",
                resource="customresourcedefinitions.apiextensions.k8s.io widgets",
                status=404,
                is_object=True,
            ),
            "widgets: the definition does not exist",
        ),
        (
            NamespaceGoneError(verb="create", resource="x", status=404, namespace="a"),
            (
                "namespace a, where Espalier keeps its data, does not exist: create it, or name"
                " another one by --operator-namespace"
            ),
        ),
        (SourceError("x", "y"), str(SourceError("x", "y"))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_names_what_is_not_there_in_words(error: EspalierError, text: str) -> None:
    assert text_of(error) == text


def test_an_error_does_not_repeat_the_name_before_it() -> None:
    error = MalformedDefinitionError((), "widgets: no version v7")

    assert text_of(error, "widgets") == "no version v7"


def test_help_teaches_what_to_do_first() -> None:
    result = run("--help")

    assert result.exit_code == 0
    assert "espalier check crd.yaml" in result.output
    for name in main.list_commands(click.Context(main)):
        assert f"\n  {name}" in result.output


@pytest.mark.parametrize("name", main.list_commands(click.Context(main)))
def test_each_command_shows_its_exit_codes(name: str) -> None:
    result = run(name, "--help")

    assert result.exit_code == 0
    assert "Exit codes:\n    0  " in result.output


def all_commands(group: click.Group, *names: str) -> Iterator[tuple[str, ...]]:
    for name in group.list_commands(click.Context(main)):
        yield (*names, name)
        found = group.get_command(click.Context(main), name)
        if isinstance(found, click.Group):
            yield from all_commands(found, *names, name)


@pytest.mark.parametrize("names", [(), *all_commands(main)], ids=" ".join)
def test_help_fits_a_terminal_of_eighty_columns(names: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, (*names, "--help"), terminal_width=80)

    assert [line for line in result.output.splitlines() if len(line) > 80] == []
    assert not any(line.endswith("...") for line in result.output.splitlines()[1:])


def test_an_unknown_command_is_a_usage_error() -> None:
    assert run("xyz").exit_code == 2


def test_a_misspelt_command_is_a_usage_error_that_names_the_right_one() -> None:
    result = run("prnue", "a.yaml")

    assert "No such command 'prnue'. Did you mean 'prune'?" in result.stderr
    assert result.exit_code == 2


def test_every_setting_has_a_flag_that_shows_its_default() -> None:
    flags = {option.name: option for option in operator.params if isinstance(option, click.Option)}

    for known in fields(Settings):
        assert flags[known.name].help
        assert flags[known.name].opts == ["--" + known.name.replace("_", "-")]
    assert "[default: 30]" in run("operator", "--help").output


@pytest.mark.parametrize(
    "arguments",
    [
        ("operator",),
        ("restore", "widgets.example.com"),
        ("restore", "widgets.example.com", "--list"),
    ],
    ids=" ".join,
)
class TestWithoutACluster:
    def test_a_kubeconfig_that_is_not_there_is_one_line(self, arguments: tuple[str, ...]) -> None:
        result = run(*arguments, "--kubeconfig", "no/such/file")

        assert_one_line(result, "no/such/file", codes=(2, 3))

    def test_a_kubeconfig_that_names_nothing_is_one_line(
        self, arguments: tuple[str, ...], tmp_path: Path
    ) -> None:
        empty = tmp_path / "empty"
        empty.write_text("apiVersion: v1\nkind: Config\n")

        result = run(*arguments, "--kubeconfig", str(empty))

        assert_one_line(result, "no current context", codes=(2, 3))

    def test_an_api_server_that_is_not_there_is_one_line(
        self, arguments: tuple[str, ...], tmp_path: Path
    ) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # bound, and not listening: every connection is refused
            url = f"http://127.0.0.1:{taken.getsockname()[1]}"
            file = tmp_path / "kubeconfig"
            file.write_text(
                f"clusters: [{{name: a, cluster: {{server: '{url}'}}}}]\n"
                "users: [{name: a, user: {}}]\n"
                "contexts: [{name: a, context: {cluster: a, user: a}}]\n"
                "current-context: a\n"
            )

            result = run(*arguments, "--kubeconfig", str(file))

        assert_one_line(result, "ConnectionFailed", codes=(3,))


def test_a_setting_out_of_bounds_is_a_usage_error() -> None:
    result = run("operator", "--page-size", "0")

    assert_one_line(result, "page_size: 0 is not between 1 and 10000", codes=(2,))


def test_the_demo_on_a_real_cluster_needs_its_etcd() -> None:
    assert_one_line(run("demo", "--kubeconfig-from-env"), "make demo-real", codes=(2,))


def assert_one_line(result: Result, text: str, *, codes: tuple[int, ...]) -> None:
    assert text in result.stderr
    assert result.stderr.startswith("espalier: ")
    assert result.stderr.count("\n") == 1
    assert result.exit_code in codes
