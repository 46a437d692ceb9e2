"""A note by the name a caller gives it, read from disk now: what every tool on notes begins with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vaults.advice import Advice, way
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.notes.commit import journal
from vaults.domain.notes.commit.overwrites import since as recently
from vaults.domain.notes.index.extraction import digest, etag_of
from vaults.domain.text.sanitize import one_line
from vaults.errors import Conflict, InvalidArgument, NotFound
from vaults.files.paths import is_note, key, note_path
from vaults.files.tree import Content, Stamp
from vaults.graph.names import note_names
from vaults.markdown.encoding import NotText, Source, decode
from vaults.markdown.fuzzy import nearest
from vaults.vault import Vault

CLOSEST = 5
"""Names suggested where a note is not found."""

NAMED = 20
"""Notes an error names one by one."""

SHOWN = 20_000
"""Characters of the present text that a conflict returns."""


@dataclass(frozen=True, slots=True)
class Open:
    """A note as it stands on disk. ``warnings``: what its reader should know, such as edits that were written over."""

    path: str
    data: bytes
    source: Source
    stamp: Stamp
    warnings: list[str]

    @property
    def text(self) -> str:
        return self.source.text

    @property
    def etag(self) -> str:
        return etag_of(digest(self.data))


async def opened(vault: Vault, path: str) -> Open:
    """The note a caller means: by its path, with or without ``.md``, in another spelling where only one can be meant.
    Raises ``NotFound`` with the closest names, ``Conflict``, ``InvalidArgument`` for what is no text, ``TooLarge``."""
    wanted = note_path(path)
    try:
        content = await _read(vault, wanted)
    except NotFound:
        found = await vault.db.read(lambda tx: _elsewhere(tx, path, wanted))
        if not found or found[0].startswith("?"):
            await run_in(vault.shared.pool, _check_no_other, vault, path, wanted)
        wanted = _only(path, found)
        content = await _read(vault, wanted)
    warnings = await vault.db.read(lambda tx: _warnings(tx, wanted))
    return made(wanted, content, warnings)


def made(path: str, content: Content, warnings: Sequence[str] = ()) -> Open:
    """A note that was read. Raises ``InvalidArgument`` for what is no text."""
    try:
        return Open(path, content.data, decode(content.data), content.stamp, list(warnings))
    except NotText as failure:
        raise InvalidArgument("path", f"names a file that is no UTF-8 text: {failure.reason}") from failure


async def _read(vault: Vault, path: str) -> Content:
    return await run_in(vault.shared.pool, _content, vault, path)


def _check_no_other(vault: Vault, path: str, wanted: str) -> None:
    """Raise ``InvalidArgument`` for what is there and is no note. What the owner leaves out is not there. Blocking."""
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


def _content(vault: Vault, path: str) -> Content:
    """Raises ``NotFound`` also for what the owner leaves out: who hides a folder from searches hides it from agents."""
    if not vault.notes.tree.covers(path):
        raise NotFound(f"no note {path}")
    return vault.notes.tree.read(path, vault.notes.settings.max_note)


def _elsewhere(tx: Reader, path: str, wanted: str) -> list[str]:
    """Paths that may be meant by one that is not there: another spelling, else a note of that name anywhere."""
    rows = tx.all("SELECT path FROM notes WHERE path_key = ? LIMIT 3", (key(wanted),))
    if not rows and (target := note_names.resolved(tx, path.removesuffix(".md"), "")):
        return [target]
    return [row[0] for row in rows] or [f"?{each}" for each in closest(tx, wanted)]


def _only(path: str, found: Sequence[str]) -> str:
    if len(found) == 1 and not found[0].startswith("?"):
        return found[0]
    if found and not found[0].startswith("?"):
        raise Conflict(f"several notes go by the name {path}", hint="spell it as it is", paths=list(found))
    near = [each[1:] for each in found]
    raise nobody(f"no note {path}", near)


_ALL = Advice(way("find_notes lists what there is", "find_notes"))


def nobody(message: str, near: Sequence[str], otherwise: str = _ALL) -> NotFound:
    """No note goes by a name. ``near``: paths that are spelled most like it; ``otherwise``: what to do without any."""
    hint = f"did you mean {', '.join(near[:3])}?" if near else otherwise
    return NotFound(message, hint=hint, closest=list(near))


def several(name: str, paths: Sequence[str]) -> Conflict:
    """More than one note goes by a name."""
    return Conflict(
        f"{len(paths)} notes are called {one_line(name)}: {', '.join(paths[:5])}",
        hint="give the path of the one you mean",
        paths=list(paths[:NAMED]),
    )


def closest(tx: Reader, wanted: str) -> list[str]:
    """Paths of notes whose names are spelled most like this one."""
    from rapidfuzz import fuzz

    names = [row[0] for row in tx.all("SELECT path FROM notes LIMIT 20000")]
    return [each[0] for each in nearest(wanted, names, fuzz.WRatio, limit=CLOSEST, least=60)]


def _warnings(tx: Reader, path: str) -> list[str]:
    lost = journal.overwritten(tx, path, recently())
    shown = way("history can show and restore it", "history restore", instead=way("history can show it", "history"))
    return [Advice(f"a program outside wrote over the change {each}", shown) for each in lost]


def check_etag(note: Open, etag: str | None) -> None:
    """Raise ``Conflict``, with the present text and etag, when the caller has read another version."""
    if etag is not None and etag != note.etag:
        raise Conflict(
            f"{note.path} has changed since it was read",
            hint="look at the present text and edit again with its etag",
            path=note.path,
            etag=note.etag,
            text=note.text[:SHOWN],
        )
