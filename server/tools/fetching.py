"""Reading what a search named."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import Field, model_validator

from auth.roles import Role
from server.call import Call
from server.tools._lines import told
from server.tools._spec import Arguments, tool
from vaults.advice import Advice, way
from vaults.domain import fetching
from vaults.domain.fetching import Found, Item, Portion
from vaults.errors import NotFound
from vaults.files.paths import is_note

Ref = Annotated[
    str, Field(min_length=1, max_length=3200, description="memory id, note path, or glob: daily/2026-*.md, **/*.md")
]


class FetchArguments(Arguments):
    id: Ref | None = None
    refs: Annotated[list[Ref], Field(max_length=50, description="several at once")] = []
    from_line: Annotated[int, Field(ge=1, le=10**7, description="first line")] = 1
    max_lines: Annotated[int | None, Field(ge=1, le=100_000, description="lines of each")] = None
    max_bytes: Annotated[int, Field(ge=100, le=1_000_000, description="bytes in all")] = 50_000

    @model_validator(mode="after")
    def _one_or_more(self) -> FetchArguments:
        if (self.id is None) == (not self.refs):
            raise ValueError("must name id, or refs, not both")
        return self


@dataclass(frozen=True, slots=True)
class Fetched:
    """The items, in the order asked. For one id its fields stand at the top, too, as connectors expect. ``truncated``:
    there is more of a text, or of what was asked for. ``remaining``: what max_bytes left no room for."""

    items: list[Item]
    missing: list[str] = field(default_factory=list)
    truncated: bool = False
    remaining: list[str] | None = None
    warnings: list[str] = field(default_factory=list)
    id: str | None = None
    title: str | None = None
    text: str | None = None
    url: str | None = None
    metadata: dict[str, Any] | None = None
    etag: str | None = None


def _fetched_text(fetched: Fetched) -> str:
    lines = [
        f"{item.id}: {told(item.title)} ({len(item.text)} characters)"
        + (f", more from line {item.next_line}" if item.next_line else "")
        for item in fetched.items
    ]
    short = bool(fetched.remaining) or any(item.truncated for item in fetched.items)
    cut = ["Cut at max_bytes: fetch fewer, or from a later line."] if short else []
    rest = fetched.remaining or []
    left = [f"Not returned: {len(rest)}, from {rest[0]} on"] if rest else []
    gone = [f"Not found: {', '.join(map(told, fetched.missing))}"] if fetched.missing else []
    return "\n".join([*lines, *cut, *left, *gone, *fetched.warnings])


@tool(role=Role.READER, text=_fetched_text)
async def fetch(call: Call, args: FetchArguments) -> Fetched:
    """Read the whole text behind ids and paths. Use it after recall or search, or for all notes that match a glob."""
    portion = Portion(args.from_line, args.max_lines, args.max_bytes)
    if args.id is not None and not fetching.is_pattern(args.id):
        found = await fetching.one(call.vault, call.actor, args.id, portion)
    else:
        refs = args.refs if args.id is None else [args.id]
        found = await fetching.fetched(call.vault, call.actor, refs, portion)
    if args.id is not None and not found.items:
        raise NotFound(
            f"no note matches {args.id[:200]}", hint=Advice(way("find_notes lists what there is", "find_notes"))
        )
    call.vault.atlas.together.opened(call.session.id, [each.id for each in found.items if is_note(each.id)])
    return _connected(found) if args.id is not None and len(found.items) == 1 else _answer(found)


def _answer(found: Found) -> Fetched:
    cut = found.partial or bool(found.remaining) or any(item.truncated for item in found.items)
    return Fetched(found.items, found.missing, cut, found.remaining or None, found.warnings)


def _connected(found: Found) -> Fetched:
    one = found.items[0]
    return replace(
        _answer(found),
        id=one.id,
        title=one.title,
        text=one.text,
        url=one.url,
        metadata=one.metadata,
        etag=one.etag,
    )
