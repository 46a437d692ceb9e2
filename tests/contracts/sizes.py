"""The longest modules, the longest functions and those with most parameters: a report, which `make check` prints.

A room is judged by whether a stranger finds it and can hold it in mind; a limit bred crumbs and parameters instead.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("vaults", "auth", "ops", "server", "bench", "tests")
LONG_MODULE, LONG_FUNCTION, MANY_PARAMETERS = 400, 40, 6
"""Lines, and positional parameters, from which on something is worth a second look."""


def measure(path: Path) -> Iterator[tuple[str, int, str]]:
    """What of a module is long: the kind, how much, and where."""
    name, text = path.relative_to(ROOT), path.read_text(encoding="utf-8")
    if (lines := len(text.splitlines())) > LONG_MODULE:
        yield "lines of a module", lines, str(name)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and name.parts[0] != "tests":
            place = f"{name}:{node.lineno} {node.name}"
            if (length := (node.end_lineno or 0) - node.lineno + 1) > LONG_FUNCTION:
                yield "lines of a function", length, place
            positional = [each for each in (*node.args.posonlyargs, *node.args.args) if each.arg not in ("self", "cls")]
            if len(positional) > MANY_PARAMETERS:
                yield "positional parameters", len(positional), place


def report() -> str:
    """One line for each, the largest first."""
    sources = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py")))
    found = sorted((each for path in sources for each in measure(path)), key=lambda each: (each[0], -each[1]))
    return "\n".join(f"{many:>5} {kind:<22} {place}" for kind, many, place in found)


if __name__ == "__main__":
    sys.stdout.write(report() + "\n")
