"""Renaming or moving a note together with every link in the vault that leads to it, as one change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.notes.commit.change_diffs import diff_files
from vaults.domain.notes.commit.journal import FileChange, NoteChange
from vaults.domain.notes.commit.transaction import commit
from vaults.domain.notes.edit.conflicts import check_covered
from vaults.domain.notes.edit.drafts import DraftNotes
from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.notes.edit.link_rewrites import LinkRewriter, NoteMove
from vaults.domain.notes.edit.link_spelling import note_name
from vaults.domain.notes.index import note_rows
from vaults.domain.notes.read.note_lookup import OpenNote, check_etag
from vaults.errors import Conflict, InvalidArgument, NotFound, TooLarge
from vaults.files.failures import blocked_error, occupied_error, spelling_clash_error
from vaults.files.paths import check_creatable, check_named_as_note, collision_key, is_note, join_path, normalize_path
from vaults.graph.links import link_index
from vaults.graph.names import note_names
from vaults.markdown import parser as markdown
from vaults.markdown.encoding import NoteSource, encode
from vaults.markdown.link_resolution import LinkTarget, name_key
from vaults.vault import Vault

MAX_NAMED = 20
"""Max notes that a result names one by one."""

INDEX_WAIT_S = 30.0
"""Seconds a move waits for the first scan of the vault: enough for some 20,000 new notes."""

UNREAD_WARNING = "the index is still reading the vault: links in notes it has not read yet may be missed"


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """A move as requested."""

    path: str
    to: str  # a path, or a folder if it ends in "/"
    update_backlinks: bool = True
    dry_run: bool = False
    etag: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class MovePlan:
    """A move, worked out."""

    note: OpenNote
    to: str
    files: list[FileChange]  # the moved note first
    links: int  # links in other notes that are rewritten
    warnings: list[str]


async def move(vault: Vault, actor: Actor, request: MoveRequest) -> EditResult:
    """Move a note. Raises ``Conflict`` (another note has that name, or a linking note was changed meanwhile),
    ``AlreadyExists``, ``NotFound``, ``InvalidArgument`` for a name that is not valid on every system."""
    if request.update_backlinks and vault.lease.held:  # links in notes not yet indexed would be missed
        await vault.notes.wait_for_index(INDEX_WAIT_S)
    async with vault.notes.writing():
        plan = await plan_move(DraftNotes(vault), request)
        try:
            return await _commit_move(vault, actor, plan, request)
        except Conflict:  # another program saved one of the files while they were read
            return await _commit_move(
                vault, actor, await plan_move(DraftNotes(vault), replace(request, path=plan.note.path)), request
            )


async def plan_move(draft: DraftNotes, request: MoveRequest) -> MovePlan:
    """Plan a move on top of a draft. Raises the errors of ``move``."""
    note = await draft.open_note(request.path)
    check_etag(note, request.etag)
    to = _destination(note.path, request.to)
    if to == note.path:
        return MovePlan(note, to, [], 0, note.warnings)
    await run_in(draft.vault.shared.pool, _check_free, draft, note.path, to)
    return await _plan_changes(draft, note, to, update_backlinks=request.update_backlinks)


def _destination(path: str, to: str) -> str:
    """The note's new path. A suffix that is left out is taken from the old one."""
    old = path.rpartition("/")[2]
    try:
        if to.endswith("/"):
            new = join_path(normalize_path(to) if to.strip("/") else "", old)
        else:
            check_named_as_note(to)
            new = normalize_path(to) if is_note(to) else normalize_path(to) + old[len(note_name(path)) :]
        if new != path:
            check_creatable(new)
    except InvalidArgument as failure:
        raise InvalidArgument("to", failure.message.partition(" path ")[2], hint=failure.hint) from failure
    return new


def _check_free(draft: DraftNotes, path: str, to: str) -> None:
    check_covered(draft.vault, "to", to)
    draft.check_drafted_names(to, own=path)
    existing = draft.vault.notes.tree.collision(to)
    if existing == to:
        raise occupied_error(to)
    if existing is not None and (existing != path or collision_key(path) != collision_key(to)):
        raise blocked_error(to, existing) if to.startswith(f"{existing}/") else spelling_clash_error(to, existing)


async def _commit_move(vault: Vault, actor: Actor, plan: MovePlan, request: MoveRequest) -> EditResult:
    note, to, warnings = plan.note, plan.to, plan.warnings
    if not plan.files:
        return EditResult(to, note.etag, changed=False, warnings=warnings)
    others = [each.path for each in plan.files[1 : 1 + MAX_NAMED]]
    if request.dry_run:
        diff = await run_in(vault.shared.pool, diff_files, plan.files)
        return EditResult(to, note.etag, changed=False, warnings=warnings, diff=diff, links=plan.links, others=others)
    followed = f", {plan.links} links in {len(plan.files) - 1} notes with it" if others else ""
    change = NoteChange("note_move", f"moved {note.path} to {to}{followed}", plan.files, request.session)
    done = await commit(vault, actor, change)
    return EditResult(
        to, done.etags.get(to), changed=True, warnings=warnings, change=done.id, links=plan.links, others=others
    )


async def _plan_changes(draft: DraftNotes, note: OpenNote, to: str, *, update_backlinks: bool) -> MovePlan:
    vault = draft.vault
    this, keys = await run_in(vault.shared.pool, _to_note_move, note, to)
    rows, others, unread = await vault.db.read(lambda tx: _read_linking_rows(tx, this, keys))
    relinking = LinkRewriter(this, others)
    linked = (rows, [*unread, *draft.paths]) if update_backlinks else ([], [])
    plan = await run_in(vault.shared.pool, _rewrite_links, draft, note, relinking, *linked)
    if update_backlinks and vault.lease.held and vault.notes.progress.phase != "ready":
        plan.warnings.append(UNREAD_WARNING)
    return plan


def _to_note_move(note: OpenNote, to: str) -> tuple[NoteMove, set[str]]:
    """The note before and after, and every name that reaches it or that it links to."""
    read = markdown.parse(note.text)
    this = NoteMove(
        LinkTarget(note.path, read.title or note_name(note.path), read.aliases),
        LinkTarget(to, read.title or note_name(to), read.aliases),
    )
    return this, this.keys | {name_key(link.page) for link in read.links if link.target}


def _read_linking_rows(
    tx: Reader, move: NoteMove, keys: set[str]
) -> tuple[list[link_index.LinkRow], list[LinkTarget], list[str]]:
    """Links that may be affected, the notes they may mean, and notes whose links are not indexed yet."""
    found = note_names.find_candidates(tx, sorted(keys))
    further = {name_key(note_name(each.path)) for each in found} - keys
    found += note_names.find_candidates(tx, sorted(further))
    return (
        link_index.read_links_by_name(tx, move.keys),
        list({each.path: each for each in found}.values()),
        note_rows.find_incomplete(tx),
    )


def _find_affected(rewriter: LinkRewriter, rows: Sequence[link_index.LinkRow]) -> list[str]:
    """Paths of other notes whose links change, so that only those are read."""
    own = rewriter.move.before.path
    return [row.source for row in rows if row.source != own and rewriter.target(row.link, row.source) is not None]


def _rewrite_links(
    draft: DraftNotes,
    note: OpenNote,
    rewriter: LinkRewriter,
    rows: Sequence[link_index.LinkRow],
    unread: Sequence[str],
) -> MovePlan:
    """Read the linking notes and rewrite their links. Blocking."""
    plan = MovePlan(note, rewriter.move.after.path, [], 0, list(note.warnings))
    new = rewriter.rewrite(note.text, note.path, draft.exists)
    after = encode(NoteSource(new.text, note.source.bom)) if new.count else note.data
    plan.files.append(FileChange(note.path, note.data, after, rewriter.move.after.path, note.stamp))
    count = 0
    for path in dict.fromkeys([*_find_affected(rewriter, rows), *unread]):
        if path == note.path:
            continue
        try:
            other = draft.read(path)
        except NotFound:
            continue  # gone since it was indexed
        except (InvalidArgument, TooLarge):
            plan.warnings.append(f"{path} cannot be read as text any more; links in it were left")
            continue
        spelled = rewriter.rewrite(other.text, path)
        if spelled.count:
            count += spelled.count
            bytes_after = encode(NoteSource(spelled.text, other.source.bom))
            plan.files.append(FileChange(path, other.data, bytes_after, stamp=other.stamp))
    return replace(plan, links=count)


def find_links_to(tx: Reader, path: str) -> list[link_index.LinkRow]:
    """Links in other notes that lead to the note at a path."""
    try:
        number, _ = note_rows.find_note(tx, path)
    except (NotFound, Conflict):
        return []
    rows = [row for row in link_index.read_backlinks(tx, number) if row.source != path]
    return sorted(rows, key=lambda row: (row.source, row.line))
