"""ChatGPT's conversations become transcripts (vaults.sources.chatgpt, vaults.sources.chatgpt_messages)."""

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
from vaults.sources.chatgpt import SOURCE
from vaults.sources.chatgpt_messages import to_message_part
from vaults.sources.source import SearchPlaces


def node(name: str, parent: str | None, message: dict[str, Any] | None, *children: str) -> dict[str, Any]:
    return {"id": name, "parent": parent, "children": list(children), "message": message}


def message(role: str, content: dict[str, Any] | str, at: float | None = 1765672231.5, **more: Any) -> dict[str, Any]:
    """A message as an export has it."""
    text = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
    return {
        "id": "m",
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "update_time": None,
        "content": text,
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": {},
        "recipient": "all",
        "channel": None,
    } | more


def conversation(number: int = 1, *messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One whose messages follow each other, under an empty root."""
    names = [f"n{position}" for position in range(len(messages))]
    nodes = [node("root", None, None, *names[:1])]
    for position, (name, each) in enumerate(zip(names, messages, strict=True)):
        nodes.append(node(name, "root" if position == 0 else names[position - 1], each))
    return {
        "title": f"Chat {number}",
        "create_time": 1765672200.0,
        "update_time": 1765672300.0,
        "mapping": {each["id"]: each for each in nodes},
        "moderation_results": [],
        "current_node": names[-1] if names else "root",
        "default_model_slug": "gpt-5-2",
        "is_archived": False,
        "conversation_id": f"693e0000-{number:04}",
        "id": f"693e0000-{number:04}",
    } | more


def write(folder: Path, *conversations: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "conversations.json").write_text(json.dumps(conversations))
    return folder


def read(tmp_path: Path, *conversations: Any) -> ReadSource:
    return read_source(SOURCE, write(tmp_path / "export", *conversations))


def test_a_conversation_becomes_a_transcript(tmp_path: Path) -> None:
    answer = message("assistant", "At nine.", metadata={"model_slug": "gpt-5-2"})
    found = read(tmp_path, conversation(1, message("user", "When does the harbour open?"), answer))
    (line,) = found.lines
    assert line == {
        "kind": "document",
        "external_id": "chatgpt:conversation:693e0000-0001",
        "format": "transcript",
        "title": "Chat 1",
        "uri": "https://chatgpt.com/c/693e0000-0001",
        "created_at": "2025-12-14T00:30:00.000Z",
        "modified_at": "2025-12-14T00:31:40.000Z",
        "metadata": {"default_model_slug": "gpt-5-2"},
        "parts": [
            {"text": "When does the harbour open?", "role": "user", "at": "2025-12-14T00:30:31.500Z"},
            {"text": "At nine.", "role": "assistant", "author": "gpt-5-2", "at": "2025-12-14T00:30:31.500Z"},
        ],
    }


def test_only_the_branch_that_was_shown_last_is_carried(tmp_path: Path) -> None:
    chat = conversation(1, message("user", "first"), message("assistant", "answer"))
    chat["mapping"]["other"] = node("other", "n0", message("assistant", "another answer"))
    found = read(tmp_path, chat)
    assert [part["text"] for part in found.lines[0]["parts"]] == ["first", "answer"]
    assert found.left == {"messages of other branches": 1}


@pytest.mark.parametrize("current", [None, "gone", 7])
def test_without_a_current_message_the_newest_ends_the_branch(tmp_path: Path, current: Any) -> None:
    chat = conversation(1, message("user", "a", at=1.7e9), message("assistant", "b", at=1.8e9), current_node=current)
    chat["mapping"]["older"] = node("older", "n0", message("assistant", "c", at=1.75e9))
    assert [part["text"] for part in read(tmp_path, chat).lines[0]["parts"]] == ["a", "b"]


def test_a_tree_that_leads_back_to_itself_ends(tmp_path: Path) -> None:
    chat = conversation(1, message("user", "a"), message("assistant", "b"))
    chat["mapping"]["n0"]["parent"] = "n1"
    assert len(read(tmp_path, chat).lines[0]["parts"]) == 2


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"content_type": "code", "language": "python", "text": "print(1)"}, "```python\nprint(1)\n```"),
        ({"content_type": "execution_output", "text": "1"}, "```\n1\n```"),
        ({"content_type": "multimodal_text", "parts": [{"content_type": "audio_transcription", "text": "Hi"}]}, "Hi"),
        (
            {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer"}, "See"]},
            "[picture]\nSee",
        ),
        (
            {"content_type": "tether_quote", "url": "https://a.example", "title": "A", "text": "B"},
            "A\nhttps://a.example\nB",
        ),
        ({"content_type": "tether_browsing_display", "result": "found"}, "found"),
        ({"content_type": "brand_new", "text": "still text"}, "still text"),
    ],
)
def test_each_kind_of_content_keeps_its_text(content: dict[str, Any], text: str) -> None:
    part = to_message_part(message("assistant", content), Counter())
    assert isinstance(part, dict)
    assert part["text"] == text


def test_thoughts_are_marked_and_remarks_on_them_counted(tmp_path: Path) -> None:
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Plan", "content": "Look first."}]}
    recap = {"content_type": "reasoning_recap", "content": "Thought for 8s"}
    found = read(tmp_path, conversation(1, message("assistant", thoughts), message("assistant", recap)))
    (part,) = found.lines[0]["parts"]
    assert (part["text"], part["thinking"]) == ("Plan\n\nLook first.", True)
    assert found.left == {"remarks on how long it thought": 1}


def test_attachments_are_named_and_what_was_hidden_is_not_carried(tmp_path: Path) -> None:
    attached = message("user", "Look", metadata={"attachments": [{"id": "file-1", "name": "plan.pdf", "size": 3}]})
    hidden = message("user", "Internal", metadata={"is_visually_hidden_from_conversation": True})
    found = read(tmp_path, conversation(1, message("system", ""), message("system", "Be brief"), attached, hidden))
    assert [part["text"] for part in found.lines[0]["parts"]] == ["Look\n[attached: plan.pdf]"]
    assert found.left == {"attachments, kept by name": 1, "hidden messages": 2}


def test_custom_instructions_are_carried_once(tmp_path: Path) -> None:
    said = {"content_type": "user_editable_context", "user_profile": "I sail.", "user_instructions": "Be brief."}
    hidden = message("user", said, metadata={"is_visually_hidden_from_conversation": True})
    found = read(tmp_path, *(conversation(number, hidden, message("user", "hello")) for number in (1, 2)))
    (memory,) = found.of("memory")
    assert (memory["content"], memory["type"]) == ("I sail.\n\nBe brief.", "preference")
    assert len(found.of("document")) == 2


def test_a_zip_of_several_files_is_read_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for number in (1, 0):
            chats = [conversation(number, message("user", "x"))]
            packed.writestr(f"conversations-{number:03}.json", json.dumps(chats))
        packed.writestr("chat.html", "<html>")
        packed.writestr("user.json", "{}")
        packed.writestr("message_feedback.json", "[]")
        packed.writestr("file-abc-photo.png", b"\x89PNG")
        canvas = {"id": "c1", "title": "Plan", "content": "# Plan", "created_at": "2024-01-01T00:00:00Z"}
        packed.writestr("textdocs/c1.json", json.dumps(canvas))
    found = read_source(SOURCE, path)
    assert [line["title"] for line in found.lines] == ["Chat 0", "Chat 1", "Plan"]
    assert found.lines[2]["external_id"] == "chatgpt:canvas:c1"
    assert found.left == {
        "pages that show the same conversations": 1,
        "account data": 1,
        "ratings of answers": 1,
        "attached files": 1,
    }


def test_the_file_alone_does_as_well(tmp_path: Path) -> None:
    folder = write(tmp_path / "export", conversation(1, message("user", "x"), title=None))
    (line,) = read_source(SOURCE, folder / "conversations.json").lines
    assert "title" not in line


def test_what_is_broken_is_said_and_the_rest_is_read(tmp_path: Path) -> None:
    good = conversation(3, message("user", "half \ud83d"))
    found = read(tmp_path, {"id": "x", "title": "No tree"}, "text", {"mapping": {}}, conversation(2), good)
    assert [(each.place, each.reason) for each in found.unreadable] == [
        ("conversations.json, conversation 1", "has no messages"),
        ("conversations.json, conversation 2", "is no conversation"),
        ("conversations.json, conversation 3", "has no id"),
    ]
    assert [line["title"] for line in found.lines] == ["Chat 3"]
    assert found.left == {"empty conversations": 1}


def test_half_a_file_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    folder = write(tmp_path / "export", *(conversation(number, message("user", "x")) for number in range(3)))
    data = (folder / "conversations.json").read_bytes()
    (folder / "conversations.json").write_bytes(data[: len(data) * 5 // 6])
    found = read_source(SOURCE, folder)
    assert len(found.lines) == 2
    assert [each.reason for each in found.unreadable] == ["it ends in the middle"]


def test_other_exports_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="is an export of Claude"):
        read(tmp_path, {"uuid": "x", "chat_messages": []})
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidArgument, match=r"no conversations\.json"), SOURCE.open(tmp_path / "empty"):
        pass


def test_exports_among_downloads_are_found(tmp_path: Path) -> None:
    downloads = tmp_path / "Downloads"
    downloads.mkdir()
    for name, members in {"gpt.zip": ["chat.html", "conversations.json"], "claude.zip": ["conversations.json"]}.items():
        with zipfile.ZipFile(downloads / name, "w") as packed:
            for member in members:
                packed.writestr(member, "[]")
    (downloads / "broken.zip").write_text("PK")
    assert list(SOURCE.find(SearchPlaces(tmp_path, tmp_path))) == [downloads / "gpt.zip"]


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "parts", "content_type", "name", "thoughts", "role"]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=examples(40), deadline=None)
@given(content=_ANY, author=_ANY, metadata=_ANY, time=_ANY)
def test_no_message_raises(content: Any, author: Any, metadata: Any, time: Any) -> None:
    to_message_part({"content": content, "author": author, "metadata": metadata, "create_time": time}, Counter())
