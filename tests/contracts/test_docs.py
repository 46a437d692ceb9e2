"""The documentation is true: generated parts are fresh, every command line is one, links lead somewhere, the README
stays short and quotes the figures it points to.

Covers server.cli.reference.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from typer._click.core import Command, Context
from typer.core import TyperGroup
from typer.main import get_command

from server.cli.app import MODULES, make_app
from server.cli.global_options import FLAG_OPTIONS, GLOBAL_OPTIONS, hoist_global_options
from server.cli.reference import GENERATED_PARTS, replace_between_markers

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]

README_WORDS = 1_200
"""A stranger reads the whole of it, in some five minutes."""

NOT_OURS = {"data", "dist", "build", "node_modules", "__pycache__"}
"""Folders at the root that make, pip and npm fill."""


def blocks(language: str) -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for block in re.findall(
            rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            yield page.name, block


LINES = sorted({(page, line.strip()) for page, block in blocks("sh") for line in block.splitlines() if line.strip()})
OURS = [(page, line) for page, line in LINES if line.startswith("strongroom ")]


@cache
def whole() -> Any:
    """The command ``strongroom``."""
    return get_command(make_app())


def parsed(argv: list[str]) -> Command:
    """The command an argument list means, its options parsed. Raises what typer would print."""
    command = whole()
    context: Context | None = None
    name, args = "strongroom", hoist_global_options(argv)
    while True:
        context = command.make_context(name, args, parent=context)
        left = [*context._protected_args, *context.args]
        if not isinstance(command, TyperGroup) or (command.invoke_without_command and not left):
            return command
        name, command, args = command.resolve_command(context, left)


def commands(command: Any = None, name: str = "") -> Iterator[tuple[str, Any]]:
    command = command or whole()
    if isinstance(command, TyperGroup):
        for child, inner in command.commands.items():
            yield from commands(inner, f"{name} {child}".strip())
    else:
        yield name, command


def options(command: Any) -> Iterator[Any]:
    return (each for each in command.params if each.param_type_name == "option")


def test_there_are_command_lines_to_check() -> None:
    assert len(OURS) > 30


def test_every_command_line_is_one() -> None:
    wrong = []
    for page, line in OURS:
        try:
            parsed(shlex.split(line, comments=True)[1:])
        except Exception as failure:  # noqa: BLE001  each is shown
            wrong.append((page, line, failure))
    assert wrong == []


def test_every_other_program_in_a_shell_block_is_known() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page, line in LINES:
        words = shlex.split(line, comments=True)
        if words[0] == "make":
            assert words[1] in targets, (page, line)
        elif words[:3] == ["claude", "mcp", "add"] and "--" in words:
            parsed(words[words.index("--") + 2 :])
        else:
            assert words[0] in {"strongroom", "claude"}, (page, line)


@pytest.mark.parametrize(("name", "marker", "make"), GENERATED_PARTS, ids=lambda value: str(value)[:20])
def test_generated_parts_are_fresh(name: str, marker: str, make: Any) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert f"<!-- {marker}:begin -->" in text
    assert text == replace_between_markers(text, marker, make()), "run: make docs"


def test_every_command_and_option_is_documented() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    lines = [line for _, line in OURS]
    for name, command in commands():
        assert any(line.startswith(f"strongroom {name}") for line in lines), name
        for option in options(command):
            if option.name not in {"help", "markdown", "tls_cert", "tls_key"}:
                assert option.opts[0] in page, f"{name} {option.opts[0]}"


def test_make_targets_in_the_text_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for target in re.findall(r"`make ([a-z]+)`", page.read_text(encoding="utf-8")):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_json_and_python_in_the_pages_parse() -> None:
    found = 0
    for _, block in blocks("json"):
        json.loads(block)
        found += 1
    for page, block in blocks("python"):
        compile(block, page, "exec")
        exec("\n".join(re.findall(r"^(?:import|from) .*$", block, re.MULTILINE)), {})
        found += 1
    assert found >= 5


# Links and anchors, in every Markdown file of the repository.


def every_page() -> list[Path]:
    """All Markdown files but those in hidden folders and in folders that programs fill."""
    return sorted(
        path
        for path in ROOT.rglob("*.md")
        if (parts := path.relative_to(ROOT).parts)[0] not in NOT_OURS
        and not any(part.startswith(".") for part in parts[:-1])
    )


def prose(page: Path) -> str:
    """The text of a page without its code, where a bracket is no link and ``#`` no heading."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", text)


def anchors(page: Path) -> set[str]:
    """What ``#…`` may name in a page: its headings, spelled as GitHub does, repeated ones numbered."""
    found: set[str] = set()
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for heading in re.findall(r"^#{1,6} +(.+?)(?: +#+)? *$", text, re.MULTILINE):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        found.add(next(each for n in count() if (each := f"{name}-{n}" if n else name) not in found))
    return found


def broken_links(page: Path, root: Path) -> list[str]:
    """The links of a page that lead nowhere, or out of the repository."""
    broken = []
    for target in re.findall(r"\]\(<?([^()\s>]+)>?(?: +\"[^\"]*\")?\)", prose(page)):
        if re.match(r"(?:https?|mailto):", target):
            continue
        name, _, anchor = unquote(target).partition("#")
        path = (page.parent / name).resolve() if name else page
        there = path.exists() and path.is_relative_to(root.resolve())
        if not there or (anchor and anchor not in anchors(path)):
            broken.append(target)
    return broken


def test_links_and_anchors_lead_somewhere() -> None:
    broken = {str(page.relative_to(ROOT)): broken_links(page, ROOT) for page in every_page()}
    assert {page: links for page, links in broken.items() if links} == {}


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("# `serve`: what it does\n\n## Twice\n\n## Twice\n\n```sh\n# no heading\n```\n")
    page.write_text(
        "[a](other.md#serve-what-it-does) [b](other.md#twice-1) [c](#here) [d](https://x.example/#y) `[e](code.md)`\n"
        "[two\nlines](gone.md) [f](other.md#no-heading) [g](#there) [h](../outside.md)\n\n## Here\n"
    )
    (tmp_path.parent / "outside.md").touch()
    assert broken_links(page, tmp_path) == ["gone.md", "other.md#no-heading", "#there", "../outside.md"]


# The README is short, and what it quotes is what the pages say.


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").split()) <= README_WORDS


def test_the_readme_leads_to_every_page() -> None:
    text = README.read_text(encoding="utf-8")
    for page in PAGES[1:]:
        assert f"](docs/{page.name})" in text, page.name


def rows(text: str) -> list[list[str]]:
    """The rows of all tables, cell by cell; an empty first cell repeats the one above."""
    found: list[list[str]] = []
    for line in re.findall(r"^\|(.+)\|$", text, re.MULTILINE):
        cells = [cell.strip() for cell in line.split(" | ")]
        found.append([cells[0] or found[-1][0], *cells[1:]])
    return [row for row in found if not set(row[0]) <= set("-|")]


def section(title: str) -> str:
    return README.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_what_the_readme_says_of_finding_stands_in_the_page() -> None:
    page = rows((ROOT / "docs" / "quality.md").read_text(encoding="utf-8"))
    quoted = rows(section("What it finds"))[1:]
    assert len(quoted) > 3
    for name, measure, bm25, default in quoted:
        assert any(row[:2] == [name, measure] and (row[3], row[6]) == (bm25, default) for row in page), name


def test_what_the_readme_says_of_speed_stands_in_the_page() -> None:
    page = [row[1:] for row in rows((ROOT / "docs" / "figures.md").read_text(encoding="utf-8"))]
    quoted = rows(section("How fast it is"))[1:]
    assert len(quoted) > 3
    for name, *figures in quoted:
        assert figures in page, name


# Commands and options.


def test_flags_are_told_from_options_with_a_value() -> None:
    root: Any = get_command(make_app())
    flags = {"--help", "--version"}
    for _, command in commands():
        for option in options(command):
            if option.is_flag:
                flags |= {name for name in option.opts if name.startswith("--")}
            assert not any(name in GLOBAL_OPTIONS for name in option.opts)
    assert flags == FLAG_OPTIONS
    assert {name for option in options(root) for name in option.opts} - flags == set(GLOBAL_OPTIONS)


def test_each_command_is_made_by_the_module_that_is_imported_for_it() -> None:
    assert {name.partition(" ")[0] for name, _ in commands()} == set(MODULES)
    for word in MODULES:
        alone: Any = get_command(make_app(word))
        assert word in {name.partition(" ")[0] for name, _ in commands(alone)} | {alone.name}
