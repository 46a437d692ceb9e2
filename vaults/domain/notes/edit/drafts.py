"""A vault's notes as they would be after changes that are not made yet: each change reads what those before it left.
A draft is committed as one transaction, or not at all; a single edit is a draft of one step."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

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


StepOutcome: TypeAlias = Revision | StrongroomError
"""What the pure step made of a text, or why it refused."""


@dataclass(frozen=True, slots=True)
class EditBase:
    """What a change starts from: a note, or the initial text of a new one, with its own pure step. ``outcome``: of the
    amendment's step, where it was taken as the note was read; it counts only if the note is the one that was meant."""

    path: str
    note: OpenNote | None
    source: NoteSource
    warnings: list[str]
    revise: Revise | None = None
    outcome: StepOutcome | None = None

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
    """A change to one note, worked out. ``file``: relative to the version on disk, or to an earlier draft."""

    base: EditBase
    revision: Revision
    file: FileChange

    @property
    def warnings(self) -> list[str]:
        return [*self.base.warnings, *self.revision.warnings]


class DraftNotes:
    """Changes to notes, by the path each note will have. Nothing of them is on disk; whoever will commit them must hold
    ``vault.notes.writing()`` from before the first is drafted."""

    def __init__(self, vault: Vault) -> None:
        self.vault = vault
        self._files: dict[str, FileChange] = {}

    @property
    def files(self) -> list[FileChange]:
        """The changes to commit."""
        return list(self._files.values())

    @property
    def paths(self) -> list[str]:
        """Paths of the notes that were drafted and not deleted."""
        return [each.target for each in self._files.values() if each.after is not None]

    async def open_note(self, path: str) -> OpenNote:
        """Like ``note_lookup.open_note``, with the draft applied."""
        return (await self._open_and_revise(path, _revise_nothing))[0]

    async def _open_and_revise(self, path: str, revise: Revise) -> tuple[OpenNote, StepOutcome | None]:
        """``open_note``, and what the pure step makes of it; None of what is drafted."""
        wanted = to_note_path(path)
        if (drafted := self._of(wanted)) is not None:
            return _to_open_note(drafted, wanted), None
        note, outcome = await note_lookup.open_and_run(self.vault, path, partial(_try_revise, revise))
        drafted = self._of(note.path)
        return (note, outcome) if drafted is None else (_to_open_note(drafted, note.path), None)

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
        """Like ``conflicts.check_free``, with the draft applied. Blocking."""
        drafted = self._files.get(path)
        if drafted is not None and drafted.after is None:
            return  # an earlier step deletes it: the new note takes its place
        self.check_drafted_names(path)
        conflicts.check_free(self.vault, path)

    def check_drafted_names(self, path: str, own: str = "") -> None:
        """Raise an error if a drafted note blocks a new name. ``own``: the note that gets the name."""
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
            note, outcome = await self._open_and_revise(amendment.path, amendment.revise)
            return EditBase(note.path, note, note.source, note.warnings, outcome=outcome)
        path = to_note_path(amendment.path)
        if amendment.start == "either":
            with suppress(NotFound, Conflict):
                note, outcome = await self._open_and_revise(path, amendment.revise)
                if note.path == path:
                    return EditBase(path, note, note.source, note.warnings, outcome=outcome)
        await run_in(self.vault.shared.pool, self.check_free, path)
        fresh = await amendment.fresh()
        return EditBase(path, None, NoteSource(fresh.text, bom=False), fresh.warnings, fresh.revise)

    async def prepare_amended(self, base: EditBase, amendment: Amendment) -> AmendedNote:
        """Work out the change of a note without drafting it. Raises ``TooLarge`` and what the pure step raises."""
        outcome = base.outcome
        if outcome is None:
            revise = base.revise or amendment.revise
            outcome = await run_in(self.vault.shared.pool, _try_revise, revise, base.source.text)
        if isinstance(outcome, StrongroomError):
            raise outcome
        revision = outcome
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
        """Draft a change to a note. Raises ``NotFound``, ``Conflict``, ``AlreadyExists``, ``TooLarge`` and what the
        pure step raises."""
        base = await self.base(amendment)
        base.check(etag)
        done = await self.prepare_amended(base, amendment)
        self.put(done.file)
        return done

    def put(self, change: FileChange) -> None:
        """Draft a change to a file as drafted so far: all its changes are joined into one."""
        earlier = self._files.pop(change.path, None)
        whole = change if earlier is None else _join_changes(earlier, change)
        if whole is not None and (whole.before != whole.after or whole.to is not None):
            self._files[whole.target] = whole

    def _of(self, path: str) -> FileChange | None:
        """The drafted change for a name: of the note that will have it, else of the one that gives it up."""
        if not self._files or path in self._files:
            return self._files.get(path)
        same = collision_key(path)
        found = [
            each for each in self._files.values() if same in (collision_key(each.target), collision_key(each.path))
        ]
        return next((each for each in found if collision_key(each.target) == same), found[0] if found else None)

    def _encode_within_limit(self, source: NoteSource) -> bytes:
        """The bytes of a note. Raises ``TooLarge`` beyond ``max_note``."""
        data, most = encode(source), self.vault.notes.settings.max_note
        if len(data) > most:
            message = f"the note would have {len(data):,} bytes; {most:,} is the most"
            raise TooLarge(message, hint="put a part of it into another note", size=len(data), limit=most)
        return data


def _try_revise(revise: Revise, text: str) -> StepOutcome:
    """Run the pure step on a worker thread: even a short note may take long, for its YAML or for what is added."""
    try:
        with heap.pause_full_collections(len(text)):
            return revise(text)
    except StrongroomError as refusal:
        return refusal


def _revise_nothing(text: str) -> Revision:
    return Revision(text, "")


def _to_open_note(change: FileChange, path: str) -> OpenNote:
    """The note as drafted. Raises ``NotFound`` if the draft deleted or moved it."""
    if change.after is None or collision_key(change.target) != collision_key(path):
        raise NotFound(f"no note {path}", hint="it was removed or moved before")
    return to_open_note(change.target, FileContent(change.after, change.stamp or _NO_STAMP))


def _join_changes(earlier: FileChange, change: FileChange) -> FileChange | None:
    """Two successive changes to a file as one; None where they cancel out."""
    if earlier.before is None:
        return FileChange(change.target, None, change.after) if change.after is not None else None
    if change.after is None:
        return replace(earlier, after=None, to=None)
    return replace(earlier, after=change.after, to=change.target if change.target != earlier.path else None)
