"""Giving a note another name or folder, with every link in the vault that means it, as one change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.memories.memory_model import Actor
from vaults.domain.notes.commit.change_diffs import shown
from vaults.domain.notes.commit.journal import Change, FileChange
from vaults.domain.notes.commit.transaction import commit
from vaults.domain.notes.edit.conflicts import check_covered
from vaults.domain.notes.edit.drafts import Draft
from vaults.domain.notes.edit.edit_results import Changed
from vaults.domain.notes.edit.link_rewrites import Move, Relinking
from vaults.domain.notes.edit.link_spelling import name
from vaults.domain.notes.index import note_rows
from vaults.domain.notes.read.note_lookup import Open, check_etag
from vaults.errors import Conflict, InvalidArgument, NotFound, TooLarge
from vaults.files.failures import blocked, clash, occupied
from vaults.files.paths import check_creatable, check_named_as_note, is_note, joined, key, located
from vaults.graph.links import link_index
from vaults.graph.names import note_names
from vaults.markdown import parser as markdown
from vaults.markdown.encoding import Source, encode
from vaults.markdown.link_resolution import Candidate, name_key
from vaults.vault import Vault

NAMED = 20
"""Notes that a result names one by one."""

PATIENCE_S = 30.0
"""Seconds a move waits for the first look at the vault: some 20,000 new notes."""

UNREAD = "the index is still reading the vault: links in notes it has not read yet may be missed"


@dataclass(frozen=True, slots=True)
class Asked:
    """A move as it is asked for. ``to`` is a path, or a folder if it ends in ``/``."""

    path: str
    to: str
    update_backlinks: bool = True
    dry_run: bool = False
    etag: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A note as it is, where it goes, files to change, the moved one first; how many links of other notes are among
    them."""

    note: Open
    to: str
    files: list[FileChange]
    links: int
    warnings: list[str]


async def move(vault: Vault, actor: Actor, asked: Asked) -> Changed:
    """Move a note. Raises ``Conflict`` (another note goes by that name, or a linking note was changed meanwhile),
    ``AlreadyExists``, ``NotFound``, ``InvalidArgument`` for a name that is not good everywhere."""
    if asked.update_backlinks and vault.lease.held:  # links of notes that nobody has read cannot follow
        await vault.notes.settled(PATIENCE_S)
    async with vault.notes.writing():
        plan = await planned(Draft(vault), asked)
        try:
            return await _made(vault, actor, plan, asked)
        except Conflict:  # another program saved one of the files while they were read
            return await _made(vault, actor, await planned(Draft(vault), replace(asked, path=plan.note.path)), asked)


async def planned(draft: Draft, asked: Asked) -> Plan:
    """The changes that a move is, where a draft leaves the notes. Raises as ``move``."""
    note = await draft.opened(asked.path)
    check_etag(note, asked.etag)
    to = _destination(note.path, asked.to)
    if to == note.path:
        return Plan(note, to, [], 0, note.warnings)
    await run_in(draft.vault.shared.pool, _check_free, draft, note.path, to)
    return await _planned(draft, note, to, update_backlinks=asked.update_backlinks)


def _destination(path: str, to: str) -> str:
    """Where the note goes. A suffix that is left out is the one it has."""
    old = path.rpartition("/")[2]
    try:
        if to.endswith("/"):
            new = joined(located(to) if to.strip("/") else "", old)
        else:
            check_named_as_note(to)
            new = located(to) if is_note(to) else located(to) + old[len(name(path)) :]
        if new != path:
            check_creatable(new)
    except InvalidArgument as failure:
        raise InvalidArgument("to", failure.message.partition(" path ")[2], hint=failure.hint) from failure
    return new


def _check_free(draft: Draft, path: str, to: str) -> None:
    check_covered(draft.vault, "to", to)
    draft.check_beside(to, own=path)
    existing = draft.vault.notes.tree.collision(to)
    if existing == to:
        raise occupied(to)
    if existing is not None and (existing != path or key(path) != key(to)):
        raise blocked(to, existing) if to.startswith(f"{existing}/") else clash(to, existing)


async def _made(vault: Vault, actor: Actor, plan: Plan, asked: Asked) -> Changed:
    note, to, warnings = plan.note, plan.to, plan.warnings
    if not plan.files:
        return Changed(to, note.etag, changed=False, warnings=warnings)
    others = [each.path for each in plan.files[1 : 1 + NAMED]]
    if asked.dry_run:
        diff = await run_in(vault.shared.pool, shown, plan.files)
        return Changed(to, note.etag, changed=False, warnings=warnings, diff=diff, links=plan.links, others=others)
    followed = f", {plan.links} links in {len(plan.files) - 1} notes with it" if others else ""
    change = Change("note_move", f"moved {note.path} to {to}{followed}", plan.files, asked.session)
    done = await commit(vault, actor, change)
    return Changed(
        to, done.etags.get(to), changed=True, warnings=warnings, change=done.id, links=plan.links, others=others
    )


async def _planned(draft: Draft, note: Open, to: str, *, update_backlinks: bool) -> Plan:
    vault = draft.vault
    this, keys = await run_in(vault.shared.pool, _meant, note, to)
    rows, others, unread = await vault.db.read(lambda tx: _known(tx, this, keys))
    relinking = Relinking(this, others)
    linked = (rows, [*unread, *draft.paths]) if update_backlinks else ([], [])
    plan = await run_in(vault.shared.pool, _changes, draft, note, relinking, *linked)
    if update_backlinks and vault.lease.held and vault.notes.progress.phase != "ready":
        plan.warnings.append(UNREAD)
    return plan


def _meant(note: Open, to: str) -> tuple[Move, set[str]]:
    """The note before and after, and every name that it goes by or links to."""
    read = markdown.parse(note.text)
    this = Move(
        Candidate(note.path, read.title or name(note.path), read.aliases),
        Candidate(to, read.title or name(to), read.aliases),
    )
    return this, this.keys | {name_key(link.page) for link in read.links if link.target}


def _known(tx: Reader, this: Move, keys: set[str]) -> tuple[list[link_index.LinkRow], list[Candidate], list[str]]:
    """Links that may be concerned, the notes they may mean, and notes whose links nobody has read yet."""
    found = note_names.candidates(tx, sorted(keys))
    further = {name_key(name(each.path)) for each in found} - keys
    found += note_names.candidates(tx, sorted(further))
    return (
        link_index.naming(tx, this.keys),
        list({each.path: each for each in found}.values()),
        note_rows.incomplete(tx),
    )


def _affected(relinking: Relinking, rows: Sequence[link_index.LinkRow]) -> list[str]:
    """Paths of other notes whose links change, so that no others are read."""
    own = relinking.move.before.path
    return [row.source for row in rows if row.source != own and relinking.target(row.link, row.source) is not None]


def _changes(
    draft: Draft, note: Open, relinking: Relinking, rows: Sequence[link_index.LinkRow], unread: Sequence[str]
) -> Plan:
    """Read the linking notes and spell their links anew. Blocking."""
    plan = Plan(note, relinking.move.after.path, [], 0, list(note.warnings))
    new = relinking.relinked(note.text, note.path, draft.exists)
    after = encode(Source(new.text, note.source.bom)) if new.count else note.data
    plan.files.append(FileChange(note.path, note.data, after, relinking.move.after.path, note.stamp))
    count = 0
    for path in dict.fromkeys([*_affected(relinking, rows), *unread]):
        if path == note.path:
            continue
        try:
            other = draft.read(path)
        except NotFound:
            continue  # gone since it was indexed
        except (InvalidArgument, TooLarge):
            plan.warnings.append(f"{path} cannot be read as text any more; links in it were left")
            continue
        spelled = relinking.relinked(other.text, path)
        if spelled.count:
            count += spelled.count
            bytes_after = encode(Source(spelled.text, other.source.bom))
            plan.files.append(FileChange(path, other.data, bytes_after, stamp=other.stamp))
    return replace(plan, links=count)


def links_to(tx: Reader, path: str) -> list[link_index.LinkRow]:
    """Links of other notes that mean the note at a path."""
    try:
        number, _ = note_rows.find(tx, path)
    except (NotFound, Conflict):
        return []
    rows = [row for row in link_index.backlinks(tx, number) if row.source != path]
    return sorted(rows, key=lambda row: (row.source, row.line))
