"""The vault's own words: how many passages hold one, who is called by it, and which one a slip was meant to be.

What is read is kept until the vault has grown or shrunk noticeably: shares decide about words in a third of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from vaults.db.sql import Reader
from vaults.search import spelling
from vaults.search.candidates import OWN
from vaults.search.expression import quoted

EXACT = 2_000
"""Passages up to which any change counts; above, one in twenty."""

KEPT = 20_000
"""Words remembered at most."""

NAMES = 20
"""Authors and entities that one word may begin, at most."""


@dataclass(frozen=True, slots=True)
class Word:
    """``share`` of passages that hold it, 0…1, counted no further than ``SHARE_CAP``. ``names``: authors and entities
    whose name it is or begins. ``meant``: the stem it was probably a slip for, where no passage holds it."""

    share: float
    names: tuple[str, ...] = ()
    meant: str | None = None


SHARE_CAP = 0.5
"""Share from which it does not matter how much more."""


@dataclass(slots=True)
class Vocabulary:
    """One per open vault. Filled in readers' threads, asked on the event loop; each entry is written once."""

    passages: int = 0
    _newest: int = -1
    _words: dict[str, Word] = field(default_factory=dict)
    _stems: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def known(self, words: Collection[str]) -> dict[str, Word]:
        """What is kept of ``words``."""
        held = self._words
        return {word: held[word] for word in words if word in held}

    def look(self, tx: Reader, words: Iterable[str], *, correct: bool) -> dict[str, Word]:
        """Everything of ``words``, as of this read."""
        self._renew(tx)
        if len(self._words) > KEPT:
            self._words = {}
        held = self._words
        return {word: held.get(word) or held.setdefault(word, self._read(tx, word, correct=correct)) for word in words}

    def clear(self) -> None:
        """Forget all."""
        self.passages, self._newest, self._words, self._stems = 0, -1, {}, {}

    def _renew(self, tx: Reader) -> None:
        newest = int(tx.value("SELECT MAX(seq) FROM passages") or 0)
        moved = abs(newest - self._newest)
        if self._newest < 0 or (moved and (self.passages <= EXACT or moved > self.passages // 20)):
            self.clear()
            self._newest = newest
            self.passages = int(tx.value("SELECT COUNT(*) FROM passages"))

    def _read(self, tx: Reader, word: str, *, correct: bool) -> Word:
        cap = max(1, int(self.passages * SHARE_CAP))
        held = int(
            tx.value(
                "SELECT COUNT(*) FROM (SELECT 1 FROM passages_fts WHERE passages_fts MATCH :match LIMIT :cap) AS some",
                {"match": f"{OWN} : {quoted(word)}", "cap": cap},
            )
        )
        meant = spelling.correct(word, self._beginning(tx, word[:1])) if correct and not held else None
        return Word(held / max(1, self.passages), _names(tx, word), meant)

    def _beginning(self, tx: Reader, letter: str) -> tuple[str, ...]:
        if letter not in self._stems:
            rows = tx.all(
                "SELECT term FROM passages_words WHERE term >= :first AND term < :beyond",
                {"first": letter, "beyond": letter + "\U0010ffff"},
            )
            self._stems[letter] = tuple(row[0] for row in rows)
        return self._stems[letter]


def _names(tx: Reader, word: str) -> tuple[str, ...]:
    """Names that are this word or begin with it. Each is one step in an index, however many passages carry it."""
    found: list[str] = []
    for column in ("author", "entity"):
        last = ""
        while len(found) < NAMES:
            row = tx.one(
                f"SELECT {column} FROM passages WHERE {column} >= :word AND {column} < :beyond AND {column} > :last"
                f" ORDER BY {column} LIMIT 1",
                {"word": word, "beyond": word + "!", "last": last},
            )
            if row is None:
                break
            last = row[0]
            found.append(last)
    return tuple(name for name in dict.fromkeys(found) if name == word or name.startswith(f"{word} "))


def named_in(words: Mapping[str, Word], text: Collection[str], capitals: Collection[str]) -> dict[str, frozenset[str]]:
    """The names a question speaks of, each with the words it is called by there: all of its words stand in the
    question, or its first one with a capital, as a person is called by the first name."""
    found: dict[str, frozenset[str]] = {}
    for word, known in words.items():
        for name in known.names:
            parts = frozenset(name.split())
            if parts <= set(text):
                found[name] = parts
            elif word in capitals and len(word) > 2:
                found[name] = frozenset([word])
    return found
