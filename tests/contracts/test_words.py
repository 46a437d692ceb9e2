"""Nobody is told to use a tool that is not shown to them: instructions, prompts, guides, hints and warnings are worded
from the same registry and filters as the list of tools.

Covers server.setup.client_config.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from auth.roles import Role
from server import prompts
from server.audience import audience_of
from server.caller_views import WRITE_MODES, View
from server.instructions import instructions
from server.setup import agent_guides, client_config
from server.tool_spec import PRESETS
from server.tools import discover
from vaults.advice import ELSEWHERE_HINT, Advice, Audience, ToolClause, join_clauses, tool_clause

ROOT = Path(__file__).resolve().parents[2]
REGISTRY = discover()
TOOLS = {spec.name for spec in REGISTRY}
VIEWS: list[View] = list(product(Role, PRESETS, WRITE_MODES))
LEAST: View = (Role.READER, "agent", "off")
each_view = pytest.mark.parametrize("view", VIEWS, ids=lambda view: f"{view[0].label}-{view[1]}-{view[2]}")


@cache
def listed(view: View) -> frozenset[str]:
    return frozenset(spec.name for spec in REGISTRY.visible(*view))


def arguments_of(view: View) -> set[str]:
    return {name for spec in REGISTRY.visible(*view) for name in spec.input_schema_for(*view)["properties"]}


def words_in(text: str) -> set[str]:
    """Tools a text of ours names, whether or not the word means one there."""
    return TOOLS & set(re.findall(r"[a-z_]+", text))


@each_view
def test_the_instructions_name_what_is_listed(view: View) -> None:
    text = instructions(audience_of(REGISTRY, view))
    assert words_in(text) <= listed(view)
    assert words_in(text) >= {"session_resume", "recall", "discover_tools"}
    assert ("remember" in text) == ("remember" in listed(view))
    assert ("confirmed: true" in text) == (view[0] > Role.READER and view[2] == "ask")


@each_view
def test_every_prompt_names_what_is_listed(view: View) -> None:
    for prompt in prompts.list_prompts(REGISTRY, view):
        values = {"thread": "x", "to": "y"}
        text = prompt.words(audience_of(REGISTRY, view), values)
        about = [prompt.description, *(each.description for each in prompt.arguments)]
        assert words_in(text) <= listed(view) | arguments_of(view), prompt.name
        assert words_in("\n".join(about)) <= listed(view), prompt.name


PLAIN = {"context", "code"}
"""Words that are tools, and plain English, too."""


@pytest.mark.parametrize(("preset", "write_mode"), list(product(PRESETS, WRITE_MODES)))
def test_what_init_writes_names_what_the_project_s_agents_are_shown(preset: str, write_mode: str) -> None:
    view = (Role.ADMIN, preset, write_mode)
    audience = audience_of(REGISTRY, view)
    assert words_in(join_clauses(agent_guides.POINTER, audience)) <= listed(view) | PLAIN
    assert words_in(join_clauses(agent_guides.GUIDE_TEXT, audience)) <= listed(view) | PLAIN


@pytest.mark.parametrize("preset", PRESETS)
def test_the_lines_for_agents_name_what_their_token_shows(preset: str) -> None:
    assert words_in(client_config.READER_RULES) <= listed((Role.READER, preset, "off"))
    assert words_in(client_config.AGENT_RULES) <= listed((Role.WRITER, preset, "auto"))


@each_view
def test_descriptions_name_what_is_listed(view: View) -> None:
    """A word in a description may be plain English; with a line below or in backticks it is a tool."""
    for spec in REGISTRY.visible(*view):
        schemas = spec.input_schema_for(*view)["properties"].values()
        for text in (spec.description, *(schema.get("description", "") for schema in schemas)):
            named = {name for name in words_in(text) if "_" in name} | (TOOLS & set(re.findall(r"`([a-z_]+)", text)))
            assert named <= listed(view), (spec.name, text)


# Hints and warnings.

VERBS = "lists?|shows?|tells?|undoes|brings?|takes?|sets?|holds?|can|with action|action"
SPOKEN = re.compile(
    "|".join(rf"\b{name}\b" if "_" in name else rf"`{name}\b|\b{name} (?:{VERBS})\b" for name in sorted(TOOLS))
)
"""A tool named in a text: its name, where that is no English word or stands like a subject."""

SAID_BY = {
    "server/tools/entities.py": ("entities",),
    "server/tools/_links.py": ("links",),
    "server/tools/links.py": ("links",),
    "server/tools/doctor.py": ("doctor",),
    "server/tools/schema.py": ("schema",),
    "vaults/domain/insights/note_facts.py": ("insights",),
    "vaults/domain/graph/entities/entity_lookup.py": ("entities",),
}
"""Files whose words only certain tools say: whoever is shown these is shown what the words name."""

ELSEWHERE_WORDED = re.compile(
    r"server/(cli|tool_discovery|toolsets)/|server/(setup/agent_guides|instructions|setup/client_config|prompts)\.py$"
)
"""Words for people, patterns, names of calls that translations make, and texts that are checked as a whole above."""


def files(that_say: str = "") -> Iterator[tuple[str, ast.Module]]:
    for folder in ("vaults", "auth", "server"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not ELSEWHERE_WORDED.search(name) and that_say in (text := path.read_text(encoding="utf-8")):
                yield name, ast.parse(text)


def literal(node: ast.AST) -> str | None:
    """A text as it stands in the code, with a blank name for what is filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(each) or "x" for each in node.values)
    return None


def ways_in(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.Call, ToolClause]]:
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "tool_clause":
            yield node, made(node)


def made(call: ast.Call) -> ToolClause:
    words, *names = [literal(each) for each in call.args]
    assert words is not None, "a way is worded where it stands"
    inside = [each.value for each in call.keywords if each.arg == "instead" and isinstance(each.value, ast.Call)]
    return tool_clause(words, *map(str, names), instead=made(inside[0]) if inside else None)


@cache
def every_way() -> list[tuple[str, ToolClause]]:
    """Of all files. Not while tests are collected: each worker would read them."""
    return [(name, each) for name, tree in files("tool_clause") for _, each in ways_in(ast.walk(tree))]


def test_there_are_words_to_check() -> None:
    assert len(every_way()) > 15


def test_every_name_beside_a_clause_is_one() -> None:
    everything = audience_of(REGISTRY, (Role.ADMIN, "full", "ask"))
    for name, each in every_way():
        assert everything.shown.issuperset(each.names), (name, each)
        said = {found.strip("`").split()[0] for found in SPOKEN.findall(each.words)}
        assert said <= {re.split("[ .]", known)[0] for known in each.names}, (name, each)


@cache
def plain_texts() -> tuple[tuple[str, str], ...]:
    """The texts of each file that say nowhere for whom they are."""
    found = []
    for name, tree in files():
        nodes = list(ast.walk(tree))
        apart = {id(inner) for call, _ in ways_in(nodes) for inner in ast.walk(call)} | documented(nodes)
        texts = (literal(node) for node in nodes if id(node) not in apart)
        found += [(name, text) for text in texts if text is not None]
    return tuple(found)


def test_words_that_name_a_tool_say_so_beside_it() -> None:
    """Else nobody could tell for whom they are. What everybody is shown may be named freely."""
    for name, text in plain_texts():
        if " " not in text or re.search(r"\b(SELECT|INSERT|UPDATE|DELETE|FROM|AND NOT)\b", text):
            continue
        for found in SPOKEN.findall(text):
            tool = found.strip("`").split()[0]
            views = [LEAST] if name not in SAID_BY else [view for view in VIEWS if listed(view) & {*SAID_BY[name]}]
            assert all(tool in listed(view) for view in views), (name, text)


def test_arguments_that_are_taken_but_not_shown_are_recommended_beside_their_name_only() -> None:
    rare = {name for spec in REGISTRY for name in spec.hidden_args} - arguments_of((Role.ADMIN, "agent", "ask"))
    asked_for = re.compile(rf"\b(?:use|pass|set|give|try|raise|with|add) ({'|'.join(sorted(rare))})\b")
    for name, text in plain_texts():
        assert not asked_for.search(text), (name, text)


def documented(nodes: list[ast.AST]) -> set[int]:
    """Docstrings, descriptions of arguments and results, and what a person is told that an action does."""
    bodies = [node.body for node in nodes if isinstance(getattr(node, "body", None), list)]
    told = [each.value for body in bodies for each in body if isinstance(each, ast.Expr)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    told += [each.value for call in calls for each in call.keywords if each.arg in ("description", "summary")]
    told += [each for call in calls if getattr(call.func, "id", "") == "Action" for each in call.args]
    types = [node for node in nodes if isinstance(node, ast.Subscript)]
    told += [each.slice for each in types if getattr(each.value, "id", "") == "Annotated"]
    return {id(inner) for each in told for inner in ast.walk(each)}


@each_view
def test_advice_names_what_is_listed(view: View) -> None:
    audience = audience_of(REGISTRY, view)
    for name, each in every_way():
        said = Advice("look at it", each).to(audience)
        named = {found.strip("`").split()[0] for found in SPOKEN.findall(said)}
        assert named <= listed(view), (name, said)
        if said == f"look at it; {ELSEWHERE_HINT}":
            assert each.among(audience.further), "nobody is sent after what they may not have"


def test_advice_is_whole_for_whoever_is_shown_everything_and_never_says_a_thing_twice() -> None:
    both = Advice(
        tool_clause("a makes it", "a"),
        tool_clause("b mends it", "b", instead=tool_clause("call somebody")),
        tool_clause("c too", "c"),
    )
    assert both == "a makes it; b mends it; c too"
    assert both.to(audience("a", "b", "c")) == both
    assert both.to(audience(further="abc")) == f"{ELSEWHERE_HINT}; call somebody"
    assert both.to(audience()) == "call somebody"
    assert both.to(audience("c")) == "call somebody; c too"


def audience(*shown: str, further: str = "") -> Audience:
    return Audience(frozenset(shown), frozenset(further))


def test_a_listing_and_an_audience_are_of_one_mind() -> None:
    for view in VIEWS:
        shown: Any = audience_of(REGISTRY, view).shown
        assert {name for name in shown if name.isidentifier()} == listed(view)
        assert {name.partition(".")[2] for name in shown if "." in name} == arguments_of(view)
