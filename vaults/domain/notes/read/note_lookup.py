"""Finding a note by the name a caller gives, and reading it from disk: the first step of every tool on notes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from vaults.advice import Advice, tool_clause
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.notes.commit import journal
from vaults.domain.notes.commit.overwrites import recent_cutoff
from vaults.domain.notes.index.extraction import compute_digest, etag_of
from vaults.domain.text.sanitize import to_one_line
from vaults.errors import Conflict, InvalidArgument, NotFound
from vaults.files.paths import collision_key, is_note, to_note_path
from vaults.files.tree import FileContent, FileStamp
from vaults.graph.names import note_names
from vaults.markdown.encoding import NoteSource, NotText, decode
from vaults.markdown.fuzzy import find_nearest
from vaults.vault import Vault

T = TypeVar("T")

MAX_CLOSEST = 5
"""Max names suggested where a note is not found."""

MAX_NAMED = 20
"""Max notes an error names one by one."""

MAX_TEXT_SHOWN = 20_000
"""Max characters of the present text that a conflict returns."""


@dataclass(frozen=True, slots=True)
class OpenNote:
    """A note as it is on disk. ``warnings``: what its reader should know, such as edits that were overwritten."""

    path: str
    data: bytes
    source: NoteSource
    stamp: FileStamp
    warnings: list[str]

    @property
    def text(self) -> str:
        return self.source.text

    @property
    def etag(self) -> str:
        return etag_of(compute_digest(self.data))


async def open_note(vault: Vault, path: str) -> OpenNote:
    """The note a caller means: by its path, with or without ``.md``, or by another spelling or name if unambiguous.
    Raises ``NotFound`` with the closest names, ``Conflict``, ``InvalidArgument`` for a file that is not text,
    ``TooLarge``."""
    note, _ = await open_and_run(vault, path, _do_nothing)
    return note


def _do_nothing(_: str) -> None:
    pass


async def open_and_run(vault: Vault, path: str, work: Callable[[str], T]) -> tuple[OpenNote, T]:
    """``open_note``, and what ``work`` makes of its text on the thread that read it: a turn of a thread less."""
    wanted = to_note_path(path)
    try:
        return await _open_spelled(vault, wanted, work)
    except NotFound:
        found = await vault.db.read(lambda tx: _find_elsewhere(tx, path, wanted))
        if not found or found[0].startswith("?"):
            await run_in(vault.shared.pool, _check_no_other, vault, path, wanted)
        return await _open_spelled(vault, _choose_only(path, found), work)


async def _open_spelled(vault: Vault, path: str, work: Callable[[str], T]) -> tuple[OpenNote, T]:
    reading = run_in(vault.shared.pool, _read_and_run, vault, path, work)
    (note, done), warnings = await asyncio.gather(reading, vault.db.read(lambda tx: _find_warnings(tx, path)))
    return replace(note, warnings=warnings), done


def _read_and_run(vault: Vault, path: str, work: Callable[[str], T]) -> tuple[OpenNote, T]:
    note = to_open_note(path, _read_content(vault, path))
    return note, work(note.text)


def to_open_note(path: str, content: FileContent, warnings: Sequence[str] = ()) -> OpenNote:
    """A note from a file's content. Raises ``InvalidArgument`` if it is not text."""
    try:
        return OpenNote(path, content.data, decode(content.data), content.stamp, list(warnings))
    except NotText as failure:
        raise InvalidArgument("path", f"names a file that is no UTF-8 text: {failure.reason}") from failure


def _check_no_other(vault: Vault, path: str, wanted: str) -> None:
    """Raise ``InvalidArgument`` for an existing file that is no note. Excluded files count as absent. Blocking."""
    if is_note(path) or not vault.notes.tree.covers(wanted):
        return
    stamp = vault.notes.tree.stamp(path)
    if stamp is None:
        return
    suffix = path.rpartition("/")[2].rpartition(".")[2] if "." in path.rpartition("/")[2] else ""
    kind = f"a {suffix.upper()} file" if suffix else "a file"
    raise InvalidArgument(
        "path",
        f"names {kind} of {stamp.size:,} bytes, which is no note",
        hint="only Markdown (.md, .markdown) is read as a note; a note can link it: [["
        + path.rpartition("/")[2]
        + "]]",
    )


def _read_content(vault: Vault, path: str) -> FileContent:
    """Raises ``NotFound`` also for excluded files: hiding a folder from searches hides it from agents too."""
    if not vault.notes.tree.covers(path):
        raise NotFound(f"no note {path}")
    return vault.notes.tree.read(path, vault.notes.settings.max_note)


def _find_elsewhere(tx: Reader, path: str, wanted: str) -> list[str]:
    """Paths that a missing path may mean: another spelling, else a note of that name anywhere, else similar names, each
    marked with ``?``."""
    rows = tx.all("SELECT path FROM notes WHERE path_key = :path_key LIMIT 3", {"path_key": collision_key(wanted)})
    if not rows and (target := note_names.resolve_to_path(tx, path.removesuffix(".md"), "")):
        return [target]
    return [row[0] for row in rows] or [f"?{each}" for each in find_closest(tx, wanted)]


def _choose_only(path: str, found: Sequence[str]) -> str:
    if len(found) == 1 and not found[0].startswith("?"):
        return found[0]
    if found and not found[0].startswith("?"):
        raise Conflict(f"several notes go by the name {path}", hint="spell it as it is", paths=list(found))
    near = [each[1:] for each in found]
    raise no_such_note(f"no note {path}", near)


_LIST_ADVICE = Advice(tool_clause("find_notes lists what there is", "find_notes"))


def no_such_note(message: str, near: Sequence[str], otherwise: str = _LIST_ADVICE) -> NotFound:
    """The error for a name that no note has. ``near``: the most similar paths; ``otherwise``: the hint if none are."""
    hint = f"did you mean {', '.join(near[:3])}?" if near else otherwise
    return NotFound(message, hint=hint, closest=list(near))


def ambiguous_name(name: str, paths: Sequence[str]) -> Conflict:
    """The error for a name that several notes have."""
    return Conflict(
        f"{len(paths)} notes are called {to_one_line(name)}: {', '.join(paths[:5])}",
        hint="give the path of the one you mean",
        paths=list(paths[:MAX_NAMED]),
    )


def find_closest(tx: Reader, wanted: str) -> list[str]:
    """The paths of notes that are spelled most like this one."""
    from rapidfuzz import fuzz

    names = [row[0] for row in tx.all("SELECT path FROM notes LIMIT 20000")]
    return [each[0] for each in find_nearest(wanted, names, fuzz.WRatio, limit=MAX_CLOSEST, least=60)]


def _find_warnings(tx: Reader, path: str) -> list[str]:
    lost = journal.find_overwritten(tx, path, recent_cutoff())
    shown = tool_clause(
        "history can show and restore it", "history restore", instead=tool_clause("history can show it", "history")
    )
    return [Advice(f"a program outside wrote over the change {each}", shown) for each in lost]


def check_etag(note: OpenNote, etag: str | None) -> None:
    """Raise ``Conflict``, with the present text and etag, if the caller read another version."""
    if etag is not None and etag != note.etag:
        raise Conflict(
            f"{note.path} has changed since it was read",
            hint="look at the present text and edit again with its etag",
            path=note.path,
            etag=note.etag,
            text=note.text[:MAX_TEXT_SHOWN],
        )
