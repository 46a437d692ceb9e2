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
from vaults.domain.notes.read.note_lookup import Open, check_etag, made
from vaults.errors import AlreadyExists, Conflict, NotFound, StrongroomError, TooLarge
from vaults.files.failures import blocked, clash
from vaults.files.paths import key, note_path
from vaults.files.tree import Content, Stamp
from vaults.markdown.encoding import Source, encode
from vaults.vault import Vault

_NOWHERE = Stamp(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Base:
    """What a change starts from: a note, or the beginning of one that is still to be made, with its own pure step."""

    path: str
    note: Open | None
    source: Source
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
            raise conflicts.gone(self.path)


@dataclass(frozen=True, slots=True)
class Amended:
    """A change of one note as it would be. ``file``: from what stands on disk, or was drafted before."""

    base: Base
    revision: Revision
    file: FileChange

    @property
    def warnings(self) -> list[str]:
        return [*self.base.warnings, *self.revision.warnings]


class Draft:
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

    async def opened(self, path: str) -> Open:
        """As ``note_lookup.opened``, with what was drafted."""
        wanted = note_path(path)
        if (drafted := self._of(wanted)) is not None:
            return _open(drafted, wanted)
        note = await note_lookup.opened(self.vault, path)
        drafted = self._of(note.path)
        return note if drafted is None else _open(drafted, note.path)

    def read(self, path: str) -> Open:
        """The note at exactly this path. Blocking. Raises ``NotFound``, ``InvalidArgument``, ``TooLarge``."""
        if (drafted := self._of(path)) is not None:
            return _open(drafted, path)
        return made(path, self.vault.notes.tree.read(path, self.vault.notes.settings.max_note))

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
        self.check_beside(path)
        conflicts.check_free(self.vault, path)

    def check_beside(self, path: str, own: str = "") -> None:
        """Raise what stands in the way of a new name among those that were drafted. ``own``: the note that gets it."""
        new = key(path)
        for each in self._files.values():
            taken = key(each.target)
            if each.after is None or each.target == own:
                continue
            if each.target == path:
                raise AlreadyExists(f"'{path}' exists already", hint="choose another name", path=path)
            if taken == new:
                raise clash(path, each.target)
            if new.startswith(f"{taken}/"):
                raise blocked(path, each.target)

    async def base(self, amendment: Amendment) -> Base:
        """What a change starts from."""
        if amendment.start == "note":
            note = await self.opened(amendment.path)
            return Base(note.path, note, note.source, note.warnings)
        path = note_path(amendment.path)
        if amendment.start == "either":
            with suppress(NotFound, Conflict):
                note = await self.opened(path)
                if note.path == path:
                    return Base(path, note, note.source, note.warnings)
        await run_in(self.vault.shared.pool, self.check_free, path)
        fresh = await amendment.fresh()
        return Base(path, None, Source(fresh.text, bom=False), fresh.warnings, fresh.revise)

    async def amended(self, base: Base, amendment: Amendment) -> Amended:
        """The change of a note, which is not drafted yet. Raises ``TooLarge`` and what the pure step raises."""
        revise = base.revise or amendment.revise
        revision = await run_in(self.vault.shared.pool, _revised, revise, base.source.text)
        revision = await autolink_step.linked(self.vault, base.path, revision, asked=amendment.auto_link)
        data = self._fitting(Source(revision.text, base.source.bom))
        note = base.note
        file = (
            FileChange(base.path, None, data)
            if note is None
            else FileChange(base.path, note.data, data, stamp=note.stamp)
        )
        return Amended(base, revision, file)

    async def amend(self, amendment: Amendment, etag: str | None = None) -> Amended:
        """Draft a change of a note. Raises ``NotFound``, ``Conflict``, ``AlreadyExists``, ``TooLarge`` and what the
        pure step raises."""
        base = await self.base(amendment)
        base.check(etag)
        done = await self.amended(base, amendment)
        self.put(done.file)
        return done

    def put(self, change: FileChange) -> None:
        """Draft the change of a file as it is by now: together with those before it, it is one change of the file."""
        held = self._files.pop(change.path, None)
        whole = change if held is None else _joined(held, change)
        if whole is not None and (whole.before != whole.after or whole.to is not None):
            self._files[whole.target] = whole

    def _of(self, path: str) -> FileChange | None:
        """What was drafted of a name: the note that has it, or the one that had it and went away."""
        if not self._files or path in self._files:
            return self._files.get(path)
        same = key(path)
        found = [each for each in self._files.values() if same in (key(each.target), key(each.path))]
        return next((each for each in found if key(each.target) == same), found[0] if found else None)

    def _fitting(self, source: Source) -> bytes:
        """The bytes of a note. Raises ``TooLarge`` for more than a note may have."""
        data, most = encode(source), self.vault.notes.settings.max_note
        if len(data) > most:
            message = f"the note would have {len(data):,} bytes; {most:,} is the most"
            raise TooLarge(message, hint="put a part of it into another note", size=len(data), limit=most)
        return data


def _revised(revise: Revise, text: str) -> Revision:
    """The pure step. That of a short note may take long, too: for YAML, or for what is added to it."""
    with heap.calm(len(text)):
        return revise(text)


def _open(change: FileChange, path: str) -> Open:
    """The note as it was drafted. Raises ``NotFound`` for one that is not there any more."""
    if change.after is None or key(change.target) != key(path):
        raise NotFound(f"no note {path}", hint="it was removed or moved before")
    return made(change.target, Content(change.after, change.stamp or _NOWHERE))


def _joined(held: FileChange, change: FileChange) -> FileChange | None:
    """Two changes of a file, one after the other, as one; None where nothing is left of them."""
    if held.before is None:
        return FileChange(change.target, None, change.after) if change.after is not None else None
    if change.after is None:
        return replace(held, after=None, to=None)
    return replace(held, after=change.after, to=change.target if change.target != held.path else None)
