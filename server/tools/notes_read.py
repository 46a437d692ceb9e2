"""Reading notes: one of them in parts, or a list of those that pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from auth.roles import Role
from server.call import Call
from server.rendering.plain_text import EvidenceItem, TextAnswer, format_author_and_age, given_title, next_page_hint
from server.tool_spec import Arguments, MaxTokens, tool
from server.tools._filters import MomentArgument, Where
from vaults import clock
from vaults.domain.memories import corrections
from vaults.domain.notes.read import note_listing, note_parts
from vaults.domain.notes.read.note_listing import FoundNotes, NoteSort, SortOrder
from vaults.domain.notes.read.note_parts import NotePart, NoteRead
from vaults.domain.text.fields import Label, Tag
from vaults.errors import InvalidArgument

NotePath = Annotated[str, Field(max_length=3200, description="projects/plan.md, @daily, @weekly:2026-W47, @memory")]


class NoteReadArguments(Arguments):
    path: NotePath
    part: Annotated[NotePart | None, Field(description="default: outline, and the text if it fits")] = None
    heading: Annotated[
        str | None, Field(max_length=1000, description="of the section: Plan, ## Plan, Parent > Plan")
    ] = None
    pattern: Annotated[str | None, Field(max_length=1000, description="RE2 of headings")] = None
    from_line: Annotated[int, Field(ge=1, le=10**7, description="where to begin or go on")] = 1
    max_lines: Annotated[int | None, Field(ge=1, le=100_000, description="lines at most")] = None
    max_tokens: MaxTokens = 4000


def _read_text(read: NoteRead) -> TextAnswer:
    """The note as far as it was read: properties, outline, sections or lines."""
    about = EvidenceItem(
        (read.path, f"etag {read.etag}", f"{read.lines} lines", format_author_and_age(None, read.modified_at)),
        {"title": given_title(read.title, read.text or ""), "tags": read.tags, "aliases": read.aliases,
         "frontmatter": read.frontmatter, "text from line": read.first_line if read.text is not None else None},
        read.text,
    )  # fmt: skip
    headings = [
        f"line {each.line}, {each.tokens} tokens: {'#' * each.level} {each.text}" for each in read.outline or ()
    ]
    sections = [
        EvidenceItem((each.heading or "before the first heading", f"line {each.line}"), body=each.text)
        for each in read.sections or ()
    ]
    outline_only = read.text is None and read.sections is None
    more = f"{'part outline goes' if outline_only else 'It goes'} on at from_line {read.next_line}"
    tail = [*read.warnings, *([more] if read.next_line is not None else [])]
    return TextAnswer("The note.", [*headings, about, *sections], tail)


@tool(role=Role.READER, render=_read_text)
async def note_read(call: Call, args: NoteReadArguments) -> NoteRead:
    """Read a Markdown note: its outline, a section, some lines or all. Use it before you edit: edits take its etag."""
    wanted = note_parts.ReadOptions(
        part=args.part,
        heading=args.heading,
        pattern=args.pattern,
        from_line=args.from_line,
        max_lines=args.max_lines,
        max_tokens=args.max_tokens,
    )
    found = await note_parts.read_note(call.vault, args.path, wanted)
    for text in (found.text, *(section.text for section in found.sections or ())):
        call.vault.shown_texts.note_paragraphs(call.actor.identity, text or "", found.path)
    call.vault.graph_cache.co_access.record_opened(call.session.id, [found.path])
    wrong = await call.vault.db.read(lambda tx: corrections.find_about(tx, call.actor.identity, [found.path]))
    return replace(found, warnings=[*found.warnings, *map(corrections.describe_correction, wrong)]) if wrong else found


class FindNotesArguments(Arguments):
    folder: Annotated[str | None, Field(max_length=1024, description="and those in it")] = None
    where: Where = {}
    has_tag: Annotated[Tag | None, Field(description="this or one below it: a finds a/b")] = None
    has_any: Annotated[list[Tag], Field(max_length=20, description="one of these tags")] = []
    has_all: Annotated[list[Tag], Field(max_length=20, description="all of these tags")] = []
    title_contains: Annotated[Label | None, Field(description="part of title, file name or alias, in any case")] = None
    modified_after: Annotated[MomentArgument, Field(description="changed from then on, RFC 3339")] = None
    modified_before: Annotated[MomentArgument, Field(description="changed before")] = None
    created_after: Annotated[MomentArgument, Field(description="made from then on")] = None
    created_before: Annotated[MomentArgument, Field(description="made before")] = None
    sort_by: Annotated[NoteSort, Field(description="what the order goes by")] = "path"
    order: Annotated[SortOrder, Field(description="asc or desc")] = "asc"
    limit: Annotated[int, Field(ge=1, le=500, description="notes at most")] = 50
    cursor: Annotated[str | None, Field(min_length=1, max_length=3000, description="from the page before")] = None
    max_tokens: MaxTokens = 4000

    def as_wanted(self) -> note_listing.NoteFilter:
        """The question for the domain. Raises ``InvalidArgument`` for a time that is none."""

        def moment(name: str) -> str | None:
            value = getattr(self, name)
            return clock.parse(value, name) if value else None

        tags = (*((self.has_tag,) if self.has_tag else ()), *self.has_all)
        if any(not note_listing.to_tag_key(tag) for tag in (*tags, *self.has_any)):
            raise InvalidArgument("has_tag", "must name a tag")
        return note_listing.NoteFilter(
            folder=self.folder,
            fields=tuple(
                (name, tuple(said) if isinstance(said, list) else (said,)) for name, said in self.where.items()
            ),
            has_all=tags,
            has_any=tuple(self.has_any),
            title_contains=self.title_contains,
            modified_after=moment("modified_after"),
            modified_before=moment("modified_before"),
            created_after=moment("created_after"),
            created_before=moment("created_before"),
            sort_by=self.sort_by,
            order=self.order,
        )


def _found_text(found: FoundNotes) -> TextAnswer:
    head = f"{len(found.notes)} of {found.total} notes." if found.notes else "No note passes."
    notes = [
        EvidenceItem(
            (each.path, f"{each.size} bytes", format_author_and_age(None, each.modified_at), f"etag {each.etag}"),
            {"title": each.title, "tags": each.tags, "frontmatter": each.frontmatter},
        )
        for each in found.notes
    ]
    return TextAnswer(head, notes, [*found.warnings, *next_page_hint(found.cursor)])


@tool(role=Role.READER, preset="notes", render=_found_text)
async def find_notes(call: Call, args: FindNotesArguments) -> FoundNotes:
    """List notes by folder, tags, frontmatter, title or dates, sorted and in pages. Use search for what notes say."""
    return await note_listing.find_notes(call.vault, args.as_wanted(), args.limit, args.max_tokens, args.cursor)
