"""A vault's notes as they would be after some changes that are not made yet: each change reads what those before it
left. What is drafted is made at once and as one, or not at all (``committing``); a single edit is a draft of one step.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from vaults import heap
from vaults.context import run_in
from vaults.domain.graph.links import autolink_step
from vaults.domain.notes.commit.journal import FileChange
from vaults.domain.notes.edit import conflicts
from vaults.domain.notes.edit.amendments import Amendment, Revise, Revision
from vaults.domain.notes.read import note_lookup
from vaults.domain.notes.read.note_lookup import OpenNote, check_etag, to_open_note
from vaults.errors import AlreadyExists, Conflict, NotFound, StrongroomError, TooLarge
from vaults.files.failures import blocked_error, spelling_clash_error
from vaults.files.paths import collision_key, to_note_path
from vaults.files.tree import FileContent, FileStamp
from vaults.markdown.encoding import NoteSource, encode
from vaults.vault import Vault

_NO_STAMP = FileStamp(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class EditBase:
    """What a change starts from: a note, or the beginning of one that is still to be made, with its own pure step."""

    path: str
    note: OpenNote | None
    source: NoteSource
    warnings: list[str]
    revise: Revise | None = None

    @property
    def etag(self) -> str | None:
        return self.note.etag if self.note else None

    def check(self, etag: str | None) -> None:
        """Raise ``Conflict`` when the caller has read another version, or one that is gone."""
        if self.note is not None:
            check_etag(self.note, etag)
        elif etag is not None:
            raise conflicts.note_gone(self.path)


@dataclass(frozen=True, slots=True)
class AmendedNote:
    """A change of one note as it would be. ``file``: from what stands on disk, or was drafted before."""

    base: EditBase
    revision: Revision
    file: FileChange

    @property
    def warnings(self) -> list[str]:
        return [*self.base.warnings, *self.revision.warnings]


class DraftNotes:
    """Changes of notes, by where each is afterwards. Nothing of them is on disk; who is to make them holds
    ``vault.notes.writing()`` since before the first is drafted."""

    def __init__(self, vault: Vault) -> None:
        self.vault = vault
        self._files: dict[str, FileChange] = {}

    @property
    def files(self) -> list[FileChange]:
        """What there is to commit."""
        return list(self._files.values())

    @property
    def paths(self) -> list[str]:
        """Where the notes are that were drafted and not removed."""
        return [each.target for each in self._files.values() if each.after is not None]

    async def opened(self, path: str) -> OpenNote:
        """As ``note_lookup.open_note``, with what was drafted."""
        wanted = to_note_path(path)
        if (drafted := self._of(wanted)) is not None:
            return _to_open_note(drafted, wanted)
        note = await note_lookup.open_note(self.vault, path)
        drafted = self._of(note.path)
        return note if drafted is None else _to_open_note(drafted, note.path)

    def read(self, path: str) -> OpenNote:
        """The note at exactly this path. Blocking. Raises ``NotFound``, ``InvalidArgument``, ``TooLarge``."""
        if (drafted := self._of(path)) is not None:
            return _to_open_note(drafted, path)
        return to_open_note(path, self.vault.notes.tree.read(path, self.vault.notes.settings.max_note))

    def exists(self, path: str) -> bool:
        """Whether there is a file. Blocking."""
        if (drafted := self._of(path)) is not None:
            return drafted.after is not None and drafted.target == path
        try:
            return self.vault.notes.tree.stamp(path) is not None
        except StrongroomError:
            return False

    def check_free(self, path: str) -> None:
        """As ``conflicts.check_free``, with what was drafted. Blocking."""
        held = self._files.get(path)
        if held is not None and held.after is None:
            return  # it was removed before: the note is made anew in its place
        self.check_drafted_names(path)
        conflicts.check_free(self.vault, path)

    def check_drafted_names(self, path: str, own: str = "") -> None:
        """Raise what stands in the way of a new name among those that were drafted. ``own``: the note that gets it."""
        new = collision_key(path)
        for each in self._files.values():
            taken = collision_key(each.target)
            if each.after is None or each.target == own:
                continue
            if each.target == path:
                raise AlreadyExists(f"'{path}' exists already", hint="choose another name", path=path)
            if taken == new:
                raise spelling_clash_error(path, each.target)
            if new.startswith(f"{taken}/"):
                raise blocked_error(path, each.target)

    async def base(self, amendment: Amendment) -> EditBase:
        """What a change starts from."""
        if amendment.start == "note":
            note = await self.opened(amendment.path)
            return EditBase(note.path, note, note.source, note.warnings)
        path = to_note_path(amendment.path)
        if amendment.start == "either":
            with suppress(NotFound, Conflict):
                note = await self.opened(path)
                if note.path == path:
                    return EditBase(path, note, note.source, note.warnings)
        await run_in(self.vault.shared.pool, self.check_free, path)
        fresh = await amendment.fresh()
        return EditBase(path, None, NoteSource(fresh.text, bom=False), fresh.warnings, fresh.revise)

    async def prepare_amended(self, base: EditBase, amendment: Amendment) -> AmendedNote:
        """The change of a note, which is not drafted yet. Raises ``TooLarge`` and what the pure step raises."""
        revise = base.revise or amendment.revise
        revision = await run_in(self.vault.shared.pool, _run_revise, revise, base.source.text)
        revision = await autolink_step.link_revision(self.vault, base.path, revision, asked=amendment.auto_link)
        data = self._encode_within_limit(NoteSource(revision.text, base.source.bom))
        note = base.note
        file = (
            FileChange(base.path, None, data)
            if note is None
            else FileChange(base.path, note.data, data, stamp=note.stamp)
        )
        return AmendedNote(base, revision, file)

    async def amend(self, amendment: Amendment, etag: str | None = None) -> AmendedNote:
        """Draft a change of a note. Raises ``NotFound``, ``Conflict``, ``AlreadyExists``, ``TooLarge`` and what the
        pure step raises."""
        base = await self.base(amendment)
        base.check(etag)
        done = await self.prepare_amended(base, amendment)
        self.put(done.file)
        return done

    def put(self, change: FileChange) -> None:
        """Draft the change of a file as it is by now: together with those before it, it is one change of the file."""
        held = self._files.pop(change.path, None)
        whole = change if held is None else _join_changes(held, change)
        if whole is not None and (whole.before != whole.after or whole.to is not None):
            self._files[whole.target] = whole

    def _of(self, path: str) -> FileChange | None:
        """What was drafted of a name: the note that has it, or the one that had it and went away."""
        if not self._files or path in self._files:
            return self._files.get(path)
        same = collision_key(path)
        found = [
            each for each in self._files.values() if same in (collision_key(each.target), collision_key(each.path))
        ]
        return next((each for each in found if collision_key(each.target) == same), found[0] if found else None)

    def _encode_within_limit(self, source: NoteSource) -> bytes:
        """The bytes of a note. Raises ``TooLarge`` for more than a note may have."""
        data, most = encode(source), self.vault.notes.settings.max_note
        if len(data) > most:
            message = f"the note would have {len(data):,} bytes; {most:,} is the most"
            raise TooLarge(message, hint="put a part of it into another note", size=len(data), limit=most)
        return data


def _run_revise(revise: Revise, text: str) -> Revision:
    """The pure step. That of a short note may take long, too: for YAML, or for what is added to it."""
    with heap.pause_full_collections(len(text)):
        return revise(text)


def _to_open_note(change: FileChange, path: str) -> OpenNote:
    """The note as it was drafted. Raises ``NotFound`` for one that is not there any more."""
    if change.after is None or collision_key(change.target) != collision_key(path):
        raise NotFound(f"no note {path}", hint="it was removed or moved before")
    return to_open_note(change.target, FileContent(change.after, change.stamp or _NO_STAMP))


def _join_changes(held: FileChange, change: FileChange) -> FileChange | None:
    """Two changes of a file, one after the other, as one; None where nothing is left of them."""
    if held.before is None:
        return FileChange(change.target, None, change.after) if change.after is not None else None
    if change.after is None:
        return replace(held, after=None, to=None)
    return replace(held, after=change.after, to=change.target if change.target != held.path else None)
