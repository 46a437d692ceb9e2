"""What every pack may use, with or without a query: the current state, and the rules that apply."""

from __future__ import annotations

import json
from collections.abc import Sequence

from vaults.db.sql import Params, Reader
from vaults.domain.actors import GLOBAL
from vaults.domain.continuity import checkpoints
from vaults.domain.memories import memory_model
from vaults.domain.memories.memory_model import Memory
from vaults.domain.packs.pack import PackCandidate, PackItem, PackLink, PackPart, StateOrigin
from vaults.domain.text.sanitize import sanitize, sanitize_value, to_one_line
from vaults.index.traits import is_adversarial
from vaults.search.filters import SearchFilter
from vaults.search.snippets import make_snippet

MAX_RULES = 20
"""Max rules considered, newest first; fewer where no more fit."""

TOKENS_PER_RULE = 500
"""Tokens of a pack for each rule considered."""

RULE_TAGS = ("rule", "correction")

BRIEF_LENGTH = 320
"""Max characters of a rule, and of a memory in a brief: about 80 tokens."""


def read_state(
    tx: Reader, workspaces: tuple[str, ...], thread: str | None
) -> tuple[list[PackCandidate], StateOrigin | None]:
    """The entries of a thread's newest state; without one, of the workspaces' own state, and else of any thread in
    them."""
    for name in (thread, "", None) if thread else ("", None):
        found = checkpoints.find_latest(tx, workspaces, name)
        if found is not None:
            origin = StateOrigin(
                found.id, to_one_line(found.reason, 300), to_one_line(found.who), found.created_at,
                to_one_line(found.thread) if found.thread else None,
            )  # fmt: skip
            return [
                _to_state_candidate(origin, number, *pair) for number, pair in enumerate(found.state.items())
            ], origin
    return [], None


def _to_state_candidate(origin: StateOrigin, number: int, name: str, value: object) -> PackCandidate:
    plain = sanitize_value({name: value})
    [(title, inner)] = plain.items()
    text = json.dumps(inner, ensure_ascii=False)
    return PackCandidate("state", number, PackItem(origin.id, "state", title=title, text=text))


def read_rules(tx: Reader, only: SearchFilter, total: int) -> list[PackCandidate]:
    """Preferences and corrections that hold everywhere in the workspace, newest first."""
    most = min(MAX_RULES, max(2, total // TOKENS_PER_RULE))
    found = read_of_types(tx, only, ("preference",), most)
    for tag in RULE_TAGS:
        found += _read_tagged(tx, only, tag, most)
    applying = {seq: (seq, each, who) for seq, each, who in found if each.applies_to == GLOBAL}
    newest = [applying[seq] for seq in sorted(applying, reverse=True)[:most]]
    candidates = [to_candidate("rules", rank, *row) for rank, row in enumerate(newest)]
    return candidates + _read_rule_notes(tx, only, len(candidates), most)


def read_of_types(tx: Reader, only: SearchFilter, types: Sequence[str], most: int) -> list[tuple[int, Memory, str]]:
    """Living memories of these types visible to the viewer, with ``seq`` and storer; the newest ``most`` of each."""
    where, params = only.over_memories()
    found = []
    for kind in types:
        # Two queries: there is an index for each.
        for whose in ("m.visibility = 'shared'", "m.visibility = 'private' AND m.stored_by = :viewer"):
            found += _read_rows(tx, f"{whose} AND m.type = :type AND {where}", {**params, "type": kind}, most)
    return found


def _read_tagged(tx: Reader, only: SearchFilter, tag: str, most: int) -> list[tuple[int, Memory, str]]:
    where, params = only.over_memories()
    # The tag is joined first, not filtered by: few items have it, and there are many memories.
    rows = tx.all(
        f"SELECT {memory_model.COLUMNS}, m.seq, m.stored_by FROM item_tags t CROSS JOIN memories m ON m.seq = t.item"
        f" WHERE t.tag = :tag AND t.kind = 'memory' AND {where} ORDER BY m.seq DESC LIMIT :most",
        {**params, "tag": tag, "most": most},
    )
    return [(int(seq), memory_model.from_row(columns), stored_by) for *columns, seq, stored_by in rows]


def _read_rows(tx: Reader, where: str, params: Params, most: int) -> list[tuple[int, Memory, str]]:
    rows = tx.all(
        f"SELECT {memory_model.COLUMNS}, m.seq, m.stored_by FROM memories m WHERE {where}"
        f" ORDER BY m.seq DESC LIMIT {most:d}",
        params,
    )
    return [(int(seq), memory_model.from_row(columns), stored_by) for *columns, seq, stored_by in rows]


def _read_rule_notes(tx: Reader, only: SearchFilter, rank: int, most: int) -> list[PackCandidate]:
    """The beginnings of notes tagged as rules."""
    where, params = only.over_passages()
    rows = tx.all(
        "SELECT n.path, n.title, n.modified_at, p.body, p.tokens FROM item_tags t CROSS JOIN notes n ON n.seq = t.item"
        " CROSS JOIN passages p ON p.kind = 'note' AND p.item = n.seq AND p.ordinal = 0"
        f" WHERE t.tag = :rule AND t.kind = 'note' AND {where} ORDER BY n.modified_at DESC LIMIT :most",
        {**params, "rule": RULE_TAGS[0], "most": most},
    )
    return [
        PackCandidate(
            "rules", rank + number, from_note(path, title, at, make_snippet(body, (), BRIEF_LENGTH)), whole=tokens
        )
        for number, (path, title, at, body, tokens) in enumerate(rows)
    ]


def from_note(path: str, title: str, at: str, text: str, section: str | None = None) -> PackItem:
    """A note's passage as an item."""
    shown = sanitize(text)
    return PackItem(
        id=to_one_line(path, 500),
        kind="note",
        type="note",
        title=distinct_title(title, shown.text),
        text=shown.text,
        at=at,
        section=to_one_line(section) if section else None,
        flags=list(shown.flags) or None,
    )


def to_candidate(
    part: PackPart, rank: int, seq: int, each: Memory, stored_by: str, length: int = BRIEF_LENGTH
) -> PackCandidate:
    """A memory as a candidate, cut to ``length`` characters."""
    adversarial = is_adversarial(each.title) or is_adversarial(each.content)
    text = make_snippet(each.content, (), length)
    item = from_memory(each, stored_by, text, adversarial=adversarial)
    return PackCandidate(part, rank, item, key=seq, anchor=each.anchor_commit, whole=estimate_whole_tokens(each, text))


def estimate_whole_tokens(each: Memory, text: str) -> int:
    """Estimated tokens of a memory that is shown in part; 0 if it is shown whole."""
    return 0 if len(text) >= len(each.content) else len(each.content) // 4


def from_memory(each: Memory, stored_by: str, text: str, *, adversarial: bool) -> PackItem:
    """A memory as an item."""
    shown = sanitize(text, adversarial=adversarial)
    return PackItem(
        id=each.id,
        kind="memory",
        type=each.type,
        title=distinct_title(each.title, shown.text),
        text=shown.text,
        author=to_one_line(each.author, 60),
        at=each.occurred_at or each.created_at,
        stored_by=storer_name(stored_by, each.author),
        flags=list(shown.flags) or None,
    )


def storer_name(identity: str, author: str) -> str | None:
    """The subject that stored something, unless it is the author."""
    subject = identity.rpartition("|")[2]
    return None if subject == author else to_one_line(subject, 60)


def distinct_title(title: str, text: str) -> str | None:
    """The title, unless it is only the beginning of the text."""
    plain = to_one_line(title)
    start = " ".join(text[: 2 * len(plain) + 20].lstrip("#>*+- \t\n").split())
    return None if start.startswith(plain.rstrip("…").rstrip()) else plain or None


def read_links(tx: Reader, seqs: Sequence[int], viewer: str) -> tuple[list[PackLink], dict[str, str]]:
    """Links of the memories with these ``seqs`` to others visible to the viewer, supersessions first; and titles by
    id."""
    if not seqs:
        return [], {}
    some = ", ".join(str(int(seq)) for seq in seqs)
    seen = " AND ".join(f"({a}.visibility = 'shared' OR {a}.stored_by = :viewer)" for a in ("a", "b"))
    rows = tx.all(
        f"SELECT a.id, 'supersedes', b.id, a.title, b.title FROM memories a JOIN memories b ON b.id = a.supersedes"
        f" WHERE a.seq IN ({some}) AND {seen}",
        {"viewer": viewer},
    )
    for end in ("from_memory", "to_memory"):
        rows += tx.all(
            "SELECT a.id, l.relation, b.id, a.title, b.title FROM memory_links l"
            " JOIN memories a ON a.seq = l.from_memory JOIN memories b ON b.seq = l.to_memory"
            f" WHERE l.{end} IN ({some}) AND {seen} ORDER BY l.created_at DESC LIMIT 100",
            {"viewer": viewer},
        )
    found: dict[PackLink, None] = {}
    titles: dict[str, str] = {}
    for from_id, relation, to_id, from_title, to_title in rows:
        found[PackLink(from_id, to_one_line(relation, 60), to_id)] = None
        titles |= {from_id: to_one_line(from_title, 80), to_id: to_one_line(to_title, 80)}
    return list(found), titles
