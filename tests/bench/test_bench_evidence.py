"""Evidence is counted by sentences and tokens, and a missed floor is told. Nothing is stored or asked here.

Covers bench.quality.evidence, bench.quality.as_pages.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.quality import as_pages, evidence
from bench.quality.evidence import BUDGETS, FEEDS, FLOORS, EvidenceHeld
from bench.quality.sets import JudgedDocument


def test_evidence_is_held_sentence_by_sentence_whatever_the_line_breaks() -> None:
    texts = ["It rained. The ferry waited.", "Gone."]
    assert evidence.share_held(texts, "… It\nrained. Nobody …") == pytest.approx((10 / 27) / 2)
    assert evidence.share_held(texts, "It rained. The ferry waited. Gone.") == 1.0
    assert evidence.share_held(texts, "") == 0.0


def test_every_feed_has_a_floor_for_each_tool_and_budget() -> None:
    assert FLOORS.keys() == FEEDS.keys()
    for feed in FEEDS:
        assert {tool: len(floors) for tool, floors in FLOORS[feed].items()} == dict.fromkeys(
            ("context", "search"), len(BUDGETS)
        )


def test_a_rate_below_its_floor_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    feed = "HotpotQA, notes"
    floor = FLOORS[feed]["search"][0]
    for share, code, word in ((floor, 0, "met"), (floor * 0.98, 1, "MISSED")):
        held = EvidenceHeld("search", BUDGETS[0], share, 1_000.0)
        monkeypatch.setattr(evidence, "measure", lambda *_, held=held: iter([held]))
        monkeypatch.setattr(evidence.sets, "is_present", lambda *_: True)
        assert evidence.main(["--data", str(tmp_path), "--feed", feed]) == code
        assert capsys.readouterr().out.rstrip().endswith(word)


def test_without_the_sets_nothing_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert evidence.main(["--data", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("skipped: ") == len(FEEDS)


def test_eight_texts_at_a_time_are_one_page() -> None:
    documents = [JudgedDocument(f"d{each}", "v", "", {"title": f"T{each}", "content": "x"}) for each in range(9)]
    pages = list(as_pages.to_lines(documents))
    assert [len(page["parts"]) for page in pages] == [8, 1]
    assert as_pages.count_pages(documents) == len(pages)
    assert pages[1]["parts"] == [{"position": 0, "heading": "T8", "text": "x"}]
