"""The documentation is true: generated parts are fresh, every command line is one, links lead somewhere.

Covers server.cli.reference.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer._click.core import Command, Context
from typer.core import TyperGroup
from typer.main import get_command

from server.cli.app import MODULES, make_app
from server.cli.global_options import FLAG_OPTIONS, GLOBAL_OPTIONS, hoist_global_options
from server.cli.reference import GENERATED_PARTS, replace_between_markers

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for block in re.findall(
            rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
        ):
            yield page.name, block


LINES = sorted({(page, line.strip()) for page, block in blocks("sh") for line in block.splitlines() if line.strip()})
OURS = [(page, line) for page, line in LINES if line.startswith("strongroom ")]


def parsed(argv: list[str]) -> Command:
    """The command an argument list means, its options parsed. Raises what typer would print."""
    command: Any = get_command(make_app())
    context: Context | None = None
    name, args = "strongroom", hoist_global_options(argv)
    while True:
        context = command.make_context(name, args, parent=context)
        if not isinstance(command, TyperGroup):
            return command
        name, command, args = command.resolve_command(context, [*context._protected_args, *context.args])


def commands(command: Any = None, name: str = "") -> Iterator[tuple[str, Any]]:
    command = command or get_command(make_app())
    if isinstance(command, TyperGroup):
        for child, inner in command.commands.items():
            yield from commands(inner, f"{name} {child}".strip())
    else:
        yield name, command


def options(command: Any) -> Iterator[Any]:
    return (each for each in command.params if each.param_type_name == "option")


def test_there_are_command_lines_to_check() -> None:
    assert len(OURS) > 30


@pytest.mark.parametrize(("page", "line"), OURS, ids=lambda value: value[:70])
def test_every_command_line_is_one(page: str, line: str) -> None:
    parsed(shlex.split(line, comments=True)[1:])


@pytest.mark.parametrize(("page", "line"), LINES, ids=lambda value: value[:70])
def test_every_other_program_in_a_shell_block_is_known(page: str, line: str) -> None:
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        assert re.search(rf"^{re.escape(words[1])}:", (ROOT / "Makefile").read_text(), re.MULTILINE), line
    elif words[:3] == ["claude", "mcp", "add"] and "--" in words:
        parsed(words[words.index("--") + 2 :])
    else:
        assert words[0] in {"strongroom", "claude"}, line


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target


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
