"""The texts of candidates: read once in a search, by the first stage that looks into them, and handed on."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import NamedTuple, TypeAlias

from vaults.db.sql import Reader

MAX_TEXT = 2_000
"""Characters that are looked through of each of these; a passage has fewer, unless it is one long word."""


class CandidateText(NamedTuple):
    """What a passage says, under its title, with its labels, and what stands before and after it."""

    title: str
    body: str
    labels: str
    before: str
    after: str

    @property
    def titled(self) -> str:
        """The text, its title first."""
        return f"{self.title}\n{self.body}" if self.title else self.body


CandidateTexts: TypeAlias = Mapping[int, CandidateText]
"""Passage to its text; without those that are gone."""


def read_texts(tx: Reader, passages: Collection[int], known: CandidateTexts) -> CandidateTexts:
    """The texts of ``passages``, and those that are ``known``, which are not read again."""
    missing = [passage for passage in passages if passage not in known]
    if not missing:
        return known
    # The numbers are bound, as in ``passage_facts.read_facts``: compiling the statement would cost as much again.
    rows = tx.all(
        "SELECT p.title, p.body, p.labels, p.before, p.after, p.seq"
        " FROM json_each(:among) n CROSS JOIN passages p ON p.seq = n.value",
        {"among": json.dumps(missing)},
    )
    return {**known, **{row[5]: tuple.__new__(CandidateText, row[:5]) for row in rows}}
