"""What people typed for mempack and nano-brain, over the same translations as the tools."""

from __future__ import annotations

import pytest

from tests.server.cli.command import Strongroom


@pytest.fixture
def ready(strongroom: Strongroom) -> Strongroom:
    assert strongroom("vault", "create", "main").code == 0
    return strongroom


def test_mempack(ready: Strongroom) -> None:
    added = ready("as", "mempack", "add", "--title", "Auth plan", "--summary", "Use middleware", "--tags=auth,decision")
    assert (added.code, added.out.startswith("Memory saved: ")) == (0, True)
    pack = ready("as", "mempack", "get", "auth plan", "--budget", "800").json
    assert [each["title"] for each in pack["top_memories"]] == ["Auth plan"]
    assert pack["budget"]["target_total"] == 800
    prompt = ready("as", "mempack", "get", "auth plan", "--format", "prompt")
    assert "Use middleware" in prompt.out
    kept = ready("as", "mempack", "checkpoint", "--reason", "drafted", "--state-json", '{"phase": 1}')
    assert kept.out.startswith("Checkpoint saved: ")
    assert ready("as", "mempack", "explain", "auth").out.startswith("Explain report: memories=")
    assert ready("as", "mempack", "usage", "--me").out.startswith("Usage report: overall_saved_tokens=")


def test_nano_brain(ready: Strongroom) -> None:
    written = ready("as", "nano-brain", "write", "Chose Redis for caching", "--vault", "main")
    path = written.out.strip().removeprefix("✅ Written to ")
    assert "Chose Redis" in ready("as", "nano-brain", "query", "redis", "-n", "3", "--min-score", "0").out
    assert "Chose Redis" in ready("as", "nano-brain", "get", path).out
    assert "Memory Index Status" in ready("as", "nano-brain", "status").out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("moltmind", "get"), 2, "must be mempack or nano-brain"),
        (("mempack", "fly"), 2, "must be one of get, explain"),
        (("mempack", "get", "x", "--colour", "red"), 2, "is not an option of mem_get_context"),
        (("mempack", "get", "x", "y"), 2, "y is more than it takes"),
        (("mempack", "get", "x", "--budget"), 2, "needs a value"),
        (("mempack", "get", "x", "--budget", "much"), 2, "must be a number"),
        (("mempack", "get"), 1, "query is required"),
        (("nano-brain", "get", "nothing.md"), 1, "Document not found: nothing.md"),
    ],
)
def test_mistakes_are_told_in_a_line(ready: Strongroom, words: tuple[str, ...], code: int, said: str) -> None:
    ran = ready("as", *words)
    assert ran.code == code
    assert said in ran.err
