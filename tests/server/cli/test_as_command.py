"""What people typed for mempack and nano-brain (server.cli.as_command, server.toolsets.mempack_commands,
server.toolsets.mempack_records, server.toolsets.nano_brain_commands): the examples of their documentation, other
texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from server.tool_registry import ToolRegistry
from server.tools import discover
from server.toolsets import mempack_commands, nano_brain_commands
from server.toolsets.old_tool import our_action
from tests.blanks import lay_out
from tests.server.cli.command import Strongroom

LINES = (mempack_commands.COMMAND_LINE, nano_brain_commands.COMMAND_LINE)
DOCUMENTED = {
    "mempack": {
        "init", "get", "add", "explain", "show", "forget", "supersede", "checkpoint", "ingest-artifact", "embed",
        "repos", "use", "threads", "thread", "mcp", "template agents", "doctor", "version", "update", "link", "delete",
        "usage", "recent", "sessions", "session upsert", "share export", "share import", "ingest", "embed status",
    },
    "nano-brain": {
        "mcp", "collection add", "collection remove", "collection list", "collection rename", "status", "update",
        "embed", "search", "vsearch", "query", "get", "harvest", "daemon", "write",
    },
}  # fmt: skip


@pytest.fixture
def ready(strongroom: Strongroom) -> Strongroom:
    lay_out(strongroom.data, ("main",))
    assert strongroom("vault", "create", "main").code == 0
    return strongroom


def mem(ready: Strongroom, *words: str) -> str:
    ran = ready("as", "mempack", *words)
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def test_memories_of_mempack(ready: Strongroom) -> None:
    first = json.loads(mem(ready, "add", "--title", "Auth plan", "--summary", "Use middleware", "--tags=auth,decision"))
    assert (first["title"], first["thread_used"], first["thread_defaulted"]) == ("Auth plan", "T-SESSION", True)
    second = json.loads(mem(ready, "add", "Tokens", "--thread", "T-auth", "Refresh daily"))
    pack = json.loads(mem(ready, "get", "--budget", "800", "auth plan"))
    assert [each["title"] for each in pack["top_memories"]] == ["Auth plan"]
    assert pack["budget"]["target_total"] == 800
    assert json.loads(mem(ready, "get", "auth", "plan", "--format", "json"))["top_memories"] == pack["top_memories"]
    assert "Use middleware" in mem(ready, "get", "auth plan", "--format", "prompt", "--include-orphans")
    shown = json.loads(mem(ready, "show", first["id"], "--format", "json"))
    assert (shown["kind"], shown["memory"]["summary"]) == ("memory", "Use middleware")
    assert json.loads(shown["memory"]["tags_json"]) == ["auth", "decision"]
    linked = json.loads(mem(ready, "link", second["id"], "depends_on", "--to", first["id"]))
    assert (linked["from_id"], linked["rel"], linked["to_id"]) == (second["id"], "depends_on", first["id"])
    assert json.loads(mem(ready, "update", first["id"], "--tags-add", "security"))["id"] == first["id"]
    assert [each["title"] for each in json.loads(mem(ready, "recent", "--limit", "1"))] == ["Tokens"]
    new = json.loads(mem(ready, "supersede", first["id"], "Auth plan 2", "Use a gateway", "--thread", "T-auth"))
    assert (new["old_id"], new["status"]) == (first["id"], "superseded")
    assert json.loads(mem(ready, "show", first["id"]))["memory"]["superseded_by"] == new["new_id"]
    assert json.loads(mem(ready, "show", new["new_id"]))["memory"]["thread_id"] == "T-auth"
    assert json.loads(mem(ready, "forget", second["id"]))["status"] == "forgotten"
    assert "deleted_at" in json.loads(mem(ready, "show", second["id"]))["memory"]
    assert json.loads(mem(ready, "explain", "auth"))["query"] == "auth"


def test_threads_and_states_of_mempack(ready: Strongroom) -> None:
    mem(ready, "add", "--thread", "T-setup", "--title", "Ready", "--summary", "Initialized memory for this place")
    (ready.data.parent / "state.json").write_text('{"phase": 1}')
    kept = json.loads(mem(ready, "checkpoint", "--reason", "drafted", "--state-file", "state.json", "--thread=T-setup"))
    assert (kept["reason"], kept["thread_used"]) == ("drafted", "T-setup")
    assert json.loads(mem(ready, "checkpoint", "again", '{"phase": 2}'))["reason"] == "again"
    listed = {each["thread_id"]: each["memory_count"] for each in json.loads(mem(ready, "threads"))}
    assert listed == {"T-setup": 2, "T-SESSION": 1}
    thread = json.loads(mem(ready, "thread", "T-setup", "--limit", "1"))
    assert (thread["thread"]["memory_count"], len(thread["memories"])) == (2, 1)
    assert json.loads(mem(ready, "session", "upsert", "Wiring", "All connected"))["summary"] == "All connected"
    assert [each["title"] for each in json.loads(mem(ready, "sessions"))] == ["Wiring"]
    assert json.loads(mem(ready, "sessions", "--needs-summary", "--count")) == {"count": 0}
    assert len(json.loads(mem(ready, "repos", "--format", "json"))) == 1
    assert json.loads(mem(ready, "embed", "status"))["chunk"]["missing"] == 3
    assert mem(ready, "usage", "--me").startswith("Usage report: overall_saved_tokens=")
    assert json.loads(mem(ready, "usage", "--format", "json"))["scope"] == "repo"


def test_another_project_is_named_by_repo(ready: Strongroom) -> None:
    mem(ready, "add", "Here", "One", "--thread", "T-here")
    mem(ready, "add", "There", "Two", "--thread", "T-there", "--repo", "/srv/there")
    assert [each["thread_id"] for each in json.loads(mem(ready, "threads", "--repo", "/srv/there"))] == ["T-there"]
    assert [each["title"] for each in json.loads(mem(ready, "recent", "--repo=/srv/there"))] == ["There"]


def test_artifacts_of_mempack_are_read_into_their_project(ready: Strongroom) -> None:
    docs = ready.data.parent / "docs"
    docs.mkdir()
    for name, text in {
        "keep.md": "Seals sleep ashore.",
        "skip.md": "Seals dive.",
        ".mempackignore": "skip.md\n",
    }.items():
        (docs / name).write_text(text)
    first = ready("as", "mempack", "ingest-artifact", "docs", "--thread", "T-sea", "--chunk-tokens=320")
    again = ready("as", "mempack", "ingest", "--thread", "T-sea", "docs/keep.md")
    assert [(ran.code, ran.out) for ran in (first, again)] == [(0, "1 new\n"), (0, "1 unchanged\n")]
    assert [each["text"] for each in json.loads(mem(ready, "get", "seals"))["top_chunks"]] == ["Seals sleep ashore."]
    assert json.loads(mem(ready, "get", "seals", "--repo", "/srv/there"))["top_chunks"] == []


def test_upkeep_is_done_by_commands_of_ours(ready: Strongroom, tmp_path: Path) -> None:
    mem(ready, "add", "Auth plan", "Use middleware")
    shared = tmp_path / "bundle"
    assert "1 memories written" in mem(ready, "share", "export", "--out", str(shared))
    assert (shared / "memories.jsonl").exists()
    assert ready("as", "mempack", "embed", "--kind", "chunk").out.startswith("1 memories, ")
    assert ready("as", "mempack", "doctor", "--json").json["checks"]
    assert mem(ready, "--version") == mem(ready, "version") == ready("version").out
    project = tmp_path / "project"
    project.mkdir()
    assert "wrote" in mem(ready, "init", str(project))
    assert "AGENTS.md" in ready("as", "mem", "template", "agents", "--write", "--assistants", "all").out
    assert ready("as", "nano-brain", "embed", "--force").out.startswith("1 memories, ")


def test_nano_brain(ready: Strongroom) -> None:
    written = ready("as", "nano-brain", "write", "Chose Redis for caching", "--vault", "main")
    path = written.out.strip().removeprefix("✅ Written to ")
    found = ready("as", "nano-brain", "query", "-n", "3", "redis", "--min-score=0")
    assert (found.code, f"notes/{path}\n  Score: " in found.out, "Chose Redis" in found.out) == (0, True, True)
    assert ready("as", "nano-brain", "search", "redis", "--files").out == f"{path}\n"
    hits = ready("as", "nano-brain", "search", "redis", "caching", "--json").json
    assert (hits[0]["path"], hits[0]["collection"], 0 < hits[0]["score"] <= 1) == (path, "notes", True)
    assert ready("as", "nano-brain", "search", "xylophone", "--json").json == []
    read = ready("as", "nano-brain", "get", path, "--full").out
    assert read.startswith(f"Document: {path}\nTitle: ")
    assert "Chose Redis" not in ready("as", "nano-brain", "get", path, "--from=1", "--lines=1").out
    assert "Memory Index Status" in ready("as", "nano-brain", "status").out
    assert "Index is up to date" in ready("as", "nano-brain", "update").out
    assert "notes: 1 documents" in ready("as", "nano-brain", "collection", "list").out
    assert ready("as", "nano-brain", "harvest", HOME=str(ready.data.parent)).code == 0


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.system)
def test_help_lists_every_documented_command(strongroom: Strongroom, line) -> None:
    known = {each.name for each in line.commands}
    assert known >= DOCUMENTED[line.system]
    shown = strongroom("as", line.system, "--help").out
    assert all(f"\n  {name} " in shown for name in known)
    for each in line.commands:
        ran = strongroom("as", line.system, *each.name.split(), "--help")
        assert (ran.code, each.name in ran.out) == (0, True)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.system)
def test_every_command_does_one_thing(line) -> None:
    registry: ToolRegistry = discover()
    for each in line.commands:
        assert [bool(each.tool), bool(each.ours), bool(each.instead)].count(True) == 1, each.name
        for call in each.tool.calls.values() if each.tool else ():
            our_action(registry, call)  # which exists
        taken = set(each.tool.arguments.model_fields) if each.tool else set()
        assert {*each.positional, *each.options.values(), *each.files.values()} <= taken, each.name


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.system)
def test_what_is_not_here_says_what_does_it(strongroom: Strongroom, line) -> None:
    for each in line.commands:
        if each.instead:
            ran = strongroom("as", line.system, *each.name.split(), "x", "--yes")
            assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
            assert each.instead in ran.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, ""),
        (("moltmind", "get"), 2, "must be mempack or nano-brain"),
        (("mempack",), 2, ""),
        (("mempack", "fly"), 2, "must be one of get, explain"),
        (("mempack", "get", "x", "--colour", "red"), 2, "is not an option of get"),
        (("mempack", "show", "x", "y"), 2, "y is more than show takes"),
        (("mempack", "get", "x", "--budget"), 2, "needs a value"),
        (("mempack", "get", "x", "--budget", "much"), 2, "must be a number"),
        (("mempack", "get"), 2, "query is required"),
        (("mempack", "add"), 2, "title is required"),
        (("mempack", "supersede", "nothing", "New"), 1, "memory not found: nothing"),
        (("mempack", "show", "nothing"), 1, "id not found: nothing"),
        (("mempack", "forget", "nothing"), 1, "id not found: nothing"),
        (("mempack", "thread", "T-none"), 1, "thread not found: T-none"),
        (("mempack", "checkpoint", "--reason", "r", "--state-file", "no.json"), 1, "no.json"),
        (("mempack", "doctor", "--colour"), 2, "--colour is not an option of doctor"),
        (("mempack", "template", "agents"), 2, "add --write"),
        (("mempack", "ingest-artifact", "nothing/here", "--thread", "T"), 2, "nothing/here does not exist"),
        (("nano-brain", "get", "nothing.md"), 1, "Document not found: nothing.md"),
        (("nano-brain", "query"), 2, "query is required"),
        (("nano-brain", "version", "extra"), 2, "extra is more than version takes"),
    ],
)
def test_mistakes_are_told_in_a_line(ready: Strongroom, words: tuple[str, ...], code: int, said: str) -> None:
    ran = ready("as", *words)
    assert ran.code == code
    assert said in ran.err
    assert "Traceback" not in ran.err
