"""Merging one note into another: its links, names and text go to the other, and it is removed.

This is one change, which ``history`` undoes as a whole. Memories are not files: those about the removed note are from
then on about the other one as well, even after an undo.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vaults.advice import Advice, tool_clause
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.graph.entities import alias_edits
from vaults.domain.graph.entities.entity_lookup import require_note_path
from vaults.domain.graph.entities.merge_links import MergeRelinker
from vaults.domain.notes.commit.journal import FileChange
from vaults.domain.notes.edit.edit_results import EditResult
from vaults.domain.notes.edit.link_rewrites import names_of
from vaults.domain.notes.edit.link_spelling import note_name
from vaults.domain.notes.edit.many_notes import BulkDrafts, BulkEdit, commit_drafts, draft_rewrites
from vaults.domain.notes.edit.moves import INDEX_WAIT_S, UNREAD_WARNING
from vaults.domain.notes.index import note_rows
from vaults.domain.notes.read.note_lookup import OpenNote, check_etag, open_note
from vaults.errors import Conflict, InvalidArgument, StrongroomError, TooLarge
from vaults.files.paths import collision_key
from vaults.graph.links import link_index, memory_subjects
from vaults.graph.names import note_names
from vaults.markdown import parser as markdown
from vaults.markdown.encoding import NoteSource, dominant_newline, encode
from vaults.markdown.link_resolution import LinkTarget, fold_name, name_key
from vaults.vault import Vault

TOOL = "entities"
MAX_NAMED = 20
"""Max other notes that are named in the answer."""

_CARRIED_FIELDS = frozenset({"title", "alias", "aliases"})


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """A merge as requested. Notes are given by path, title or alias."""

    gone: str
    into: str
    keep_text: bool = True  # append the removed note's text to the other; otherwise it is lost
    dry_run: bool = True
    etag: str | None = None  # of ``into``
    gone_etag: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class _MergePlan:
    files: BulkDrafts
    links: int


async def merge_notes(vault: Vault, actor: Actor, request: MergeRequest) -> EditResult:
    """Merge one note into another, which the answer is about. Raises ``NotFound``, ``InvalidArgument`` if both are the
    same note, ``Conflict`` for a name of several notes, a stale etag, or a file another program saves meanwhile."""
    if vault.lease.held:  # links in notes not yet indexed would be missed
        await vault.notes.wait_for_index(INDEX_WAIT_S)
    gone, into = await require_note_path(vault, request.gone), await require_note_path(vault, request.into)
    if gone == into:
        raise InvalidArgument("into", f"is the same note as entity: {into}", hint="name two notes, best by their paths")
    if collision_key(gone) == collision_key(into):  # an undo could not recreate that file
        raise InvalidArgument(
            "entity",
            f"{gone} differs from {into} in case alone: an undo could not bring it back",
            hint=Advice(tool_clause("note_move it first", "note_move")),
        )
    if request.dry_run:
        return await _merge_paths(vault, actor, gone, into, request)
    async with vault.notes.writing():
        try:
            return await _merge_paths(vault, actor, gone, into, request)
        except Conflict:  # another program saved one of the files while they were read
            return await _merge_paths(vault, actor, gone, into, request)


async def _merge_paths(vault: Vault, actor: Actor, gone_path: str, into_path: str, request: MergeRequest) -> EditResult:
    gone, into = await open_note(vault, gone_path), await open_note(vault, into_path)
    check_etag(gone, request.gone_etag)
    check_etag(into, request.etag)
    plan = await _plan_merge(vault, gone, into, keep_text=request.keep_text)
    if vault.lease.held and vault.notes.progress.phase != "ready":
        plan.files.warnings.append(UNREAD_WARNING)
    bulk = BulkEdit(TOOL, f"merged {gone.path} into {into.path}", request.dry_run, request.session)
    done = await commit_drafts(vault, actor, plan.files, bulk)
    etag = into.etag
    if done.change is not None:
        await vault.db.write(lambda tx: memory_subjects.copy_subjects(tx, gone.path, into.path))
        etag = (await open_note(vault, into.path)).etag
    others = [gone.path, *(each for each in done.paths if each not in (into.path, gone.path))][:MAX_NAMED]
    return EditResult(
        path=into.path,
        etag=etag,
        changed=done.change is not None,
        warnings=done.warnings,
        change=done.change,
        links=plan.links,
        others=others,
        diff=done.diff,
    )


async def _plan_merge(vault: Vault, gone: OpenNote, into: OpenNote, *, keep_text: bool) -> _MergePlan:
    read_gone = await run_in(vault.shared.pool, markdown.parse, gone.text)
    read_into = await run_in(vault.shared.pool, markdown.parse_outline, into.text)
    going = LinkTarget(gone.path, read_gone.title or note_name(gone.path), read_gone.aliases)
    staying = LinkTarget(into.path, read_into.title or note_name(into.path), read_into.aliases)
    names = tuple(each for each in (going.title, note_name(gone.path), *going.aliases) if each)
    after = replace(staying, aliases=(*staying.aliases, *names))
    keys = names_of(going) | names_of(staying) | {name_key(link.page) for link in read_gone.links if link.target}
    sources, others = await vault.db.read(lambda tx: _read_linking_notes(tx, keys, names_of(going)))
    joined = MergeRelinker(going, staying, after, others)
    return await run_in(
        vault.shared.pool,
        _draft_changes,
        vault,
        _MergePair(gone, into, read_gone, keep_text),
        joined,
        [*sources],
        names,
    )


def _read_linking_notes(tx: Reader, keys: set[str], going: set[str]) -> tuple[list[str], list[LinkTarget]]:
    """Paths of notes that link by a name of the removed note, or whose links are not indexed yet; and all notes that
    those links may mean, before or after."""
    found = note_names.find_candidates(tx, sorted(keys))
    found += note_names.find_candidates(tx, sorted({name_key(note_name(each.path)) for each in found} - keys))
    rows = link_index.read_links_by_name(tx, going)
    sources = dict.fromkeys([row.source for row in rows] + note_rows.find_incomplete(tx))
    return list(sources), list({each.path: each for each in found}.values())


@dataclass(frozen=True, slots=True)
class _MergePair:
    gone: OpenNote
    into: OpenNote
    read: markdown.ParsedNote
    keep_text: bool


def _draft_changes(
    vault: Vault, pair: _MergePair, relinker: MergeRelinker, sources: Sequence[str], names: Sequence[str]
) -> _MergePlan:
    """Read the linking notes and draft every file. Blocking."""
    counts: list[int] = []

    def step(path: str, text: str) -> str:
        new = relinker.rewrite(text, path)
        counts.append(new.count)
        return new.text

    own = {pair.gone.path, pair.into.path}
    found = draft_rewrites(vault, [each for each in sources if each not in own], step)
    called = fold_name(note_name(pair.into.path))
    text = alias_edits.add_aliases(
        _join_texts(vault, pair, relinker, counts), [each for each in names if fold_name(each) != called]
    )
    data = encode(NoteSource(text, pair.into.source.bom))
    if len(data) > vault.notes.settings.max_note:
        raise TooLarge(f"{pair.into.path} would be longer than a note may be", size=len(data))
    files = [FileChange(pair.into.path, pair.into.data, data, stamp=pair.into.stamp)] if data != pair.into.data else []
    files += [*found.files, FileChange(pair.gone.path, pair.gone.data, None, stamp=pair.gone.stamp)]
    return _MergePlan(BulkDrafts(files, [*found.warnings, *_describe_left_out(pair)]), sum(counts))


def _join_texts(vault: Vault, pair: _MergePair, relinker: MergeRelinker, counts: list[int]) -> str:
    """The text of the remaining note, with that of the other appended."""
    into = relinker.rewrite(pair.into.text, pair.into.path)
    counts.append(into.count)
    if not pair.keep_text:
        return into.text
    gone = relinker.rewrite(pair.gone.text, pair.gone.path, lambda path: _exists(vault, path))
    text = _without_title(_read_body(gone.text), pair.read)
    if not text.strip():
        return into.text
    counts.append(gone.count)
    return _append_text(into.text, text, _to_heading(relinker.gone.title or note_name(pair.gone.path)))


def _read_body(text: str) -> str:
    r"""A note's text after its frontmatter, with all line endings as ``\n``."""
    return text[markdown.parse_outline(text).body_start :].replace("\r\n", "\n").replace("\r", "\n")


def _without_title(body: str, read: markdown.ParsedNote) -> str:
    """The body without a first heading that repeats the title, for the merge adds its own."""
    first = next(iter(read.headings), None)
    lead, _, rest = body.lstrip().partition("\n")
    says_it = first is not None and first.level == 1 and first.text == read.title and lead.startswith("# ")
    return rest if says_it else body


_MARKS = re.compile(r"[\[\]|<>`\\^\x00-\x1f]|(?<!\S)#+|#+\Z|%%")


def _to_heading(title: str) -> str:
    """A heading text on one line, without links, tags or comments."""
    return " ".join(["Merged from", *_MARKS.sub(" ", title).split()])[:200].rstrip(" #")


def _append_text(text: str, more: str, heading: str) -> str:
    """Append a text under a heading. Raises ``InvalidArgument`` if unclosed code or a comment would swallow it."""
    newline = dominant_newline(text)
    added = newline.join([f"## {heading}", "", *more.strip("\n").rstrip().split("\n"), ""])
    lead = text.rstrip("\r\n")
    new = f"{lead}{newline * 2}{added}" if lead.strip() else text + added
    if not any(each.text == heading and each.level == 2 for each in markdown.parse_outline(new).headings):
        raise InvalidArgument(
            "into", "ends within code or a comment that is not closed", hint="close it, or pass keep_text: false"
        )
    return new


def _describe_left_out(pair: _MergePair) -> list[str]:
    """A warning about frontmatter fields that are not carried over."""
    missing = [key for key in pair.read.frontmatter if key.lower() not in _CARRIED_FIELDS]
    if not missing:
        return []
    some = ", ".join(missing[:10]) + (" and more" if len(missing) > 10 else "")
    return [f"fields of {pair.gone.path} were not carried over: {some}"]


def _exists(vault: Vault, path: str) -> bool:
    try:
        return vault.notes.tree.stamp(path) is not None
    except StrongroomError:
        return False
