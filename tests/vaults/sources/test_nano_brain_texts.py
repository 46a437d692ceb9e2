"""Logs and sessions that nano-brain wrote are taken apart as they were put together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaults.sources.nano_brain_texts import is_log, to_log_memories, to_session_document

SESSION = """---
session: ses_1
agent: build
date: "2026-02-23"
title: "Fix "it" now"
project: /home/ann/boats
projectHash: aaaaaaaaaaaa
---

## User

Hello
### A heading of the user

## Assistant (build)

Hi

## Assistant (assistant)

"""
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=30)


def test_a_session_becomes_a_transcript() -> None:
    assert to_session_document(SESSION, "aaaaaaaaaaaa/2026-02-23-fix.md") == {
        "kind": "document",
        "external_id": "nano-brain:session:ses_1",
        "format": "transcript",
        "title": 'Fix "it" now',
        "workspace": "/home/ann/boats",
        "collection": "sessions",
        "author": "build",
        "created_at": "2026-02-23T00:00:00.000Z",
        "metadata": {"session": "ses_1"},
        "parts": [
            {"text": "Hello\n### A heading of the user", "role": "user"},
            {"text": "Hi", "role": "assistant", "author": "build"},
        ],
    }


def test_a_session_without_header_or_turns_is_a_text() -> None:
    found = to_session_document("Just words\r\n", "aaaaaaaaaaaa/2026-02-23-fix.md")
    assert found is not None
    assert (found["format"], found["external_id"]) == ("text", "nano-brain:sessions:aaaaaaaaaaaa/2026-02-23-fix.md")
    assert (found["workspace"], found["title"]) == ("aaaaaaaaaaaa", "2026-02-23-fix")
    assert found["created_at"] == "2026-02-23T00:00:00.000Z"
    assert found["parts"] == [{"text": "Just words"}]
    assert to_session_document("---\nsession: ses_1\n---\n\n## User\n\n", "a/b.md") is None


@given(st.lists(st.tuples(st.sampled_from(["User", "Assistant (build)", "Assistant"]), WORDS), max_size=5))
def test_every_turn_is_found_in_its_order(turns: list[tuple[str, str]]) -> None:
    text = "---\nsession: s\n---\n" + "".join(f"\n## {who}\n\nsays {said}\n" for who, said in turns)
    found = to_session_document(text, "a/b.md")
    parts = found["parts"] if found else []
    assert [(part["role"], part["text"]) for part in parts] == [
        ("user" if who == "User" else "assistant", f"says {said}".strip()) for who, said in turns
    ]


def test_a_log_becomes_its_entries() -> None:
    at = "2026-02-23T10:00:00.000Z"
    text = f"Before\n\n## {at}\n\n**Workspace:** boats (aaaaaaaaaaaa)\n\nOne\n\n## Heading\n"
    text += f"\n## {at}\n\nTwo\n\n## {at}\n\n"
    assert is_log(text)
    assert list(to_log_memories(text, "2026-02-23")) == [
        {
            "external_id": "nano-brain:memory:2026-02-23:begin",
            "content": "Before",
            "type": "observation",
            "created_at": "2026-02-23T00:00:00.000Z",
        },
        {
            "external_id": f"nano-brain:memory:2026-02-23:{at}",
            "content": "One\n\n## Heading",
            "type": "observation",
            "workspace": "aaaaaaaaaaaa",
            "created_at": at,
            "occurred_at": at,
        },
        {
            "external_id": f"nano-brain:memory:2026-02-23:{at}#2",
            "content": "Two",
            "type": "observation",
            "created_at": at,
            "occurred_at": at,
        },
    ]
    assert [line["type"] for line in to_log_memories(text, "MEMORY")] == ["fact"] * 3
    assert not is_log("## 2026-02-23\n\nA day")


@given(st.text(max_size=200))
def test_no_text_of_a_log_is_lost(text: str) -> None:
    said = "".join(line["content"] for line in to_log_memories(text, "MEMORY"))
    if not is_log(text) and "**Workspace:**" not in text:
        assert "".join(said.split()) == "".join(text.replace("\x00", "").split())
