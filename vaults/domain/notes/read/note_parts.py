"""Reading a note, whole or in parts: from its present file, with metadata from the index."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from vaults.advice import Advice, tool_clause
from vaults.context import note_whole_sizes, run_in
from vaults.domain.notes.index import extraction, note_rows
from vaults.domain.notes.index.note_rows import NoteSummary
from vaults.domain.notes.read import line_ranges
from vaults.domain.notes.read.dated_notes import resolve_path
from vaults.domain.notes.read.note_lookup import OpenNote, open_note
from vaults.domain.text.regexes import compile_pattern
from vaults.errors import InvalidArgument, NotFound
from vaults.files.tree import FileContent
from vaults.markdown import parser as markdown
from vaults.markdown import sections
from vaults.search import tokenizer
from vaults.vault import Vault

NotePart = Literal["outline", "section", "sections", "full", "lines"]

MAX_FRONTMATTER = 4_000
"""Max characters of frontmatter shown, as JSON."""

MAX_TITLE, MAX_NAMES = 300, 50
"""Max characters of a title, and max number of tags and of aliases, that are shown."""

QUICK_BYTES = 8 * 1024
"""Max bytes of a note that is processed on the event loop: switching to a worker thread would take longer."""

_MARKUP_TOKENS = 12
"""Tokens of an outline entry in addition to its words."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What to read. ``part`` None: as the other arguments imply, else the outline, and the text if it is short."""

    part: NotePart | None = None
    heading: str | None = None
    pattern: str | None = None
    from_line: int = 1
    max_lines: int | None = None
    max_tokens: int = 4000

    @property
    def meant(self) -> NotePart | None:
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


async def read_note(vault: Vault, name: str, options: ReadOptions) -> NoteRead:
    """Read a note or a part of it. Raises ``NotFound`` with the closest matches, for the note and for a section;
    ``InvalidArgument``, ``Conflict`` and ``TooLarge`` as ``note_lookup.open_note``."""
    part = _check_options(options)
    note = await _open_said(vault, name)
    note_whole_sizes({note.path: len(note.text)})
    about = await load_summary(vault, note)
    if len(note.data) <= QUICK_BYTES and tokenizer.is_quick_to_count([note.text]):
        return _read_part(note, about, part, options)
    return await run_in(vault.shared.pool, _read_part, note, about, part, options)


def _read_part(note: OpenNote, summary: NoteSummary, part: NotePart | None, options: ReadOptions) -> NoteRead:
    answer = NoteRead(
        path=note.path,
        title=summary.title[:MAX_TITLE],
        etag=summary.etag,
        lines=line_ranges.count_lines(note.text),
        modified_at=summary.modified_at,
        warnings=note.warnings,
    )
    if part in (None, "outline", "full"):
        answer = _add_properties(answer, summary, options.max_tokens)
    return _READERS[part](answer, note.text, options)


async def _open_said(vault: Vault, name: str) -> OpenNote:
    path = await resolve_path(vault, name)
    try:
        return await open_note(vault, path)
    except NotFound:
        if name.lstrip().startswith("@") and path != name:
            hint = Advice(tool_clause("note_write makes it", "note_write"))
            raise NotFound(
                f"there is no note for {name.strip()} yet, it would be {path}", hint=hint, path=path
            ) from None
        raise


def _check_options(options: ReadOptions) -> NotePart | None:
    part = options.meant
    for name, of in (("heading", "section"), ("pattern", "sections")):
        if getattr(options, name) is not None and part != of:
            raise InvalidArgument(name, f"goes with part {of}, not with {part}")
    if part == "section" and options.heading is None:
        raise InvalidArgument("heading", "is required for part section")
    if part == "outline" and options.max_lines is not None:
        raise InvalidArgument("max_lines", "goes with parts that have text, not with part outline")
    return part


async def load_summary(vault: Vault, note: OpenNote) -> NoteSummary:
    """A note's metadata: from the index, or from the file where the index is behind it."""
    row = await vault.db.read(
        lambda tx: _to_summary(tx.one(f"SELECT {_SELECT_NOTE} WHERE n.path = :path", {"path": note.path}))
    )
    if len(note.data) <= QUICK_BYTES:
        return _choose_summary(note, row)
    return await run_in(vault.shared.pool, _choose_summary, note, row)


def _choose_summary(note: OpenNote, row: NoteSummary | None) -> NoteSummary:
    etag, size = note.etag, len(note.data)
    if row is not None and row.etag == etag:
        return row
    content = FileContent(note.data, note.stamp)
    taken = extraction.extract_note(note.path, content, time.time_ns(), whole=size <= extraction.LONG_BYTES)
    return NoteSummary(
        path=note.path, title=taken.title, aliases=taken.aliases, tags=taken.tags, frontmatter=taken.frontmatter,
        etag=etag, size=size, created_at=taken.created_at, modified_at=taken.modified_at, problem=taken.problem,
    )  # fmt: skip


_SELECT_NOTE = f"{note_rows.COLUMNS} FROM notes n"


def _to_summary(row: tuple[Any, ...] | None) -> NoteSummary | None:
    return note_rows.from_row(row) if row is not None else None


def _add_properties(answer: NoteRead, summary: NoteSummary, max_tokens: int) -> NoteRead:
    shown, left_out = limit_fields(summary.frontmatter, min(MAX_FRONTMATTER, max_tokens * 2))
    warnings = list(answer.warnings)
    if summary.problem:
        warnings.append(f"frontmatter: {summary.problem}")
    if left_out:
        warnings.append(f"frontmatter: too long to show: {', '.join(left_out)}")
    tags, aliases = summary.tags[:MAX_NAMES], summary.aliases[:MAX_NAMES]
    return replace(answer, tags=tags, aliases=aliases, frontmatter=shown, warnings=warnings)


def limit_fields(values: Mapping[str, Any], characters: int) -> tuple[dict[str, Any], list[str]]:
    """The fields that fit into ``characters`` of JSON, and the names of the rest."""
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


def _read_default(answer: NoteRead, text: str, options: ReadOptions) -> NoteRead:
    """The outline, and the text if it fits; without headings, as much of the text as fits."""
    bare, answer = answer, _read_outline(answer, text, options)
    if not answer.outline:
        return _read_text(answer, text, options)
    fitting = line_ranges.count_within_tokens(text, options.max_tokens)
    if fitting == len(text):
        outline_tokens = sum(_MARKUP_TOKENS + len(entry.text) // 4 for entry in answer.outline)
        both = line_ranges.count_within_tokens(text, max(1, options.max_tokens - outline_tokens)) == len(text)
        return replace(answer if both else bare, text=text, first_line=1)
    warning = "too long to return whole: here is the outline; read sections of it, or lines"
    return replace(answer, truncated=True, warnings=[*answer.warnings, warning])


def _read_outline(answer: NoteRead, text: str, options: ReadOptions) -> NoteRead:
    found = sections.list_sections(text, markdown.parse_outline(text))
    left, entries = options.max_tokens, list[OutlineEntry]()
    for section in found:
        if section.heading.line < options.from_line:
            continue
        heading = section.heading
        left -= _MARKUP_TOKENS + len(heading.text) // 4
        if left < 0 and entries:
            return replace(answer, outline=entries, truncated=True, next_line=heading.line)
        entries.append(OutlineEntry(heading.level, heading.text, heading.line, (section.end - section.start) // 4))
    return replace(answer, outline=entries)


def _read_text(answer: NoteRead, text: str, options: ReadOptions) -> NoteRead:
    """The note's lines from ``from_line`` on."""
    start = line_ranges.line_start(text, options.from_line)
    first = line_ranges.count_lines(text[:start]) + 1
    return _with_piece(answer, line_ranges.take_lines(text[start:], first, options.max_tokens, options.max_lines))


def _read_section(answer: NoteRead, text: str, options: ReadOptions) -> NoteRead:
    parsed = markdown.parse_outline(text)
    found = sections.find_section(text, parsed, options.heading or "")
    others = [each.heading.line for each in sections.find_sections(text, parsed, options.heading or "")[1:]]
    first, start = found.heading.line, found.start
    if options.from_line > 1:
        last = first + line_ranges.count_lines(text[found.start : found.end]) - 1
        if not first <= options.from_line <= last:
            raise InvalidArgument("from_line", f"is outside the section, which has lines {first} to {last}")
        first, start = options.from_line, line_ranges.line_start(text, options.from_line)
    shown = _with_piece(
        answer, line_ranges.take_lines(text[start : found.end], first, options.max_tokens, options.max_lines)
    )
    if not others:
        return shown
    warning = f"more headings of this name in lines {', '.join(map(str, others[:10]))}: 'Parent > Heading' names one"
    return replace(shown, warnings=[*shown.warnings, warning])


def _with_piece(answer: NoteRead, piece: line_ranges.LinesPiece) -> NoteRead:
    return replace(
        answer,
        text=piece.text,
        first_line=piece.first_line,
        truncated=piece.cut,
        next_line=piece.next_line,
        warnings=[*answer.warnings, *piece.warnings],
    )


SectionSpan: TypeAlias = tuple[str, int, int, int, int]
"""Heading, level, line, and start and end offset of the section, heading included."""


def _read_sections(answer: NoteRead, text: str, options: ReadOptions) -> NoteRead:
    """Sections whose headings match, each whole and once; without a pattern all, each up to the next heading. A section
    that contains ``from_line`` starts there."""
    stretches = _find_matching(text, options.pattern) if options.pattern is not None else _split_flat(text)
    if not stretches:
        raise NotFound("no heading matches", hint="part outline lists them", path=answer.path)
    begin = line_ranges.line_start(text, options.from_line)
    ahead = [each for each in stretches if each[-1] > begin]
    if not ahead:
        warning = f"no section that matches goes beyond line {options.from_line - 1}"
        return replace(answer, sections=[], warnings=[*answer.warnings, warning])
    shown: list[SectionText] = []
    left, room, plenty = options.max_tokens, options.max_lines, tokenizer.surely_fits([text], options.max_tokens)
    for place, (heading, level, line, start, end) in enumerate(ahead, 1):
        first, most = max(line, options.from_line), room if room is None else max(1, room)
        piece = line_ranges.take_lines(text[max(start, begin) : end], first, max(1, left), most)
        if shown and (piece.cut or room == 0):
            return replace(answer, sections=shown, truncated=True, next_line=first)
        shown.append(SectionText(heading, level, first, piece.text))
        if piece.cut:
            following = piece.next_line or next((each[2] for each in ahead[place:]), None)
            warnings = [*answer.warnings, *piece.warnings]
            return replace(answer, sections=shown, truncated=True, next_line=following, warnings=warnings)
        left -= 0 if plenty else _MARKUP_TOKENS + tokenizer.count_tokens(piece.text)
        room = room if room is None else room - line_ranges.count_lines(piece.text)
    return replace(answer, sections=shown)


def _find_matching(text: str, pattern: str) -> list[SectionSpan]:
    found = compile_pattern(f"(?i){pattern}", "pattern", hint="RE2: no look-around and no back-references")
    stretches: list[SectionSpan] = []
    last = 0
    for each in sections.list_sections(text, markdown.parse_outline(text)):
        if each.start >= last and found.search(each.heading.text):
            stretches.append((each.heading.text, each.heading.level, each.heading.line, each.start, each.end))
            last = each.end
    return stretches


def _split_flat(text: str) -> list[SectionSpan]:
    parsed = markdown.parse_outline(text)
    headings = parsed.headings
    ends: Sequence[int] = [*(heading.start for heading in headings[1:]), len(text)]
    stretches = [
        (heading.text, heading.level, heading.line, heading.start, end)
        for heading, end in zip(headings, ends, strict=False)
    ]
    first = headings[0].start if headings else len(text)
    if text[parsed.body_start : first].strip():
        line = line_ranges.count_lines(text[: parsed.body_start]) + 1
        stretches.insert(0, ("", 0, line, parsed.body_start, first))
    return stretches


_READERS: dict[NotePart | None, Callable[[NoteRead, str, ReadOptions], NoteRead]] = {
    None: _read_default,
    "outline": _read_outline,
    "section": _read_section,
    "sections": _read_sections,
    "full": _read_text,
    "lines": _read_text,
}
