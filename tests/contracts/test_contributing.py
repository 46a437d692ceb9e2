"""CONTRIBUTING.md is true: each recipe is done in a copy of the repository, from the blocks that stand on the page."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PROSE = re.sub(r"^```.*?^```$", "", PAGE, flags=re.DOTALL | re.MULTILINE)

PACKAGES = ("server", "ops", "auth", "vaults", "bench")
SUPPORT = (
    "code_bases.py", "conftest.py", "blanks.py", "tool_list.py", "fakes.py", "file_reading.py", "people.py", "noted.py",
    "work.py",
)  # fmt: skip
"""Files of ``tests`` that tests of recipes may use."""

MIGRATIONS = "vaults/db/migrations/vault"


@dataclass(frozen=True)
class Block:
    """A block of code under a step: a whole file, or lines to change."""

    path: str
    language: str
    text: str


@dataclass(frozen=True)
class Recipe:
    """``files``: every file that a step begins with; ``blocks``: what is written, in order."""

    title: str
    files: tuple[str, ...]
    blocks: tuple[Block, ...]

    @property
    def made(self) -> set[str]:
        return {block.path for block in self.blocks if block.language != "diff"}

    @property
    def test(self) -> str:
        (path,) = (path for path in self.made if path.startswith("tests/"))
        return path


def _recipes() -> Iterator[Recipe]:
    _, _, part = PAGE.partition("\n# Recipes\n")
    for section in re.split(r"^## ", part, flags=re.MULTILINE)[1:]:
        starts = [found.start() for found in re.finditer(r"^\*\*\d+\.", section, re.MULTILINE)]
        files, blocks = [], []
        for begin, end in pairwise([*starts, len(section)]):
            step = section[begin:end]
            if found := re.match(r"\*\*\d+\. `([^`]+)`\*\*", step):
                files.append(found[1].replace("NNNN", _next_migration()))
                code = re.findall(r"^```(\w+)\n(.*?)^```$", step, re.DOTALL | re.MULTILINE)
                blocks += [Block(files[-1], language, text) for language, text in code]
        yield Recipe(section.partition("\n")[0], tuple(files), tuple(blocks))


def _next_migration() -> str:
    return f"{len(list((ROOT / MIGRATIONS).glob('*.sql'))) + 1:04}"


RECIPES = {recipe.title: recipe for recipe in _recipes()}


def _copy(recipe: Recipe, to: Path) -> None:
    """The packages, what tests stand on, and the other files that the recipe names."""
    for package in PACKAGES:
        shutil.copytree(ROOT / package, to / package, ignore=shutil.ignore_patterns("out"))
    support = [f"tests/{name}" for name in SUPPORT]
    for name in {"pyproject.toml", *support, *recipe.files} - recipe.made:
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name)


def _apply(block: Block, root: Path) -> None:
    path = root / block.path
    if block.language != "diff":
        assert not path.exists(), f"{block.path} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return
    lines = block.text.splitlines(keepends=True)
    assert {line[0] for line in lines} <= {" ", "+", "-", "\n"}, block.text
    old = "".join(line[1:] or "\n" for line in lines if line[0] != "+")
    new = "".join(line[1:] or "\n" for line in lines if line[0] != "-")
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{block.path} has {text.count(old)} places like this:\n{old}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def _run(root: Path, *command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.e2e  # each runs a suite of its own
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.title)
def test_a_recipe_works_as_it_stands(recipe: Recipe, tmp_path: Path) -> None:
    _copy(recipe, tmp_path)
    for block in recipe.blocks:
        _apply(block, tmp_path)
    written = sorted({block.path for block in recipe.blocks if block.path.endswith(".py")})
    _run(tmp_path, "ruff", "check", "--no-cache", "--quiet", *written)
    _run(tmp_path, "ruff", "format", "--no-cache", "--check", *written)
    _run(tmp_path, "pytest", recipe.test)


def test_there_is_a_recipe_for_what_is_asked_for_most() -> None:
    assert list(RECIPES) == [
        "Add a tool", "Add a setting", "Add an embedding engine", "Add a memory type", "Add a ranking weight",
        "Add a migration",
    ]  # fmt: skip


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.title)
def test_every_block_belongs_to_a_file_and_every_file_is_there_or_made(recipe: Recipe) -> None:
    section = re.split(rf"^## {re.escape(recipe.title)}$", PAGE, flags=re.MULTILINE)[1].partition("\n## ")[0]
    assert len(re.findall(r"^```\w+$", section, re.MULTILINE)) == len(recipe.blocks)
    for path in recipe.files:
        assert path in recipe.made or (ROOT / path).is_file(), path


def test_paths_on_the_page_lead_somewhere() -> None:
    made = {path for recipe in RECIPES.values() for path in recipe.made}
    named = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]+/?)`", PROSE)) | set(
        re.findall(r"`([A-Z]\w+\.md|[a-z]+\.toml)`", PROSE)
    )
    assert len(named) > 50
    missing = {
        path for path in named if not (ROOT / path).exists() and path.replace("NNNN", _next_migration()) not in made
    }
    assert not missing


def test_each_target_of_make_is_told_of() -> None:
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    told = re.findall(r"^\| `make ([a-z-]+)`", PAGE, re.MULTILINE)
    undescribed = {"snapshots"}
    assert set(told) == {*targets, *undescribed}


def test_tests_named_on_the_page_exist() -> None:
    for path, name in re.findall(r"pytest (tests/\S+\.py)(?:::(\w+))?", PAGE):
        assert f"def {name or 'test_'}" in (ROOT / path).read_text(encoding="utf-8"), (path, name)
