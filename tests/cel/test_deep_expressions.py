"""
Expressions that nest deep: verdicts, costs and messages of a kube-apiserver 1.37.2.
"""

from collections.abc import Callable

import pytest

from tests.cel.evaluating import Evaluator

GRAMMAR = "ERROR: <input>:-1:0: expression recursion limit exceeded: 250"
VISIT = "ERROR: <input>:-1:0: max recursion depth exceeded"
EVALUATOR = Evaluator(
    {"type": "object", "properties": {"s": {"type": "string"}}}, {"s": "x"}, {"s": "x"}
)

# The greatest number of repetitions that compiles, its cost, and the message of the next one.
LIMITS: dict[str, tuple[Callable[[int], str], int, int, str]] = {
    "sum": (lambda n: "+".join(["1"] * n) + " > 0", 250, 250, VISIT),
    "equality": (lambda n: "==".join(["true"] * n), 251, 250, VISIT),
    "conditional": (lambda n: "true ? true : " * n + "true", 249, 0, GRAMMAR),
    "parentheses": (lambda n: "(" * n + "true" + ")" * n, 249, 0, GRAMMAR),
    "negation": (lambda n: "!(" * n + "true" + ")" * n, 249, 249, GRAMMAR),
    "selections": (lambda n: "dyn(self)" + ".a" * n, 250, 0, VISIT),
    "calls": (lambda n: "self.s" + ".trim()" * n + " == 'x'", 248, 251, VISIT),
    "indices": (lambda n: "dyn([1])" + "[0]" * n + " == 1", 249, 0, VISIT),
    "lists": (lambda n: "[" * n + "]" * n + " == []", 250, 0, GRAMMAR),
    "maps": (lambda n: "{'a':" * n + "1" + "}" * n + " == {}", 249, 0, GRAMMAR),
    "operands of sums": (lambda n: "1+(" * n + "1" + ")" * n + " > 0", 124, 125, GRAMMAR),
    "operands of products": (lambda n: "1+1*(" * n + "1" + ")" * n + " > 0", 83, 167, GRAMMAR),
    "operands of equality": (lambda n: "true==(" * n + "true" + ")" * n, 124, 124, GRAMMAR),
    "macros": (lambda n: "[1].all(x," * n + "true" + ")" * n, 249, 0, GRAMMAR),
}


@pytest.mark.parametrize("name", LIMITS)
def test_the_limit_is_the_servers(name: str) -> None:
    text_of, most, _, refusal = LIMITS[name]

    assert EVALUATOR.tell(text_of(most + 1)) == {"compileError": refusal}
    assert "compileError" not in EVALUATOR.tell(text_of(most))


@pytest.mark.parametrize("name", ["sum", "equality", "negation", "calls", "operands of products"])
def test_a_deep_expression_costs_what_it_costs_the_server(name: str) -> None:
    text_of, most, cost, _ = LIMITS[name]

    assert EVALUATOR.tell(text_of(most))["cost"] == cost


def test_nothing_is_evaluated_before_the_visit_is_too_deep() -> None:
    text = "[for, " + "+".join(["1"] * 251) + "] == []"

    assert EVALUATOR.tell(text)["compileError"].split("\n") == [
        VISIT,
        "ERROR: <input>:1:2: reserved identifier: for",
        f" | {text}",
        " | .^",
    ]


@pytest.mark.parametrize(
    ("text", "at", "problem"),
    [
        ("(" * 60 + "true", 64, "mismatched input '<EOF>' expecting ')'"),
        ("(" * 60 + "true" + ")" * 61, 124, "extraneous input ')' expecting <EOF>"),
        ("(" * 60 + "a.1" + ")" * 60, 61, "extraneous input '.1' expecting ')'"),
        ("a" * 2 + ".b" * 60 + " 'c'", 123, "extraneous input ''c'' expecting <EOF>"),
    ],
)
def test_a_syntax_error_in_a_deep_expression_is_found(text: str, at: int, problem: str) -> None:
    (line, *_) = EVALUATOR.tell(text)["compileError"].split("\n")

    assert line == f"ERROR: <input>:1:{at + 1}: Syntax error: {problem}"
