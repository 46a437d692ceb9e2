"""Reading a note, whole or in parts: from its file as it stands, with what the index knows of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from vaults.advice import Advice, way
from vaults.context import run_in
from vaults.domain.notes.index import extraction, note_rows
from vaults.domain.notes.index.note_rows import Note
from vaults.domain.notes.read import line_ranges
from vaults.domain.notes.read.dated_notes import path_of
from vaults.domain.notes.read.note_lookup import Open, opened
from vaults.domain.text.regexes import compiled
from vaults.errors import InvalidArgument, NotFound
from vaults.files.tree import Content
from vaults.markdown import parser as markdown
from vaults.markdown import sections
from vaults.search import tokenizer
from vaults.vault import Vault

Part = Literal["outline", "section", "sections", "full", "lines"]

FRONTMATTER = 4_000
"""Characters of frontmatter shown, as JSON."""

TITLE, NAMES = 300, 50
"""Characters of a title, and number of tags and of aliases, that are shown."""

QUICK = 8 * 1024
"""Bytes of a note that are worked on in less time than it takes to go to another thread for it."""

_MARKUP = 12
"""Tokens of an entry of the outline beside its words."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to read. ``part`` None: what the other arguments say, else the outline, and the text if it is short."""

    part: Part | None = None
    heading: str | None = None
    pattern: str | None = None
    from_line: int = 1
    max_lines: int | None = None
    max_tokens: int = 4000

    @property
    def meant(self) -> Part | None:
        if self.part is not None:
            return self.part
        if self.heading is not None or self.pattern is not None:
            return "section" if self.heading is not None else "sections"
        return "lines" if self.from_line > 1 or self.max_lines is not None else None


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """A heading. ``tokens``: about so many has what stands under it, headings below included."""

    level: int
    text: str
    line: int
    tokens: int


@dataclass(frozen=True, slots=True)
class SectionText:
    """A section, its heading's own line included; ``line`` is the first of the text, a later one where reading went on
    within. Level 0: what stands before the first heading."""

    heading: str
    level: int
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class NoteRead:
    """``text`` is as in the file, ``first_line`` its first line, of ``lines`` in all. ``truncated``: there is more,
    from ``next_line`` on. ``etag`` is of the whole note: edits take it. Text is data written by others."""

    path: str
    title: str
    etag: str
    lines: int
    modified_at: str
    text: str | None = None
    first_line: int | None = None
    next_line: int | None = None
    truncated: bool = False
    outline: list[OutlineEntry] | None = None
    sections: list[SectionText] | None = None
    tags: list[str] | None = None
    aliases: list[str] | None = None
    frontmatter: dict[str, Any] | None = None
    warnings: list[str] = field(default_factory=list)


async def read(vault: Vault, said: str, wanted: Wanted) -> NoteRead:
    """A note, or a part of it. Raises ``NotFound`` with what comes closest, for the note and for a section;
    ``InvalidArgument``, ``Conflict`` and ``TooLarge`` as ``note_lookup.opened``."""
    part = _checked(wanted)
    note = await _open(vault, said)
    about = await known(vault, note)
    if len(note.data) <= QUICK and tokenizer.is_quick([note.text]):
        return _read(note, about, part, wanted)
    return await run_in(vault.shared.pool, _read, note, about, part, wanted)


def _read(note: Open, about: Note, part: Part | None, wanted: Wanted) -> NoteRead:
    frame = NoteRead(
        path=note.path,
        title=about.title[:TITLE],
        etag=about.etag,
        lines=line_ranges.count(note.text),
        modified_at=about.modified_at,
        warnings=note.warnings,
    )
    if part in (None, "outline", "full"):
        frame = _with_properties(frame, about, wanted.max_tokens)
    return _READERS[part](frame, note.text, wanted)


async def _open(vault: Vault, said: str) -> Open:
    path = await path_of(vault, said)
    try:
        return await opened(vault, path)
    except NotFound:
        if said.lstrip().startswith("@") and path != said:
            hint = Advice(way("note_write makes it", "note_write"))
            raise NotFound(
                f"there is no note for {said.strip()} yet, it would be {path}", hint=hint, path=path
            ) from None
        raise


def _checked(wanted: Wanted) -> Part | None:
    part = wanted.meant
    for name, of in (("heading", "section"), ("pattern", "sections")):
        if getattr(wanted, name) is not None and part != of:
            raise InvalidArgument(name, f"goes with part {of}, not with {part}")
    if part == "section" and wanted.heading is None:
        raise InvalidArgument("heading", "is required for part section")
    if part == "outline" and wanted.max_lines is not None:
        raise InvalidArgument("max_lines", "goes with parts that have text, not with part outline")
    return part


async def known(vault: Vault, note: Open) -> Note:
    """What is known of a note besides its text: from the index, or where that is behind the file, from the file."""
    row = await vault.db.read(lambda tx: _row(tx.one(f"SELECT {_NOTE} WHERE n.path = ?", (note.path,))))
    if len(note.data) <= QUICK:
        return _known(note, row)
    return await run_in(vault.shared.pool, _known, note, row)


def _known(note: Open, row: Note | None) -> Note:
    etag, size = note.etag, len(note.data)
    if row is not None and row.etag == etag:
        return row
    content = Content(note.data, note.stamp)
    taken = extraction.taken(note.path, content, time.time_ns(), whole=size <= extraction.LONG)
    return Note(
        note.path, taken.title, taken.aliases, taken.tags, taken.frontmatter, etag, size, taken.created_at,
        taken.modified_at, taken.problem,
    )  # fmt: skip


_NOTE = f"{note_rows.COLUMNS} FROM notes n"


def _row(row: tuple[Any, ...] | None) -> Note | None:
    return note_rows.from_row(row) if row is not None else None


def _with_properties(frame: NoteRead, about: Note, max_tokens: int) -> NoteRead:
    shown, left_out = bounded(about.frontmatter, min(FRONTMATTER, max_tokens * 2))
    warnings = list(frame.warnings)
    if about.problem:
        warnings.append(f"frontmatter: {about.problem}")
    if left_out:
        warnings.append(f"frontmatter: too long to show: {', '.join(left_out)}")
    tags, aliases = about.tags[:NAMES], about.aliases[:NAMES]
    return replace(frame, tags=tags, aliases=aliases, frontmatter=shown, warnings=warnings)


def bounded(values: Mapping[str, Any], characters: int) -> tuple[dict[str, Any], list[str]]:
    """Fields, as many as so many characters of JSON hold, and the names of the rest."""
    kept: dict[str, Any] = {}
    left_out = []
    for name, value in values.items():
        size = len(json.dumps({name: value}, ensure_ascii=False))
        if size <= characters:
            kept[name] = value
            characters -= size
        else:
            left_out.append(name[:100])
    return kept, left_out


def _default(frame: NoteRead, text: str, wanted: Wanted) -> NoteRead:
    """The outline, and the text if it fits; without headings as much of the text as fits."""
    bare, frame = frame, _outline(frame, text, wanted)
    if not frame.outline:
        return _text(frame, text, wanted)
    fitting = line_ranges.fitting(text, wanted.max_tokens)
    if fitting == len(text):
        beside = sum(_MARKUP + len(entry.text) // 4 for entry in frame.outline)
        both = line_ranges.fitting(text, max(1, wanted.max_tokens - beside)) == len(text)
        return replace(frame if both else bare, text=text, first_line=1)
    warning = "too long to return whole: here is the outline; read sections of it, or lines"
    return replace(frame, truncated=True, warnings=[*frame.warnings, warning])


def _outline(frame: NoteRead, text: str, wanted: Wanted) -> NoteRead:
    found = sections.sections(text, markdown.skimmed(text))
    left, entries = wanted.max_tokens, list[OutlineEntry]()
    for section in found:
        if section.heading.line < wanted.from_line:
            continue
        heading = section.heading
        left -= _MARKUP + len(heading.text) // 4
        if left < 0 and entries:
            return replace(frame, outline=entries, truncated=True, next_line=heading.line)
        entries.append(OutlineEntry(heading.level, heading.text, heading.line, (section.end - section.start) // 4))
    return replace(frame, outline=entries)


def _text(frame: NoteRead, text: str, wanted: Wanted) -> NoteRead:
    """Lines of the note from ``from_line`` on."""
    start = line_ranges.start_of(text, wanted.from_line)
    first = line_ranges.count(text[:start]) + 1
    return _shown(frame, line_ranges.piece(text[start:], first, wanted.max_tokens, wanted.max_lines))


def _section(frame: NoteRead, text: str, wanted: Wanted) -> NoteRead:
    parsed = markdown.skimmed(text)
    found = sections.find(text, parsed, wanted.heading or "")
    others = [each.heading.line for each in sections.all_matching(text, parsed, wanted.heading or "")[1:]]
    first, start = found.heading.line, found.start
    if wanted.from_line > 1:
        last = first + line_ranges.count(text[found.start : found.end]) - 1
        if not first <= wanted.from_line <= last:
            raise InvalidArgument("from_line", f"is outside the section, which has lines {first} to {last}")
        first, start = wanted.from_line, line_ranges.start_of(text, wanted.from_line)
    shown = _shown(frame, line_ranges.piece(text[start : found.end], first, wanted.max_tokens, wanted.max_lines))
    if not others:
        return shown
    warning = f"more headings of this name in lines {', '.join(map(str, others[:10]))}: 'Parent > Heading' names one"
    return replace(shown, warnings=[*shown.warnings, warning])


def _shown(frame: NoteRead, piece: line_ranges.Piece) -> NoteRead:
    return replace(
        frame,
        text=piece.text,
        first_line=piece.first_line,
        truncated=piece.cut,
        next_line=piece.next_line,
        warnings=[*frame.warnings, *piece.warnings],
    )


Stretch: TypeAlias = tuple[str, int, int, int, int]
"""Heading, level, line, and the offsets of what stands under it, the heading included."""


def _sections(frame: NoteRead, text: str, wanted: Wanted) -> NoteRead:
    """Sections whose headings match, each whole and once; without a pattern all, each to the next heading. From
    ``from_line`` on: of a section that holds it, what follows there."""
    stretches = _matching(text, wanted.pattern) if wanted.pattern is not None else _flat(text)
    if not stretches:
        raise NotFound("no heading matches", hint="part outline lists them", path=frame.path)
    begin = line_ranges.start_of(text, wanted.from_line)
    ahead = [each for each in stretches if each[-1] > begin]
    if not ahead:
        warning = f"no section that matches goes beyond line {wanted.from_line - 1}"
        return replace(frame, sections=[], warnings=[*frame.warnings, warning])
    shown: list[SectionText] = []
    left, room, plenty = wanted.max_tokens, wanted.max_lines, tokenizer.surely_within([text], wanted.max_tokens)
    for place, (heading, level, line, start, end) in enumerate(ahead, 1):
        first, most = max(line, wanted.from_line), room if room is None else max(1, room)
        piece = line_ranges.piece(text[max(start, begin) : end], first, max(1, left), most)
        if shown and (piece.cut or room == 0):
            return replace(frame, sections=shown, truncated=True, next_line=first)
        shown.append(SectionText(heading, level, first, piece.text))
        if piece.cut:
            following = piece.next_line or next((each[2] for each in ahead[place:]), None)
            warnings = [*frame.warnings, *piece.warnings]
            return replace(frame, sections=shown, truncated=True, next_line=following, warnings=warnings)
        left -= 0 if plenty else _MARKUP + tokenizer.count(piece.text)
        room = room if room is None else room - line_ranges.count(piece.text)
    return replace(frame, sections=shown)


def _matching(text: str, pattern: str) -> list[Stretch]:
    found = compiled(f"(?i){pattern}", "pattern", hint="RE2: no look-around and no back-references")
    stretches: list[Stretch] = []
    last = 0
    for each in sections.sections(text, markdown.skimmed(text)):
        if each.start >= last and found.search(each.heading.text):
            stretches.append((each.heading.text, each.heading.level, each.heading.line, each.start, each.end))
            last = each.end
    return stretches


def _flat(text: str) -> list[Stretch]:
    parsed = markdown.skimmed(text)
    headings = parsed.headings
    ends: Sequence[int] = [*(heading.start for heading in headings[1:]), len(text)]
    stretches = [
        (heading.text, heading.level, heading.line, heading.start, end)
        for heading, end in zip(headings, ends, strict=False)
    ]
    first = headings[0].start if headings else len(text)
    if text[parsed.body_start : first].strip():
        line = line_ranges.count(text[: parsed.body_start]) + 1
        stretches.insert(0, ("", 0, line, parsed.body_start, first))
    return stretches


_READERS: dict[Part | None, Callable[[NoteRead, str, Wanted], NoteRead]] = {
    None: _default,
    "outline": _outline,
    "section": _section,
    "sections": _sections,
    "full": _text,
    "lines": _text,
}
