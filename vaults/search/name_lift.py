"""Up goes a note that the question calls by its name: by its title, its file's name or an alias."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from vaults.db.sql import Reader
from vaults.graph.links import adjacency
from vaults.search.lifts import Lift
from vaults.search.passage_facts import Facts
from vaults.search.title_mentions import Words, mentioned, names_of, words_of


def called(tx: Reader, known: Mapping[int, Facts], text: str, weight: float) -> Lift:
    """``weight`` for passages of notes that are named in the question. Asks nothing where no candidate is a note."""
    notes = {facts.item[1] for facts in known.values() if facts.item[0] == "note"}
    if not weight or not notes or not text.strip():
        return {}
    by_name: dict[str, set[int]] = defaultdict(set)
    for note in adjacency.called(tx, notes):
        for name in {name for each in note.names for name in names_of(each)}:
            by_name[name].add(note.number)
    row = words_of(text).row
    # Who asks writes names as they come: in a question a word in lower case counts, too.
    found = {note for name in mentioned(Words(row, frozenset(row.split())), by_name) for note in by_name[name]}
    return {passage: weight for passage, facts in known.items() if facts.item[0] == "note" and facts.item[1] in found}
