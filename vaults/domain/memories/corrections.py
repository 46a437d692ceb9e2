"""Corrections: what somebody said is wrong and what is right instead, shown wherever it matters until resolved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from uuid_utils import uuid7

from vaults import clock
from vaults.db.sql import Params, Reader, Writer, bind_list
from vaults.domain.actors import GLOBAL, Actor
from vaults.domain.memories import visibility
from vaults.domain.notes.index import note_rows
from vaults.domain.notes.read.dated_notes import resolve_path
from vaults.domain.paging import cursors
from vaults.domain.text.sanitize import to_one_line
from vaults.errors import Conflict, InvalidArgument, NotFound, QuotaExceeded
from vaults.files.paths import is_note, to_note_path
from vaults.vault import Vault

CorrectionKind = Literal["fact", "note", "memory", "link", "entity", "behaviour"]
CorrectionStatus = Literal["open", "resolved", "undone"]

MAX_OPEN = 1_000
"""Max open corrections of one principal in a vault."""

MAX_TEXT_TOLD = 200
"""Max characters of each side of a correction that is shown on one line."""

MAX_ABOUT = 5
"""Max corrections shown with hits and memories."""


@dataclass(frozen=True, slots=True)
class CorrectionDraft:
    """A correction to record. ``subject``: a note's path, a memory's id, or a name."""

    kind: CorrectionKind
    wrong: str
    right: str
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Correction:
    """``resolved_by`` resolved it with ``resolution``, or took it back."""

    id: str
    kind: CorrectionKind
    wrong: str
    right: str
    subject: str | None
    author: str
    at: str
    status: CorrectionStatus
    resolved_at: str | None = None
    resolved_by: str | None = None
    resolution: str | None = None


@dataclass(frozen=True, slots=True)
class CorrectionPage:
    """A page of ``total`` corrections, newest first. ``cursor`` asks for the next one."""

    corrections: list[Correction]
    total: int
    cursor: str | None = None


_COLUMNS = (
    "c.id, c.kind, c.wrong, c.instead, c.subject, c.author, c.at, c.status, c.resolved_at, c.resolved_by, c.resolution"
)
"""The fields of ``Correction``, in order."""

# Whatever its kind, a correction that names a memory is only for those who may see that memory. Who records one of a
# fact under such a name sees it all the same: otherwise one could probe which memories exist.
_FROM_VISIBLE = (
    "corrections c LEFT JOIN memories m ON m.id = c.subject WHERE (m.seq IS NULL AND c.kind <> 'memory'"
    " OR m.visibility = 'shared' OR m.stored_by = :viewer OR c.kind <> 'memory' AND c.who = :viewer)"
)


async def record(vault: Vault, actor: Actor, draft: CorrectionDraft) -> Correction:
    """Store a correction; if the same principal has the same one open, return that. Raises ``NotFound`` for a note or
    memory that is not there, ``QuotaExceeded``."""
    vault.check_writable()
    path = to_note_path(await resolve_path(vault, draft.subject)) if draft.kind == "note" and draft.subject else None

    def write(tx: Writer) -> Correction:
        subject = _subject(tx, actor, draft, path)
        row = {
            "id": str(uuid7()), "at": clock.now(), "who": actor.identity, "author": actor.name,
            "workspace": actor.workspace or GLOBAL, "kind": draft.kind, "subject": subject, "wrong": draft.wrong,
            "instead": draft.right, "status": "open",
        }  # fmt: skip
        from_open = "FROM corrections c WHERE c.status = 'open' AND c.who = :who"
        known = tx.one(
            f"SELECT {_COLUMNS} {from_open} AND c.kind = :kind AND c.wrong = :wrong AND c.instead = :instead"
            " AND c.subject IS NOT DISTINCT FROM :subject ORDER BY c.seq DESC LIMIT 1",
            row,
        )
        if known is not None:
            return Correction(*known)
        if int(tx.value(f"SELECT COUNT(*) {from_open}", row)) >= MAX_OPEN:
            raise QuotaExceeded(
                f"you have {MAX_OPEN} open corrections", hint="resolve what is put right", limit=MAX_OPEN
            )
        tx.run(f"INSERT INTO corrections ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})", row)
        tx.note_change("correction", str(row["id"]), None, "open")
        return _find(tx, actor, str(row["id"]))

    return await vault.db.write(write)


def _subject(tx: Reader, actor: Actor, draft: CorrectionDraft, path: str | None) -> str | None:
    if path is not None:
        return note_rows.find_note(tx, path)[1].path
    if draft.kind in ("note", "memory") and draft.subject is None:
        raise InvalidArgument("subject", f"is needed: the {draft.kind} that is wrong")
    if draft.kind == "memory" and draft.subject is not None:
        visibility.find_visible(tx, draft.subject, actor)
    return draft.subject


async def resolve(vault: Vault, actor: Actor, correction: str, resolution: str | None) -> Correction:
    """Mark it as put right, so that it is shown no more. Raises ``NotFound``, ``Conflict`` for one that is not open."""

    def write(tx: Writer) -> Correction:
        found = _find(tx, actor, correction)
        if found.status != "open":
            raise Conflict(f"this correction is {found.status} already", hint="undo takes that back")
        return _close(tx, actor, found, "resolved", resolution)

    return await vault.db.write(write)


async def undo(vault: Vault, actor: Actor, correction: str) -> Correction:
    """Take back its resolution, or else the correction itself. Raises ``NotFound``, ``Conflict`` for one that was taken
    back."""

    def write(tx: Writer) -> Correction:
        found = _find(tx, actor, correction)
        if found.status == "undone":
            raise Conflict("this correction was taken back already", hint="record it anew")
        return _close(tx, actor, found, "open" if found.status == "resolved" else "undone", None)

    return await vault.db.write(write)


def _close(tx: Writer, actor: Actor, found: Correction, status: CorrectionStatus, resolution: str | None) -> Correction:
    at, who = (clock.now(), actor.name) if status != "open" else (None, None)
    tx.run(
        "UPDATE corrections SET status = :status, resolved_at = :at, resolved_by = :who, resolution = :resolution"
        " WHERE id = :id",
        {"status": status, "at": at, "who": who, "resolution": resolution, "id": found.id},
    )
    tx.note_change("correction", found.id, found.status, status)
    return _find(tx, actor, found.id)


def _find(tx: Reader, actor: Actor, correction: str) -> Correction:
    row = tx.one(f"SELECT {_COLUMNS} FROM {_FROM_VISIBLE} AND c.id = :id", {"viewer": actor.identity, "id": correction})
    if row is None:
        raise NotFound(f"no correction {correction[:64]}")
    return Correction(*row)


async def list_corrections(
    vault: Vault,
    actor: Actor,
    status: Literal["open", "resolved", "all"],
    about: str | None,
    page: tuple[int, str | None],
) -> CorrectionPage:
    """Corrections of the caller's workspace, or of all when it has none. ``page``: limit and cursor. Raises
    ``InvalidArgument`` for a cursor of another listing."""
    limit, cursor = page
    listing = f"corrections {status} {about or ''}"
    before = cursors.decode(cursor, listing)[1] if cursor is not None else None
    where, params = _scope_condition(actor.identity, (actor.workspace, GLOBAL) if actor.workspace else ())
    if status != "all":
        where += " AND c.status = :status"
        params["status"] = status
    if about is not None:
        where += " AND c.subject IN (:about, :note)"
        params |= {"about": about, "note": about if is_note(about) else f"{about}.md"}

    def read(tx: Reader) -> CorrectionPage:
        total = int(tx.value(f"SELECT COUNT(*) FROM {where}", params))
        older = "" if before is None else " AND c.seq < :before"
        rows = tx.all(
            f"SELECT c.seq, {_COLUMNS} FROM {where}{older} ORDER BY c.seq DESC LIMIT :limit",
            {**params, "before": before, "limit": limit + 1},
        )
        shown = {int(seq): Correction(*columns) for seq, *columns in rows[:limit]}
        following = cursors.encode(listing, "", min(shown)) if len(rows) > limit else None
        return CorrectionPage(list(shown.values()), total, following)

    return await vault.db.read(read)


def _scope_condition(viewer: str, workspaces: Sequence[str]) -> tuple[str, dict[str, object]]:
    among, params = bind_list("workspace", workspaces)
    some = f" AND c.workspace IN ({among})" if workspaces else ""
    return f"{_FROM_VISIBLE}{some}", {"viewer": viewer, **params}


def list_open(tx: Reader, viewer: str, workspaces: Sequence[str], most: int) -> list[Correction]:
    """The newest open ones, taking principals in turn: however many one records, others are heard."""
    where, params = _scope_condition(viewer, workspaces)
    return _take_turns(tx, f"{where} AND c.status = 'open'", params, most)


def find_about(tx: Reader, viewer: str, subjects: Sequence[str], most: int = MAX_ABOUT) -> list[Correction]:
    """Open ones about notes, by path, and memories, by id; principals in turn."""
    if not subjects or tx.one("SELECT 1 FROM corrections LIMIT 1") is None:
        return []
    among, params = bind_list("subject", subjects)
    where = f"{_FROM_VISIBLE} AND c.kind IN ('note', 'memory') AND c.subject IN ({among}) AND c.status = 'open'"
    return _take_turns(tx, where, {"viewer": viewer, **params}, most)


def _take_turns(tx: Reader, where: str, params: Params, most: int) -> list[Correction]:
    rows = tx.all(
        "SELECT * FROM (SELECT ROW_NUMBER() OVER (PARTITION BY c.who ORDER BY c.seq DESC) AS turn, c.seq,"
        f" {_COLUMNS} FROM {where}) AS one ORDER BY turn, seq DESC LIMIT {most:d}",
        params,
    )
    return [Correction(*columns) for _, _, *columns in rows]


def describe_correction(each: Correction) -> str:
    """One correction on a line; its author's words stand in quotation marks."""
    of = f" of {to_one_line(each.subject)}" if each.subject else ""
    wrong, right = (to_one_line(text, MAX_TEXT_TOLD).replace('"', "'") for text in (each.wrong, each.right))
    return f'correction {each.id}{of} by {to_one_line(each.author, 60)}, {each.at[:10]}: not "{wrong}" but "{right}"'
