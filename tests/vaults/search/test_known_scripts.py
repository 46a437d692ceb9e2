"""Meaning counts for less where the model hardly reads the question.

Covers vaults.search.known_scripts.
"""

from __future__ import annotations

import pytest

from vaults.search.known_scripts import BUNDLED, UNREAD_SHARE, weigh_meaning
from vaults.settings import SearchSettings

USUAL = SearchSettings()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Where is the backup?", 1.0),
        ("Où est la sauvegarde ?", 1.0),
        ("резервные копии", 1.0),
        ("备份保存在哪里？", UNREAD_SHARE),
        ("バックアップはどこですか", UNREAD_SHARE),
        ("สำรองข้อมูล", UNREAD_SHARE),
        ("", 1.0),
        ("？？ 12", 1.0),
    ],
)
def test_meaning_counts_for_less_in_scripts_the_bundled_model_hardly_reads(text: str, left: float) -> None:
    assert weigh_meaning(USUAL, text, BUNDLED).dense_weight == pytest.approx(USUAL.dense_weight * left)
    assert weigh_meaning(USUAL, text, "another") == USUAL, "which may have been taught it"


def test_a_question_of_two_scripts_is_weighed_by_its_letters() -> None:
    mixed = weigh_meaning(USUAL, "systemd の設定", BUNDLED).dense_weight
    assert USUAL.dense_weight * UNREAD_SHARE < mixed < USUAL.dense_weight
