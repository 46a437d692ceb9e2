"""Words of scripts without spaces are found inside their sentences."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaults.db.engine import sqlite
from vaults.index import unspaced_scripts

SENTENCES = {
    1: "我们决定每个请求的令牌预算是四千。",  # the token budget of each request is four thousand
    2: "数据库备份失败，因为磁盘空间不足。",  # the database backup failed for want of disk space
    3: "サーバーの設定ファイルを更新しました。",  # updated the server's settings file
    4: "黒猫が庭で寝ている。ﾃﾞｰﾀﾍﾞｰｽ",  # a black cat sleeps in the garden; database, half-width
    5: "ฐานข้อมูลสำรองล้มเหลวเพราะพื้นที่ดิสก์ไม่พอ",  # the backup database failed for want of disk space
    6: "การประชุมทีมทุกวันจันทร์",  # team meeting every Monday
    7: "ការប្រជុំក្រុម និង ຖານຂໍ້ມູນ နှင့် ဒေတာ",  # Khmer, Lao, Myanmar
    8: "only English here, 한국어 문장 and русский текст",
    9: "猫 alone and API网关 mixed",
}


@pytest.fixture(scope="module")
def fts() -> Iterator[sqlite.Connection]:
    raw = sqlite.connect(":memory:")
    raw.execute(f'CREATE VIRTUAL TABLE f USING fts5 (body, tokenize = "{unspaced_scripts.TOKENIZER}")')
    raw.executemany(
        "INSERT INTO f (rowid, body) VALUES (?, ?)", [(n, unspaced_scripts.to_pairs(t)) for n, t in SENTENCES.items()]
    )
    yield raw
    raw.close()


def ranked(fts: sqlite.Connection, text: str) -> list[int]:
    expression = unspaced_scripts.match_expression(unspaced_scripts.find_runs(text))
    assert expression is not None
    return [row[0] for row in fts.execute("SELECT rowid FROM f WHERE f MATCH ? ORDER BY bm25(f)", (expression,))]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("令牌", 1),
        ("令牌预算是多少？", 1),  # what is the token budget?
        ("备份为什么失败", 2),  # why did the backup fail
        ("設定ファイル", 3),
        ("ｻｰﾊﾞｰ", 3),
        ("データベース", 4),
        ("猫", 9),
        ("พื้นที่ดิสก์", 5),
        ("ประชุมวันไหน", 6),  # meeting on which day
        ("ប្រជុំ", 7),
        ("ຂໍ້ມູນ", 7),
        ("ဒေတာ", 7),
        ("网关", 9),
    ],
)
def test_a_word_finds_the_sentence_it_is_in(fts: sqlite.Connection, text: str, first: int) -> None:
    assert ranked(fts, text)[0] == first


def test_one_character_is_found_wherever_it_stands(fts: sqlite.Connection) -> None:
    assert set(ranked(fts, "猫")) == {4, 9}
    assert ranked(fts, "足") == [2], "the last character of a run"


def test_a_run_in_one_piece_ranks_above_its_pairs_apart() -> None:
    raw = sqlite.connect(":memory:")
    raw.execute(f'CREATE VIRTUAL TABLE f USING fts5 (body, tokenize = "{unspaced_scripts.TOKENIZER}")')
    texts = ["机器和器学的学习", "我们用机器学习做了很多别的事情", "别的事情在这里"]
    raw.executemany("INSERT INTO f VALUES (?)", [(unspaced_scripts.to_pairs(text),) for text in texts])
    assert ranked(raw, "机器学习") == [2, 1]
    raw.close()


def test_other_scripts_are_left_to_the_word_index() -> None:
    assert unspaced_scripts.to_pairs(SENTENCES[8]) == ""
    assert unspaced_scripts.find_runs("٣٤ हिन्दी עברית 한국어 ε 🙂") == ()
    assert unspaced_scripts.match_expression(()) is None


def test_runs_are_normalised_and_invisible_marks_do_not_part_them() -> None:
    assert unspaced_scripts.find_runs("ﾊﾟｿｺﾝ・葛\U000e0100城、ภา\u200bษา") == ("パソコン", "葛城", "ภาษา")
    assert unspaced_scripts.to_pairs("猫。令牌预") == "猫 令牌 牌预 预"


def test_what_is_asked_of_the_table_is_bounded() -> None:
    for text in ("令牌预算" * 3000, "令 " * 3000, "令牌 预算 " * 3000, "".join(map(chr, range(0x4E00, 0x9000)))):
        expression = unspaced_scripts.match_expression(unspaced_scripts.find_runs(text))
        assert expression is not None
        assert expression.count('"') <= 4 * unspaced_scripts.MAX_GRAMS


@settings(deadline=None)
@given(st.text(st.characters(), max_size=200), st.text(st.characters(min_codepoint=0xE00, max_codepoint=0xA000)))
def test_any_text_is_indexed_and_asked_for_without_error(fts: sqlite.Connection, some: str, more: str) -> None:
    runs = unspaced_scripts.find_runs(some + more)
    expression = unspaced_scripts.match_expression(runs)
    assert (expression is None) == (not runs) == (unspaced_scripts.to_pairs(some + more) == "")
    if expression:
        fts.execute("SELECT rowid FROM f WHERE f MATCH ?", (expression,)).fetchall()


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x4FFF), min_size=1, max_size=30), st.data())
def test_any_piece_of_a_text_finds_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    piece = text[start : start + data.draw(st.integers(1, 20))]
    raw = sqlite.connect(":memory:")
    raw.execute(f'CREATE VIRTUAL TABLE f USING fts5 (body, tokenize = "{unspaced_scripts.TOKENIZER}")')
    raw.execute("INSERT INTO f VALUES (?)", (unspaced_scripts.to_pairs(f"before {text} after"),))
    assert ranked(raw, piece) == [1]
    raw.close()


def test_no_run_comes_of_characters_that_rule_one_out() -> None:
    """``find_runs`` normalises only what holds a character that may belong to a run."""
    ruled_out = [char for char in map(chr, range(0x2E80)) if unspaced_scripts._MAY_HOLD_RUN.search(char) is None]
    assert len(ruled_out) > 4_000
    assert not [char for char in ruled_out if unspaced_scripts.RUN.search(unicodedata.normalize("NFKC", char))]
