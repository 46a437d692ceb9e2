"""Whoever changes a module finds its test: at the same path, or in a test that names the module in its docstring."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from tests.conftest import TESTS, WHOLE_MODULES

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("vaults", "auth", "ops", "server")


def _modules() -> dict[str, str]:
    """Name with dots to path, of every module that holds code of its own."""
    paths = [path.relative_to(ROOT) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return {
        ".".join(path.with_suffix("").parts): path.as_posix()
        for path in paths
        if path.name not in ("__init__.py", "__main__.py")
    }


MODULES = _modules()
DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)
NAMED = re.compile(r"(?:vaults|auth|ops|server)(?:\.\w+)+|(?:vaults|auth|ops|server)(?:/\w+)+\.py")


@cache
def named_in_docstrings() -> set[str]:
    """What docstrings of test modules name, as names with dots."""
    found: set[str] = set()
    for test in (ROOT / "tests").rglob("test_*.py"):
        said = DOCSTRING.match(test.read_text(encoding="utf-8"))
        found |= {name.removesuffix(".py").replace("/", ".") for name in NAMED.findall(said[1] if said else "")}
    return found


def _mirrored(path: str) -> bool:
    mirror = ROOT / "tests" / path
    return mirror.with_name(f"test_{mirror.stem.strip('_')}.py").is_file()


def covered() -> set[str]:
    return {name for name, path in MODULES.items() if _mirrored(path) or name in named_in_docstrings()}


UNCOVERED_BY_NAME = frozenset(
    {
        "server.call",
        "server.cli.hook",
        "server.cli.models",
        "server.cli.stdio",
        "server.errors",
        "server.remote_vault.single_call",
        "server.services",
        "server.settings",
        "server.shared_resources",
        "server.tools._filters",
        "server.tools._lines",
        "server.tools._notes",
        "server.tools.notes_read",
        "server.vault_admin",
        "vaults.db.engine",
        "vaults.domain.continuity.activity_report",
        "vaults.domain.graph.links.semantic_guesses",
        "vaults.domain.graph.svg.layout",
        "vaults.domain.graph.svg.pictures",
        "vaults.domain.memories.contradictions.german",
        "vaults.domain.memories.contradictions.statement_words",
        "vaults.domain.memories.quotas",
        "vaults.domain.memories.visibility",
        "vaults.domain.notes.commit.journal",
        "vaults.domain.notes.index.note_rows",
        "vaults.domain.policies.filters",
        "vaults.domain.policies.lookups",
        "vaults.domain.secrets.token_patterns",
        "vaults.domain.text.plurals",
        "vaults.errors",
        "vaults.graph.names.name_tokens",
        "vaults.graph.note_graph",
        "vaults.heap",
        "vaults.markdown.edit.placement",
        "vaults.markdown.link_resolution",
        "vaults.search.word_forms",
        "vaults.settings",
    }
)
"""Modules that are tested, if at all, only through others: no test says by its path or docstring that it is theirs. To
be made shorter, never longer."""


def test_each_module_has_a_test_that_is_found() -> None:
    missing = sorted(MODULES.keys() - covered() - UNCOVERED_BY_NAME)
    assert not missing, (
        "add a test at the mirrored path, or name the module in the docstring of the test that covers it"
    )


def test_what_has_one_by_now_leaves_the_list() -> None:
    assert sorted(UNCOVERED_BY_NAME & covered()) == []


def test_the_list_names_modules_that_are_there() -> None:
    assert sorted(UNCOVERED_BY_NAME - MODULES.keys()) == []


def test_docstrings_name_modules_that_are_there() -> None:
    packages = {name.rpartition(".")[0] for name in MODULES}
    packages |= {name.rpartition(".")[0] for name in packages}
    assert sorted(named_in_docstrings() - MODULES.keys() - packages) == []


def test_modules_that_start_whole_programs_are_where_they_are_said_to_be() -> None:
    assert [path for path in WHOLE_MODULES if not (TESTS / path).is_file()] == []
