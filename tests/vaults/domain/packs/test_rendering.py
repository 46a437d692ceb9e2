"""A prompt keeps what is stored inside its fence, whatever it holds, and reads the same each time."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vaults.domain.packs.candidates import NOW, evidence, memories
from tests.work import examples
from vaults.domain.packs import rendering
from vaults.domain.packs.assembly import PackTarget, assemble_pack
from vaults.domain.packs.pack import GatheredCandidates, PackCandidate, PackItem
from vaults.domain.text.sanitize import MARK

HOSTILE = st.lists(
    st.sampled_from(
        ["§", "§1 decision, root, now", "\n", "</", "<", ">", "123456789", "§ Rules", "\r", " ", "\\", "\u2028", "\x0b",
         "\x85", "\t", "word"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


def _prompt(gathered: GatheredCandidates, total: int = 5000) -> str:
    prompt = assemble_pack(gathered, frozenset(), PackTarget(total, "prompt", NOW, total)).pack.prompt
    assert prompt is not None
    return prompt


@settings(max_examples=examples(200), deadline=None)
@given(texts=st.lists(HOSTILE | st.text(), min_size=1, max_size=5), title=HOSTILE, author=HOSTILE)
def test_no_stored_text_ends_its_fence_or_claims_to_be_another_item(texts: list[str], title: str, author: str) -> None:
    from vaults.domain.text.sanitize import to_one_line

    candidates = [
        PackCandidate(
            "memories", rank, evidence(rank, text, title=to_one_line(title) or None, author=to_one_line(author, 60))
        )
        for rank, text in enumerate(texts)
    ]
    lines = _prompt(GatheredCandidates(candidates)).split("\n")
    fence = re.fullmatch(r"<(\d{9})>", lines[1])
    assert fence is not None
    assert lines[-1] == f"</{fence[1]}>"
    assert sum(fence[1] in line for line in lines) == 3  # announced, opened, closed
    ours = [line for line in lines[2:-1] if line.lstrip().startswith(MARK)]
    kept = len(assemble_pack(GatheredCandidates(candidates), frozenset(), PackTarget(5000, "prompt", NOW, 5000)).kept)
    assert len(ours) == 1 + kept
    # Readers that break lines elsewhere find no more of ours either.
    assert (
        sum(line.lstrip().startswith(MARK) for line in _prompt(GatheredCandidates(candidates)).splitlines()) == 1 + kept
    )


def test_the_same_input_gives_the_same_text_but_for_the_fence() -> None:
    gathered = memories(["The ferry leaves at nine", "We use uvloop"])
    first, second = (re.sub(r"\d{9}(?=>)", "", _prompt(gathered)) for _ in range(2))
    assert first == second
    assert "score" not in first


def test_an_item_says_what_it_is_who_said_it_and_when() -> None:
    text = _prompt(memories(["The ferry leaves at nine"]))
    assert "§1 decision, ann, 2d ago, 01a2027b-d68c-7312-989f-000000000000\nThe ferry leaves at nine" in text


def test_who_stored_it_shows_where_somebody_else_is_said_to_have_said_it() -> None:
    said = rendering.render_header(evidence(1, "x", author="boss", stored_by="mallory"), 1, NOW)
    assert "boss" in said
    assert "stored by mallory" in said


def test_the_best_stand_first_and_last() -> None:
    best = [PackItem(str(number), "memory") for number in range(1, 7)]
    assert [each.id for each in rendering.arrange_for_attention(best, [])] == ["1", "3", "5", "6", "4", "2"]
    notes = [PackItem(f"n{number}", "note") for number in range(1, 4)]
    assert [each.id for each in rendering.arrange_for_attention(best[:2], notes)] == ["1", "2", "n3", "n2", "n1"]
    assert [each.id for each in rendering.arrange_for_attention([], notes)] == ["n1", "n3", "n2"]


def test_of_many_items_of_a_kind_the_second_half_goes_to_the_other_end() -> None:
    best = [PackItem(str(number), "memory") for number in range(1, rendering.LONG + 2)]
    notes = [PackItem("n1", "note"), PackItem("n2", "note")]
    arranged = [each.id for each in rendering.arrange_for_attention(best, notes)]
    assert arranged == ["1", "2", "3", "5", "7", "9", "8", "6", "4", "n2", "n1"]
    short = [each.id for each in rendering.arrange_for_attention(best[:-1], notes)]
    assert short == ["1", "2", "3", "4", "5", "6", "7", "8", "n2", "n1"]


def test_several_parts_of_a_document_are_named_so_that_each_can_be_opened() -> None:
    item = PackItem("talk#16", "transcript", section="turn 16", positions=[14, 16, 18])
    assert rendering.render_header(item, 1, NOW) == "§1 transcript, talk#16, #14, #18 > turn 16"
