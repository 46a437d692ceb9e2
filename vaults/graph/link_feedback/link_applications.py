"""Links this server set: remembered, to learn from what people do with them.

A link that disappears with an edit may only be on its way to another place: it counts as removed if it is still gone
some time later, unless the server's own change was undone or the note it led to is gone. One that outlasts some edits
and a day counts in favour of its entity. Of a long note, whose links are read later than its text, only a disappearance
is noticed, as undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from vaults import clock
from vaults.db.sql import Reader, Writer
from vaults.graph.link_feedback import link_trust
from vaults.graph.link_feedback.link_trust import Observation
from vaults.graph.links import link_history
from vaults.markdown.link_resolution import name_key

REMOVAL_GRACE_S = 60.0
"""Seconds a link may be missing: an editor that saves by itself may save between cut and paste."""

LASTING_AFTER_EDITS, LASTING_AFTER_S = 5, 86_400.0
"""Edits of its note, and seconds, after which a link has proved good."""

BATCH = 100
"""Links judged in one transaction."""

LinkSource = Literal["auto", "accepted", "proactive"]


@dataclass(frozen=True, slots=True)
class LinkApplication:
    """A link that was set."""

    path: str  # of the note it stands in
    entity: str  # a name of what it leads to, or the key of one
    term: str  # the words it is on
    source: LinkSource
    who: str  # the principal
    change: str | None = None  # id in the journal


@dataclass(frozen=True, slots=True)
class _PendingLink:
    """A link to judge: it is missing, or has proved good."""

    seq: int
    who: str
    path: str
    entity: str
    meant: str | None
    term: str
    source: LinkSource
    change: str | None
    state: Literal["missing", "lasting"]


def record_applications(tx: Writer, rows: Iterable[LinkApplication]) -> None:
    """Remember links that were just set. One that somebody accepted counts in favour of its entity at once."""
    now, agreed = clock.now(), []
    for each in rows:
        entity = name_key(each.entity)
        if not entity or _is_recorded(tx, each.path, entity):
            continue
        tx.run(
            "INSERT INTO link_applications (at, who, path, entity, meant, term, source, change, edit, state)"
            " VALUES (:at, :who, :path, :entity, :meant, :term, :source, :change, :edit, 'standing')",
            {
                "at": now, "who": each.who, "path": each.path, "entity": entity, "term": each.term,
                "meant": _find_meant_path(tx, each.path, entity), "source": each.source, "change": each.change,
                "edit": link_history.read_edits(tx, each.path),
            },
        )  # fmt: skip
        if each.source == "accepted":
            agreed.append(Observation(each.who, entity, each.path, "accepted", each.term))
    link_trust.observe(tx, agreed)


def _is_recorded(tx: Reader, path: str, entity: str) -> bool:
    row = tx.one(
        "SELECT 1 FROM link_applications WHERE path = :path AND entity = :entity AND state IN ('standing', 'missing')",
        {"path": path, "entity": entity},
    )
    return row is not None


def _find_meant_path(tx: Reader, path: str, entity: str) -> str | None:
    """The path of the note that a link by this name in the note at ``path`` means."""
    found = tx.value(
        "SELECT n.path FROM notes s JOIN note_links l ON l.note = s.seq JOIN notes n ON n.seq = l.meant"
        " WHERE s.path = :path AND (l.target_key = :entity"
        " OR EXISTS (SELECT 1 FROM note_names k WHERE k.note = l.meant AND k.key = :entity)) LIMIT 1",
        {"path": path, "entity": entity},
    )
    return None if found is None else str(found)


def update_states(tx: Writer, note: int, path: str, edit: int | None) -> None:
    """Update the links set in a note after its links were read. ``edit``: the number of the edit that was seen; None:
    the note is new, or was read again."""
    kept = tx.all(
        "SELECT seq, entity, meant, state FROM link_applications"
        " WHERE path = :path AND state IN ('standing', 'missing')",
        {"path": path},
    )
    if not kept:
        return
    here = _links(tx, note)
    there = {seq: _is_standing(here, entity, meant) for seq, entity, meant, _ in kept}
    now = clock.now()
    gone = [{"seq": seq, "now": now} for seq, _, _, state in kept if not there[seq] and state == "standing"]
    back = [{"seq": seq} for seq, _, _, state in kept if there[seq] and state == "missing"]
    tx.many("UPDATE link_applications SET state = 'standing', gone = NULL WHERE seq = :seq", back)
    if edit is None:
        tx.many("UPDATE link_applications SET state = 'undone' WHERE seq = :seq", gone)
        return
    tx.many("UPDATE link_applications SET state = 'missing', gone = :now WHERE seq = :seq", gone)
    tx.run(
        "UPDATE link_applications SET state = 'lasting'"
        " WHERE path = :path AND state = 'standing' AND edit <= :edit AND at < :before",
        {"path": path, "edit": edit - LASTING_AFTER_EDITS, "before": clock.ago(LASTING_AFTER_S)},
    )


LinkKeys = frozenset[str]
"""What a note links to: keys of names as written, and paths of notes that are meant."""


def _links(tx: Reader, note: int) -> LinkKeys:
    rows = tx.all(
        "SELECT DISTINCT l.target_key, n.path FROM note_links l LEFT JOIN notes n ON n.seq = l.meant"
        " WHERE l.note = :note",
        {"note": note},
    )
    return frozenset(each for row in rows for each in row if each)


def _is_standing(here: LinkKeys, entity: str, meant: str | None) -> bool:
    return entity in here or meant in here


def has_pending(tx: Reader) -> bool:
    """Whether links wait to be judged, now or after their grace period."""
    return tx.one("SELECT 1 FROM link_applications WHERE state IN ('missing', 'lasting') LIMIT 1") is not None


def judge(tx: Writer) -> bool:
    """Learn from links that are gone for good and from those that last. True if more can be judged now."""
    rows = tx.all(
        "SELECT seq, who, path, entity, meant, term, source, change, state FROM link_applications"
        " WHERE state IN ('missing', 'lasting') AND (state = 'lasting' OR gone <= :before) ORDER BY seq LIMIT :limit",
        {"before": clock.ago(REMOVAL_GRACE_S), "limit": BATCH},
    )
    observed = []
    known: dict[str, LinkKeys | None] = {}
    for each in (_PendingLink(*row) for row in rows):
        state = "kept" if each.state == "lasting" else _fate(tx, each, known)
        tx.run("UPDATE link_applications SET state = :state WHERE seq = :seq", {"state": state, "seq": each.seq})
        taken_back = each.source == "proactive" and state == "undone"
        if state == "kept":
            observed.append(Observation(each.who, each.entity, each.path, "kept", each.term))
        elif state == "removed" or (taken_back and known[each.path] is not None and _has_target(tx, each.meant)):
            observed.append(Observation(each.who, each.entity, each.path, "removed", each.term))
    link_trust.observe(tx, observed)
    return len(rows) == BATCH


def _fate(
    tx: Reader, link: _PendingLink, known: dict[str, LinkKeys | None]
) -> Literal["standing", "removed", "undone"]:
    """What became of a missing link. It may be there after all: the note it leads to may have got its name, or its
    path, only after the link was read."""
    if link.path not in known:
        note = tx.value("SELECT seq FROM notes WHERE path = :path", {"path": link.path})
        known[link.path] = None if note is None else _links(tx, int(note))
    here = known[link.path]
    if here is None or not _has_target(tx, link.meant):
        return "undone"
    if _is_standing(here, link.entity, link.meant):
        return "standing"
    undo = "SELECT 1 FROM note_changes WHERE undoes = :change AND state = 'done' LIMIT 1"
    return "undone" if link.change is not None and tx.one(undo, {"change": link.change}) is not None else "removed"


def _has_target(tx: Reader, meant: str | None) -> bool:
    """Whether the note that a link led to still exists; a name without a note always does."""
    return meant is None or tx.one("SELECT 1 FROM notes WHERE path = :path", {"path": meant}) is not None


def find_untouchable(tx: Reader, paths: Sequence[str]) -> set[str]:
    """Those of some notes in which somebody removed a link that was set unasked."""
    refused = (
        "SELECT 1 FROM link_applications"
        " WHERE path = :path AND source = 'proactive' AND state IN ('missing', 'removed', 'undone') LIMIT 1"
    )
    return {path for path in paths if tx.one(refused, {"path": path})}


def count_recent(tx: Reader, since: str) -> int:
    """In how many notes links were set unasked since a moment."""
    query = "SELECT COUNT(DISTINCT path) FROM link_applications WHERE source = 'proactive' AND at >= :since"
    return int(tx.value(query, {"since": since}))
