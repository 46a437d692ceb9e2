"""No test depends on how quick the machine is: nothing measured by a clock is held against a number."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CLOCKS = {"perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time", "thread_time", "time"}
_CLOCK = re.compile(rf"\btime(?:it)?\.(?:{'|'.join(sorted(CLOCKS))})\b")
PATIENT_S = 30
"""Seconds from which on a bound is a safety net, not a claim."""

ALLOWED: dict[str, str] = {}
"""Files that may, each with the reason."""


def _reads_clock(node: ast.AST) -> bool:
    """``time.perf_counter()`` and the like."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return (
        node.func.attr in CLOCKS and isinstance(node.func.value, ast.Name) and node.func.value.id in ("time", "timeit")
    )


def _names(target: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}


def _constants(tree: ast.AST) -> dict[str, float]:
    """Names of a module that stand for a number."""
    return {
        name: float(node.value.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, int | float)
        for target in node.targets
        for name in _names(target)
    }


class _Measured:
    """What of a module holds seconds: differences of clocks, names they are given, functions that return them."""

    def __init__(self, tree: ast.AST) -> None:
        self.tree, self.names, self.functions = tree, set[str](), set[str]()
        size = -1
        while size != (size := len(self.names) + len(self.functions)):
            for node in ast.walk(tree):
                self._learn(node)

    def _learn(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.NamedExpr) and self.holds(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            self.names |= {name for target in targets for name in _names(target)}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            returned = [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value]
            if any(self.holds(value) for value in returned):
                self.functions.add(node.name)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and any(map(self.holds, node.args)):
            self.names |= _names(node.func.value) if node.func.attr == "append" else set()

    def holds(self, node: ast.AST) -> bool:
        """Whether an expression has seconds in it that a clock measured."""
        return any(self._is_seconds(each) for each in ast.walk(node))

    def _is_seconds(self, node: ast.AST) -> bool:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            return any(_reads_clock(each) for each in (node.left, node.right))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return node.func.id in self.functions
        return isinstance(node, ast.Name) and node.id in self.names


def _bounds(node: ast.Compare) -> Iterator[tuple[ast.AST, ast.AST]]:
    """``(what, its upper bound)`` of each part of a comparison."""
    sides = [node.left, *node.comparators]
    for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
        if isinstance(operator, ast.Lt | ast.LtE):
            yield left, right
        elif isinstance(operator, ast.Gt | ast.GtE):
            yield right, left


def claims(source: str) -> list[int]:
    """Lines that assert of what a clock measured that it is less than a number below ``PATIENT_S``."""
    if not _CLOCK.search(source):  # what measures nothing compares nothing, and most files need not be looked through
        return []
    tree = ast.parse(source)
    measured, constants = _Measured(tree), _constants(tree)

    def number(node: ast.AST) -> float | None:
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return float(node.value)
        return constants.get(node.id) if isinstance(node, ast.Name) else None

    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert)
        for compared in ast.walk(node.test)
        if isinstance(compared, ast.Compare)
        for what, bound in _bounds(compared)
        if measured.holds(what) and (limit := number(bound)) is not None and limit < PATIENT_S
    ]


def test_no_test_holds_a_clock_against_a_number() -> None:
    found = {
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        if str(path.relative_to(TESTS)) not in ALLOWED
        for line in claims(path.read_text())
    }
    assert not found, "count work, or compare n with 8 n, by tests/work.py"


@pytest.mark.parametrize(
    "source",
    [
        "began = time.perf_counter()\nassert time.perf_counter() - began < 0.5",
        "began = time.monotonic()\ntook = time.monotonic() - began\nassert took <= 2",
        "began = time.process_time()\nassert 3 > time.process_time() - began",
        "SOON_S = 3.0\nbegan = time.monotonic()\nassert time.monotonic() - began < SOON_S",
        "def cost():\n    began = time.time()\n    return time.time() - began\nassert min(cost(), cost()) < 1",
        "waits = []\nwaits.append(time.time() - 1)\nassert sorted(waits)[2] < 0.25",
    ],
)
def test_a_clock_against_a_number_is_found(source: str) -> None:
    assert claims(source)


@pytest.mark.parametrize(
    "source",
    [
        "began = time.monotonic()\nassert time.monotonic() - began < 60",
        "began = time.monotonic()\nassert time.monotonic() - began > 0.25",
        "began = time.monotonic()\nwhile time.monotonic() - began < 0.1:\n    pass",
        "until = time.monotonic() + 60\nwhile time.monotonic() < until:\n    pass",
        "def cost(n):\n    began = time.time()\n    return time.time() - began\nassert cost(8) < 24 * cost(1)",
    ],
)
def test_what_holds_on_any_machine_is_none(source: str) -> None:
    assert not claims(source)
