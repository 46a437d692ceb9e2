"""Memories about a note: linked to it explicitly, or containing its name. Only those the caller may see; nothing
reveals that there are others."""

from __future__ import annotations

import re
from collections.abc import Collection

from vaults import clock
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.graph.graph_answers import GraphMemory
from vaults.graph.note_graph import Node
from vaults.index import text_index
from vaults.search.filters import SearchFilter
from vaults.search.fts_expression import quote_words, split_words
from vaults.search.stopwords import STOPWORDS

MAX_MEMORIES = 20
"""Max memories listed."""

MAX_PASSAGES = 200
"""Max passages searched for a name, newest first."""

MIN_NAME_LENGTH = 3
"""Min characters of a name that is searched for in memories."""

_COLUMNS = "m.id, m.title, m.type, m.author"


def read_memories_about(tx: Reader, note: Node, actor: Actor) -> list[GraphMemory]:
    """The memories about a note: those linked to it first, then the newest."""
    linked = _read_linked(tx, note, actor)
    known = {each.id for each in linked}
    named = [each for each in _read_mentioning(tx, note, actor) if each.id not in known]
    return [*linked, *named][:MAX_MEMORIES]


def _read_linked(tx: Reader, note: Node, actor: Actor) -> list[GraphMemory]:
    where, params = SearchFilter(actor.identity, clock.now()).over_memories()
    names = {f"name{number}": _lower_ascii(name) for number, name in enumerate(note.names)}
    among = ", ".join(f":{name}" for name in names)
    rows = tx.all(
        f"SELECT {_COLUMNS}, s.relation FROM memory_subjects s JOIN memories m ON m.seq = s.from_memory"
        " WHERE (s.kind = 'note' AND s.subject = :path"
        f" OR s.kind = 'entity' AND lower(s.subject) IN ({among})) AND {where}"
        " ORDER BY m.seq DESC, s.relation LIMIT :most",
        {**params, **names, "path": note.path, "most": MAX_MEMORIES},
    )
    return [GraphMemory(each, title, relation, kind, author) for each, title, kind, author, relation in rows]


def _lower_ascii(name: str) -> str:
    """Lower-case like SQLite's ``lower``, which only knows the capitals of ASCII."""
    return re.sub("[A-Z]+", lambda found: found[0].lower(), name)


def _read_mentioning(tx: Reader, note: Node, actor: Actor) -> list[GraphMemory]:
    names = [name for name in note.names if len(name) >= MIN_NAME_LENGTH and _has_telling_word(split_words(name))]
    if not names:
        return []
    where, params = SearchFilter(actor.identity, clock.now(), kinds=("memory",)).over_passages()
    asked = " OR ".join(quote_words(" ".join(split_words(name))) for name in names)
    rows = []
    for table in text_index.WORD_TABLES:
        rows += tx.all(
            f"SELECT {table}.rowid, {_COLUMNS}, p.title, p.body FROM {text_index.from_passages(table)}"
            " JOIN memories m ON m.seq = p.item"
            f" WHERE {text_index.matches(table)} AND {where} ORDER BY {table}.rowid DESC LIMIT :most",
            {**params, "match": f"{{title body}} : ({asked})", "most": MAX_PASSAGES},
        )
    found = {}
    for _, each, title, kind, author, heading, body in sorted(rows, reverse=True)[:MAX_PASSAGES]:
        # The index matches stems, but "plans" is no mention of a note called Planning.
        if each not in found and _stands_in(names, f"{heading}\n{body}"):
            found[each] = GraphMemory(each, title, "mentions", kind, author)
    return list(found.values())


def _has_telling_word(several: Collection[str]) -> bool:
    return bool(set(several) - STOPWORDS)


def _stands_in(names: Collection[str], text: str) -> bool:
    words = f" {' '.join(split_words(text))} "
    return any(f" {' '.join(split_words(name))} " in words for name in names)
