"""Questions whose answer is known, from what a vault holds: the title of a note or memory asks for its text, and the
first sentence of a memory without one for the rest of it.

That favours models which match a title with its text. What people really ask is worded otherwise, so it tells models
apart that are far from each other, and not those that are near.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from vaults.db.sql import Reader
from vaults.embed.model_trial import JudgedTexts

MOST = 300
"""Items in a sample."""

FEWEST = 20
"""Titles below which a sample says little."""

TEXTS_OF_ITEM = 3
"""Passages of an item at most: its title is mostly about the beginning."""

LEAST_TITLE, LEAST_TEXT = 4, 40
"""Letters of a question, and characters of what answers it, at least."""

_SENTENCE = re.compile(r"(.{20,200}?[.!?…]|.{6,100}?[。！？])\s*(?=\S)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class JudgedSample:
    """``judged``, and from where its questions are: ``titles`` or the first ``sentences`` of memories."""

    judged: JudgedTexts
    titles: int
    sentences: int


@dataclass(frozen=True, slots=True)
class _Item:
    title: str
    bodies: tuple[str, ...]


def read_sample(tx: Reader, most: int = MOST) -> JudgedSample:
    """A sample of what recall finds, evenly spread over the vault, the same each time."""
    items = _read_items(tx, most)
    shared = Counter(item.title.casefold() for item in items)
    texts: list[tuple[str, int]] = []
    titles: list[tuple[str, int]] = []
    sentences: list[tuple[str, int]] = []
    for number, item in enumerate(items):
        bodies = [body for each in item.bodies if (body := _without_title(each, item.title))]
        if _is_question(item.title) and shared[item.title.casefold()] == 1 and len("".join(bodies)) >= LEAST_TEXT:
            titles.append((item.title, number))
        elif not item.title and bodies and (found := _SENTENCE.match(bodies[0])) and _is_question(found[1]):
            rest = bodies[0][found.end() :]
            if len(rest) >= LEAST_TEXT:
                sentences.append((found[1].strip(), number))
                bodies[0] = rest
        texts += [(body, number) for body in bodies]
    asked = (*titles, *sentences)
    judged = JudgedTexts(tuple(text for text, _ in texts), tuple(number for _, number in texts), asked)
    return JudgedSample(judged, len(titles), len(sentences))


def _read_items(tx: Reader, most: int) -> list[_Item]:
    """Notes, and memories that are found, with their own titles and first passages."""
    found = tx.all(
        "SELECT 'note', n.seq, n.title FROM notes n WHERE EXISTS"
        " (SELECT 1 FROM passages p WHERE p.kind = 'note' AND p.item = n.seq)"
        " UNION ALL SELECT 'memory', m.seq, CASE WHEN m.title_derived THEN '' ELSE m.title END FROM memories m"
        " WHERE m.archived_at IS NULL AND m.superseded_by IS NULL ORDER BY 1, 2"
    )
    items = []
    for kind, seq, title in found[:: -(-len(found) // most) or 1]:
        rows = tx.all(
            "SELECT body FROM passages WHERE kind = :kind AND item = :seq ORDER BY ordinal LIMIT :most",
            {"kind": kind, "seq": seq, "most": TEXTS_OF_ITEM},
        )
        items.append(_Item(str(title).strip(), tuple(body for (body,) in rows)))
    return items


def _without_title(body: str, title: str) -> str:
    """A passage without the line that only repeats the title: it would answer by itself."""
    lines = [line for line in body.splitlines() if line.strip("#*= \t").casefold() != title.casefold() or not title]
    return "\n".join(lines).strip()


def _is_question(text: str) -> bool:
    """Whether it says enough to be asked; a date does not."""
    return sum(each.isalpha() for each in text) >= LEAST_TITLE
