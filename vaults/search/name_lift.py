"""Lifts a note that the question names: by its title, its file's name or an alias."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from vaults.db.sql import Reader
from vaults.graph.links import adjacency
from vaults.search.lifts import Lift
from vaults.search.passage_facts import PassageFacts
from vaults.search.title_mentions import MentionText, derive_names, find_mentioned, read_mention_text


def lift_named_notes(tx: Reader, known: Mapping[int, PassageFacts], text: str, weight: float) -> Lift:
    """``weight`` for passages of notes named in the question. No query runs if no candidate is a note."""
    notes = {facts.item[1] for facts in known.values() if facts.item[0] == "note"}
    if not weight or not notes or not text.strip():
        return {}
    by_name: dict[str, set[int]] = defaultdict(set)
    for note in adjacency.read_note_names(tx, notes):
        for name in {name for each in note.names for name in derive_names(each)}:
            by_name[name].add(note.number)
    row = read_mention_text(text).row
    # People type questions without capitals: here a word in lower case counts, too.
    found = {
        note for name in find_mentioned(MentionText(row, frozenset(row.split())), by_name) for note in by_name[name]
    }
    return {passage: weight for passage, facts in known.items() if facts.item[0] == "note" and facts.item[1] in found}
