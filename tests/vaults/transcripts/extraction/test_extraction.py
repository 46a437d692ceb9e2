"""From turns to memories: names that last, what a longer conversation keeps, and what it costs.

Covers vaults.transcripts.extraction.extracted_memory, vaults.transcripts.extraction.kinds,
vaults.transcripts.extraction.work_steps.
"""

from __future__ import annotations

from dataclasses import replace

from bench.quality.judged_conversations import read_half
from tests.vaults.transcripts.extraction.told import READER, kinds_of, made, told
from tests.work import assert_linear
from vaults.domain.text.fields import LABEL
from vaults.transcripts.extraction.extracted_memory import CONTENT_LENGTH, cut, name_prefix
from vaults.transcripts.extraction.extraction import extract
from vaults.transcripts.extraction.kinds import ALL_KINDS, DEFAULT_KINDS, KINDS, PRECISION_FLOOR
from vaults.transcripts.transcript import Conversation, ToolUse, Turn

MAY_CHANGE = {"open", "files"}


def test_a_day_gives_one_of_each_kind() -> None:
    found = made(
        "U the total is wrong when a voucher is used",
        "B npm test",
        "  err: AssertionError: expected 107.1 to be 106.05",
        "A The voucher is taken off after tax.",
        "E src/total.ts :: net * tax - voucher => (net - voucher) * tax",
        "B npm test",
        "  ok: 24 passed",
        "U let's go with whole cents from here, and never round in the middle",
        "A Done. The invoices aren't changed yet.",
    )
    assert sorted(kinds_of(found)) == ["command", "decision", "files", "fix", "open", "preference"] or {
        "command", "files", "fix", "open", "preference"
    } <= set(kinds_of(found))  # fmt: skip
    fix = next(each for each in found if each.kind == "fix")
    assert "expected 107.1" in fix.content
    assert "src/total.ts" in fix.content
    assert fix.applies_to == "file:src/total.ts"
    assert fix.turns == (1, 4)
    assert all("shop" in each.content for each in found if each.kind not in ("fix", "open"))


def test_the_same_turns_give_the_same_memories() -> None:
    for each in read_half("development"):
        assert extract(each.conversation, READER) == extract(each.conversation, READER)


def test_a_longer_conversation_keeps_what_was_found_or_says_what_is_void() -> None:
    for each in read_half("development"):
        former: set[str] = set()
        for end in range(0, len(each.conversation.turns) + 1, 3):
            part = replace(each.conversation, turns=each.conversation.turns[:end])
            now = extract(part, READER, former, ALL_KINDS)
            assert now.void == former - now.memories.keys()
            for name in now.void:
                assert name.split(":")[3] in MAY_CHANGE | {"fix", "decision", "preference"}
            former = set(now.memories)


def test_what_is_settled_stays_when_the_conversation_grows() -> None:
    lines = (
        "U use postgres or mysql?",
        "A Postgres, I'd say.",
        "U let's go with postgres",
        "U always write tests first",
    )
    few, many = (
        extract(told(*lines, *more), READER, kinds=ALL_KINDS) for more in ((), ("A Ok.", "B make", "  ok: done"))
    )
    assert few.memories.keys() <= many.memories.keys()


def test_an_open_end_that_was_gone_on_with_is_void() -> None:
    open_end = ("U add the export", "A Done. The import isn't done yet.")
    first = extract(told(*open_end), READER, kinds=ALL_KINDS)
    assert kinds_of(list(first.memories.values())) == ["open"]
    later = [line for n in range(4) for line in (f"U show me part {n} of it", f"A Here is part {n} of it.")]
    grown = extract(told(*open_end, *later), READER, first.memories, ALL_KINDS)
    assert grown.void == first.memories.keys()


def test_ids_of_other_conversations_are_let_alone() -> None:
    foreign = "transcript:claude-code:other:fix:0123456789abcdef"
    assert extract(told("U hi"), READER, [foreign]).void == frozenset()


def test_only_wanted_kinds_are_made() -> None:
    conversation = told("U always use pnpm here", "E a.py :: x => y")
    assert {e.kind for e in extract(conversation, READER, kinds={"files"}).memories.values()} == {"files"}
    assert {e.kind for e in extract(conversation, READER).memories.values()} <= DEFAULT_KINDS


def test_a_kind_below_the_floor_is_off() -> None:
    assert {kind for kind, of in KINDS.items() if of.precision < PRECISION_FLOOR} == ALL_KINDS - DEFAULT_KINDS


def test_no_memory_is_trusted_more_than_its_kind() -> None:
    for each in read_half("development"):
        for memory in extract(each.conversation, READER, kinds=ALL_KINDS).memories.values():
            assert 0 < memory.confidence <= KINDS[memory.kind].precision
            assert len(memory.content) <= CONTENT_LENGTH
            assert list(memory.turns) == sorted(memory.turns)
            assert memory.title


def test_names_fit_whatever_a_program_calls_its_conversations() -> None:
    assert name_prefix("aider", "x" * 80) == f"transcript:aider:{'x' * 80}:"
    for name in ("/home/ada/" + "long/" * 100, "with\nbreak"):
        assert len(name_prefix("aider", name)) + len("preference:") + 16 <= LABEL
        assert "\n" not in name_prefix("aider", name)


def test_a_cut_text_ends_between_words() -> None:
    assert cut("one two  three", 100) == "one two three"
    assert cut("one two three", 9) == "one two…"
    assert len(cut("x" * 50, 10)) == 10


def test_odd_turns_break_nothing() -> None:
    odd = (
        Turn(0, "tool", "raw output: always use tabs"),
        Turn(1, "user", ""),
        Turn(2, "user", "\ud800 \x00 never"),
        Turn(3, "tool", "", tool=ToolUse("Bash", {"command": ["bash", "-lc"]}, "x", True)),
        Turn(4, "tool", "", tool=ToolUse("Edit", {"file_path": 7})),
        Turn(5, "tool", "", tool=ToolUse("", {}, "", None)),
    )
    assert extract(Conversation("c", "p", odd), READER, kinds=ALL_KINDS).memories == {}
    assert extract(Conversation("c", "p", ()), READER).memories == {}


def _long(times: int) -> Conversation:
    turns = [turn for each in read_half("development")[:6] for turn in each.conversation.turns] * times
    return Conversation("c", "p", tuple(replace(turn, position=n) for n, turn in enumerate(turns)))


def _hostile(size: int) -> Conversation:
    said = "".join(f"<a{n}b> \"x' `" for n in range(size // 12)) + " " * size + "always " * (size // 7)
    failed = [
        Turn(n, "tool", "", tool=ToolUse("Bash", {"command": f"make t{n % 99}"}, "Error: x", True))
        for n in range(size // 50)
    ]
    return Conversation("c", "p", (Turn(0, "user", said), *failed))


def test_the_work_grows_with_the_conversation() -> None:
    assert_linear(lambda conversation: extract(conversation, READER, kinds=ALL_KINDS), _long, 3)
    assert_linear(lambda conversation: extract(conversation, READER, kinds=ALL_KINDS), _hostile, 6_000)
