"""Which tool a task is advised: by its words, by meaning, by what callers said; and to whom what is shown.

Covers server.tool_discovery.patterns, server.tool_discovery.ranking, server.tool_discovery.similarity.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from auth.roles import Role
from server.services import Services
from server.tool_discovery import patterns, ranking, similarity
from server.tool_discovery.patterns import find_matches
from server.tools import discover
from tests.conftest import Opening, asker
from tests.fakes import HashEmbedder
from tests.people import person, rewrite
from tests.server.rendering.answers import is_told
from tests.work import assert_linear
from vaults.domain.continuity import feedback
from vaults.embed.engines import load_embedder
from vaults.settings import EmbeddingSettings

SPECS = list(discover())
TASKS = (
    ("rename a tag everywhere", "schema"),
    ("change the tag todo into task across my vault", "schema"),
    ("convert a frontmatter field to a list in all notes", "schema"),
    ("which values does the field status have", "schema"),
    ("how do people here usually name their files", "schema"),
    ("what links to this note", "graph"),
    ("how are these two notes connected", "graph"),
    ("find orphan notes", "graph"),
    ("draw the graph of my notes", "graph"),
    ("find broken links and repair them", "links"),
    ("suggest links for my draft", "links"),
    ("notes that mention Ann without a link", "links"),
    ("merge two notes about the same person", "entities"),
    ("give a note another name it is known by, an alias", "entities"),
    ("which notes are stale", "insights"),
    ("how did this project evolve over time", "insights"),
    ("run the weekly review procedure", "policies"),
    ("the user corrected me: that is wrong", "corrections"),
    ("who is working on the parser", "claims"),
    ("is anybody else editing this file", "claims"),
    ("undo my last change", "history"),
    ("I need to see earlier revisions of roadmap.md", "history"),
    ("move a note into another folder", "note_move"),
    ("delete an old note", "note_delete"),
    ("create a note from a template", "note_write"),
    ("append a line to today's daily note", "note_edit"),
    ("set the status property of this note to done", "frontmatter_update"),
    ("list notes tagged project that changed this week", "find_notes"),
    ("add a task with a due date", "tasks"),
    ("which tasks are overdue", "tasks"),
    ("hand my work over to a colleague", "handoff_create"),
    ("is there a handoff waiting for me", "handoff_load"),
    ("save where I stopped before I leave", "session_save"),
    ("pick up yesterday's work", "session_resume"),
    ("what happened in this vault last week", "session_history"),
    ("keep the state of my work at a milestone", "checkpoint"),
    ("which lines of work are open", "threads"),
    ("remember that we use SQLite", "remember"),
    ("what did we decide about the database", "recall"),
    ("replace an outdated memory", "memory_supersede"),
    ("forget this memory", "memory_forget"),
    ("link a memory to a note", "memory_link"),
    ("list all memories page by page", "memory_list"),
    ("why did the search rank this first", "explain"),
    ("how much does memory cost us in tokens", "usage"),
    ("report a bug in one of the tools", "feedback"),
    ("rebuild the search index", "reindex"),
    ("make a backup before I delete things", "backup"),
    ("something is slow, what is wrong with the vault", "doctor"),
    ("make a new vault for the team", "vaults"),
)


def advised(task: str, near: dict[str, float] | None = None, right: dict[str, float] | None = None) -> list[str]:
    return [each.spec.name for each in ranking.rank_tools(SPECS, task, near or {}, right or {})]


@pytest.mark.parametrize(("task", "tool"), TASKS)
def test_by_its_words_alone_a_task_finds_its_tool(task: str, tool: str) -> None:
    assert tool in advised(task)


def test_every_pattern_names_a_tool_there_is_and_an_action_it_has() -> None:
    from server.tool_discovery.patterns import _rows

    known = {spec.name: spec for spec in SPECS}
    assert [(tool, action) for tool, action, _, _ in _rows() if tool not in known] == []
    assert [(tool, action) for tool, action, *_ in _rows() if action and action not in known[tool].actions] == []


def test_at_most_three_tools_are_named_each_of_another_group() -> None:
    everything = " and ".join(task for task, _ in TASKS[:12])
    found = ranking.rank_tools(SPECS, everything, {spec.name: 0.9 for spec in SPECS}, {})
    assert len({each.spec.group for each in found}) == len(found) == 3
    assert advised("qwerty", {"note_move": 0.9, "note_delete": 0.8, "history": 0.7, "graph": 0.4}) == [
        "note_move",
        "graph",
    ]


def test_words_come_before_meaning_and_what_is_shown_anyway_comes_last() -> None:
    assert advised("rename a tag everywhere", {"graph": 0.99, "remember": 0.98})[:2] == ["schema", "graph"]
    assert advised("qwerty uiop asdf", {"graph": 0.4, "remember": 0.39, "unknown": 0.9}) == ["graph"]
    assert advised("qwerty uiop asdf", {"remember": 0.4}) == ["remember"]
    assert advised("qwerty uiop asdf") == []


def test_feedback_shifts_what_is_near_and_never_hides_what_words_name() -> None:
    near = {"graph": 0.40, "insights": 0.42}
    assert advised("qwerty uiop asdf", near) == ["insights", "graph"]
    assert advised("qwerty uiop asdf", near, {"insights": 0.5, "graph": 0.95}) == ["graph", "insights"]
    assert "schema" in advised("rename a tag everywhere", near, {"schema": 0.0})


@pytest.mark.parametrize("words", ["find ", "which values ", "rename ", "a ", "["])
def test_no_text_makes_patterns_slow(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "TASK_CHARACTERS", 1_000_000)
    assert_linear(patterns.find_matches, lambda times: words * times, 50)


@pytest.mark.parametrize(
    ("task", "enough"), [("ab", False), ("abcdefghijklmno", False), ("a b c", False), ("abcdef ghijkl", True)]
)
def test_short_tasks_are_not_compared_by_meaning(task: str, enough: bool) -> None:
    assert similarity.is_comparable(task) is enough


@pytest.fixture
def _forgotten() -> Iterator[None]:
    similarity._cache.clear()
    yield
    similarity._cache.clear()


class CountingEmbedder(HashEmbedder):
    asked = 0

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        CountingEmbedder.asked += len(texts)
        return super().embed(texts)


@pytest.mark.usefixtures("_forgotten")
async def test_descriptions_are_made_vectors_once_for_each_model(opening: Opening) -> None:
    spec = next(spec for spec in SPECS if spec.name == "claims")
    task = spec.description.split(". ")[0]
    async with opening(load_model=CountingEmbedder) as services:
        first = await similarity.find_near_tools(services.embedder, SPECS, task)
        assert first["claims"] > 0.9
        made = CountingEmbedder.asked
        assert await similarity.find_near_tools(services.embedder, SPECS, task) == first
        assert CountingEmbedder.asked == made
    async with opening(load_model=lambda: CountingEmbedder(revision="2")) as services:
        assert await similarity.find_near_tools(services.embedder, SPECS, task) == first
        assert CountingEmbedder.asked > made + len(SPECS)


async def test_without_a_model_words_alone_tell(opening: Opening) -> None:
    async with opening({"embedding.engine": "off"}) as services:
        found = await asker(services)("discover_tools", query="rename a tag everywhere")
        assert next(each["name"] for each in found.content["tools"]) == "schema"


async def test_a_model_that_hangs_is_not_waited_for(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "WAIT_S", 0.01)

    async def never(*_: object) -> np.ndarray:
        await asyncio.Event().wait()
        raise AssertionError

    async with opening() as services:
        monkeypatch.setattr(services.embedder, "query", never)
        assert await similarity.find_near_tools(services.embedder, SPECS, "rename a tag everywhere") == {}


async def test_advice_says_what_a_caller_lacks_and_names_nothing_above_its_role(services: Services) -> None:
    task = "rename a tag everywhere"
    wes = await person(services, "wes")
    (advice, *_) = (await wes("discover_tools", query=task)).content["tools"]
    assert (advice["name"], advice["action"], advice["available"]) == ("schema", "rename_tag", False)
    assert advice["needs"] == "the tool preset notes"
    rob = await person(services, "rob", Role.READER, preset="notes")
    (advice, *_) = (await rob("discover_tools", query=task)).content["tools"]
    assert (advice["available"], advice["needs"]) == (False, "the role writer")
    off = await person(services, "off", preset="notes", write_mode="off")
    (advice, *_) = (await off("discover_tools", query=task)).content["tools"]
    assert advice["needs"] == "a connection that may write"
    full = await person(services, "full", preset="full")
    told = await full("discover_tools", query=task)
    assert told.content["tools"][0]["available"]
    assert is_told(told.text, "name schema", "action rename_tag", "available true")
    names = {
        each["name"] for each in (await rob("discover_tools", query="remember this, delete that note")).content["tools"]
    }
    assert not {"remember", "note_delete"} & names
    assert (await rob("discover_tools", query="")).ok


async def test_what_one_principal_says_of_a_tool_very_often_counts_little(services: Services) -> None:
    people = [await person(services, f"p{n}") for n in range(4)]
    for ask in people[:3]:
        for _ in range(5):
            assert (await ask("feedback", type="right_tool", tool="schema")).ok
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        assert await vault.db.read(feedback.posteriors) == {"schema": 0.95}
        for _ in range(40):
            assert (await people[3]("feedback", type="wrong_tool", tool="schema")).ok
            assert (await people[3]("feedback", type="wrong_tool", tool="graph")).ok
        assert await vault.db.read(feedback.posteriors) == {"schema": 0.76}
        await rewrite(services, "DELETE FROM feedback WHERE tool = 'schema'")
        assert await vault.db.read(feedback.posteriors) == {}, "one alone is not enough, however often"


@pytest.mark.usefixtures("_forgotten")
async def test_the_bundled_model_finds_by_meaning_what_words_do_not_name(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarity, "WAIT_S", 60.0)
    async with opening(load_model=lambda: load_embedder(EmbeddingSettings())) as services:
        full = await person(services, "full", preset="full")
        for task, tool in (
            ("is it worth what we pay for it", "usage"),
            ("advisory reservation of a resource", "claims"),
        ):
            assert not find_matches(task)
            found = await full("discover_tools", query=task)
            assert tool in {each["name"] for each in found.content["tools"]}, found.text
