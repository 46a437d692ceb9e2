"""Claude's conversations, projects and memories (vaults.sources.claude, vaults.sources.claude_messages)."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vaults.sources.sqlite_fixtures import ReadSource, read_source
from tests.work import examples
from vaults.errors import InvalidArgument
from vaults.sources.claude import SOURCE
from vaults.sources.claude_messages import follow_branch, to_design_parts, to_message_parts
from vaults.sources.source import SearchPlaces

AT = "2026-03-29T07:06:35.552627Z"
ROOT = "00000000-0000-4000-8000-000000000000"


def block(kind: str, **more: Any) -> dict[str, Any]:
    return {"start_timestamp": None, "stop_timestamp": None, "flags": None, "type": kind} | more


def message(name: str, sender: str, *blocks: dict[str, Any] | str, **more: Any) -> dict[str, Any]:
    """A message as an export has it."""
    content = [block("text", text=each, citations=[]) if isinstance(each, str) else each for each in blocks]
    return {
        "uuid": name,
        "text": "",
        "content": content,
        "sender": sender,
        "created_at": AT,
        "updated_at": AT,
        "attachments": [],
        "files": [],
    } | more


def conversation(name: str, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "uuid": name,
        "name": f"Chat {name}",
        "summary": "",
        "created_at": "2026-03-29T07:00:00.000000Z",
        "updated_at": "2026-03-29T08:00:00.000000Z",
        "account": {"uuid": "acct"},
        "chat_messages": list(messages),
    } | more


PROJECT = {
    "uuid": "p1",
    "name": "Harbour",
    "description": "All about boats",
    "is_private": True,
    "prompt_template": "Answer as a pilot.",
    "created_at": "2025-01-01T00:00:00Z",
    "updated_at": "2025-02-01T00:00:00Z",
    "creator": {"uuid": "acct", "full_name": "Ann Lee"},
    "docs": [
        {"uuid": "d1", "filename": "tides.md", "content": "# Tides", "created_at": "2025-01-02T00:00:00Z"},
        {"uuid": "d2", "filename": "scan.pdf", "content": ""},
    ],
}
MEMORIES = {"conversations_memory": "Sails.", "project_memories": {"p1": "Depths."}, "account_uuid": "acct"}
USERS = [{"uuid": "acct", "full_name": "Ann Lee", "email_address": "ann@example.org", "verified_phone_number": None}]


def write(folder: Path, **files: Any) -> Path:
    for name, content in files.items():
        path = folder / f"{name.replace('__', '/')}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return folder


def read(tmp_path: Path, *conversations: Any) -> ReadSource:
    return read_source(SOURCE, write(tmp_path / "export", conversations=conversations))


def test_a_conversation_becomes_a_transcript_of_its_people(tmp_path: Path) -> None:
    chats = [
        conversation("c1", message("m1", "human", "When?"), message("m2", "assistant", "At nine."), summary="Hours")
    ]
    found = read_source(SOURCE, write(tmp_path / "export", conversations=chats, users=USERS))
    assert found.lines == [
        {
            "kind": "document",
            "external_id": "claude:conversation:c1",
            "format": "transcript",
            "title": "Chat c1",
            "uri": "https://claude.ai/chat/c1",
            "created_at": "2026-03-29T07:00:00.000Z",
            "modified_at": "2026-03-29T08:00:00.000Z",
            "metadata": {"summary": "Hours"},
            "parts": [
                {"text": "When?", "role": "user", "author": "Ann Lee", "at": "2026-03-29T07:06:35.552Z"},
                {"text": "At nine.", "role": "assistant", "at": "2026-03-29T07:06:35.552Z"},
            ],
        }
    ]


def test_thoughts_tools_and_artifacts_are_parts_of_their_own(tmp_path: Path) -> None:
    artifact = {"command": "create", "title": "Plan", "content": "# Plan", "type": "text/markdown"}
    reply = message(
        "m1",
        "assistant",
        block("thinking", thinking="Look first."),
        block("tool_use", id="t1", name="artifacts", input=artifact),
        block("tool_use", id="t2", name="web_search", input={"query": "tides"}),
        block("tool_result", name="web_search", content=[{"type": "text", "text": "High at six"}, {"type": "image"}]),
        block("token_budget"),
        block("brand_new"),
        "Done.",
    )
    found = read(tmp_path, conversation("c1", reply))
    assert [{key: part[key] for key in part if key != "at"} for part in found.lines[0]["parts"]] == [
        {"text": "Look first.", "role": "assistant", "thinking": True},
        {"text": "Plan\n\n# Plan", "role": "assistant", "author": "artifacts"},
        {"text": '{"query": "tides"}', "role": "assistant", "author": "web_search"},
        {"text": "High at six", "role": "tool", "author": "web_search"},
        {"text": "Done.", "role": "assistant"},
    ]
    assert found.left == {"pictures": 1, "parts of messages of the kind brand_new": 1}


def test_older_exports_have_the_text_flat(tmp_path: Path) -> None:
    flat = message("m1", "human", text="Hello")
    del flat["content"]
    assert read(tmp_path, conversation("c1", flat)).lines[0]["parts"][0]["text"] == "Hello"


def test_attachments_are_carried_with_their_text_or_named(tmp_path: Path) -> None:
    attached = message(
        "m1",
        "human",
        "Look",
        attachments=[{"file_name": "", "file_type": "txt", "file_size": 3, "extracted_content": "pasted words"}],
        files=[{"file_uuid": "f1", "file_name": "photo.png"}],
    )
    found = read(tmp_path, conversation("c1", attached))
    assert [(part.get("heading"), part["text"]) for part in found.lines[0]["parts"]] == [
        (None, "Look"),
        (None, "[attached: photo.png]"),
        ("pasted text", "pasted words"),
    ]
    assert found.left == {"attachments, kept by name": 1}


def test_of_edited_messages_the_last_branch_counts(tmp_path: Path) -> None:
    chat = conversation(
        "c1",
        message("m1", "human", "first", parent_message_uuid=ROOT),
        message("m2", "assistant", "dropped", parent_message_uuid="m1"),
        message("m3", "assistant", "kept", parent_message_uuid="m1", created_at="2026-03-30T00:00:00Z"),
    )
    found = read(tmp_path, chat)
    assert [part["text"] for part in found.lines[0]["parts"]] == ["first", "kept"]
    assert found.left == {"messages of other branches": 1}
    chat["current_leaf_message_uuid"] = "m2"
    assert [part["text"] for part in read(tmp_path, chat).lines[0]["parts"]] == ["first", "dropped"]


def test_projects_become_documents_of_a_collection(tmp_path: Path) -> None:
    for files in ({"projects": [PROJECT]}, {"projects__p1": PROJECT}):
        found = read_source(SOURCE, write(tmp_path / str(len(files)) / next(iter(files)), conversations=[], **files))
        doc, instructions = found.lines
        assert (doc["external_id"], doc["format"], doc["title"]) == ("claude:doc:d1", "markdown", "tides.md")
        assert (doc["collection"], doc["parts"]) == ("Harbour", [{"text": "# Tides"}])
        assert instructions["external_id"] == "claude:project:p1"
        assert [part["text"] for part in instructions["parts"]] == ["All about boats", "Answer as a pilot."]
        assert found.left == {"project files without text": 1}


def test_what_claude_remembers_becomes_memories(tmp_path: Path) -> None:
    more = MEMORIES | {"memory_files": [{"path": "/people.md", "content": "Ann"}, None]}
    found = read_source(SOURCE, write(tmp_path / "export", projects__p1=PROJECT, memories__acct=more))
    assert [(line["external_id"], line["title"], line["content"]) for line in found.of("memory")] == [
        ("claude:memory:acct", "What Claude remembers", "Sails."),
        ("claude:memory:p1", "What Claude remembers of Harbour", "Depths."),
        ("claude:memory:acct:/people.md", "/people.md", "Ann"),
    ]


def test_design_chats_become_transcripts(tmp_path: Path) -> None:
    chat = {
        "uuid": "x1",
        "title": "Logo",
        "project": {"uuid": "q", "name": "Brand"},
        "created_at": AT,
        "updated_at": AT,
        "messages": [
            {"uuid": "1", "role": "user", "created_at": AT, "content": {"content": "A boat", "attachments": []}},
            {
                "uuid": "2",
                "role": "assistant",
                "created_at": AT,
                "content": {
                    "contentBlocks": [
                        {"type": "thinking", "text": "Blue"},
                        {"type": "tool_call", "toolCall": {"name": "draw", "input": {"x": 1}}},
                        {"type": "text", "text": "Here"},
                    ]
                },
            },
            None,
        ],
    }
    (line,) = read_source(SOURCE, write(tmp_path / "export", design_chats__x1=chat)).lines
    assert (line["external_id"], line["collection"]) == ("claude:design:x1", "Brand")
    assert [part["text"] for part in line["parts"]] == ["A boat", "Blue", '{"x": 1}', "Here"]


def test_one_zip_and_a_folder_of_several_say_the_same(tmp_path: Path) -> None:
    chats = [conversation("c1", message("m1", "human", "When?"))]
    split, whole = tmp_path / "split", tmp_path / "data-2026-09-04-batch-0000.zip"
    split.mkdir()
    parts = {"users": USERS, "projects/p1": PROJECT, "memories/acct": MEMORIES, "conversations": chats}
    with zipfile.ZipFile(whole, "w") as packed:
        for name, content in parts.items():
            packed.writestr(f"{name}.json", json.dumps(content))
            category = {"users": "light_metadata"}.get(name, name.partition("/")[0])
            with zipfile.ZipFile(split / f"{category}-000.zip", "w") as part:
                part.writestr(f"{name}.json", json.dumps(content))
    (split / "manifest-1.json").write_text("{}")
    one, several = read_source(SOURCE, whole), read_source(SOURCE, split)
    assert one.lines == several.lines
    assert len(one.lines) == 5
    assert several.left - one.left == {"account data": 1}


def test_what_is_broken_is_said_and_the_rest_is_read(tmp_path: Path) -> None:
    folder = write(tmp_path / "export", conversations=["text", {}, conversation("c1", message("m", "human", "x"))])
    (folder / "projects").mkdir()
    (folder / "projects" / "p1.json").write_text('{"uuid": "p1"')
    found = read_source(SOURCE, folder)
    assert [(each.place, each.reason) for each in found.unreadable] == [
        ("projects/p1.json, project 1", "it ends in the middle"),
        ("conversations.json, conversation 1", "is no conversation"),
        ("conversations.json, conversation 2", "is no conversation"),
    ]
    assert len(found.lines) == 1


def test_other_exports_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="is an export of ChatGPT"):
        read(tmp_path, {"id": "x", "mapping": {}})
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidArgument, match=r"no conversations\.json"), SOURCE.open(tmp_path / "empty"):
        pass


def test_exports_among_downloads_are_found(tmp_path: Path) -> None:
    downloads = tmp_path / "Downloads"
    downloads.mkdir()
    for name, members in {"a.zip": ["users.json", "conversations.json"], "b.zip": ["conversations.json"]}.items():
        with zipfile.ZipFile(downloads / name, "w") as packed:
            for member in members:
                packed.writestr(member, "[]")
    assert list(SOURCE.find(SearchPlaces(tmp_path, tmp_path))) == [downloads / "a.zip"]


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "type", "content", "input", "title", "contentBlocks"]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=examples(40), deadline=None)
@given(content=_ANY, attachments=_ANY, parent=_ANY)
def test_no_message_raises(content: Any, attachments: Any, parent: Any) -> None:
    odd = {"uuid": parent, "parent_message_uuid": parent, "content": content, "attachments": attachments}
    left: Counter[str] = Counter()
    list(to_message_parts(odd, None, left))
    list(to_design_parts(odd, left))
    follow_branch({"chat_messages": [odd, odd]}, left)
