"""Reading what a search named."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from auth.roles import Role
from server.call import INSIDE, Call
from server.rendering.plain_text import EvidenceItem as Evidence
from server.rendering.plain_text import TextAnswer, format_author_and_age, given_title
from server.tool_spec import Arguments, MaxTokens, tool
from vaults.advice import Advice, tool_clause
from vaults.domain.retrieval import full_texts
from vaults.domain.retrieval.full_texts import FetchedItem, FetchLimits, FetchResult
from vaults.errors import NotFound
from vaults.files.paths import is_note

Ref = Annotated[
    str, Field(min_length=1, max_length=3200, description="id, note path, or glob: daily/2026-*.md, **/*.md")
]


class FetchArguments(Arguments):
    id: Ref | None = None
    refs: Annotated[list[Ref], Field(max_length=50, description="several at once")] = []
    from_line: Annotated[int, Field(ge=1, le=10**7, description="first line")] = 1
    max_lines: Annotated[int | None, Field(ge=1, le=100_000, description="lines of each")] = None
    max_bytes: Annotated[int, Field(ge=100, le=1_000_000, description="bytes in all")] = 50_000
    max_tokens: MaxTokens = 12_000

    @model_validator(mode="after")
    def _one_or_more(self) -> FetchArguments:
        if (self.id is None) == (not self.refs):
            raise ValueError("must name id, or refs, not both")
        return self


BYTES_PER_TOKEN = 4
"""Of English prose; of code and other languages fewer."""


@dataclass(frozen=True, slots=True)
class FetchedItems:
    """The items, in the order asked; for one ``id`` its fields stand at the top instead, as connectors expect.
    ``truncated``: there is more of a text, of a note from ``next_line`` on, or of what was asked for; ``cut_by`` names
    the bound. ``remaining``: what there was no room for."""

    items: list[FetchedItem] | None = None
    id: str | None = None
    title: str | None = None
    text: str | None = None
    url: str | None = None
    metadata: dict[str, Any] | None = None
    etag: str | None = None
    next_line: int | None = None
    truncated: bool = False
    cut_by: Literal["max_bytes", "max_lines", "max_tokens"] | None = None
    missing: list[str] = field(default_factory=list)
    remaining: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def _fetched_text(fetched: FetchedItems) -> TextAnswer:
    items = fetched.items if fetched.items is not None else [_single_item(fetched)]
    return TextAnswer(
        f"{len(items)} texts." if len(items) != 1 else "The text.",
        list(map(_evidence, items)),
        [
            *(f"{item.id} goes on at from_line {item.next_line}" for item in items if item.next_line),
            f"Cut at {fetched.cut_by}: ask for more, or from a later from_line." if fetched.cut_by else "",
            f"Not returned: {', '.join(fetched.remaining)}" if fetched.remaining else "",
            f"Not found: {', '.join(fetched.missing)}" if fetched.missing else "",
            *fetched.warnings,
        ],
    )


def _single_item(fetched: FetchedItems) -> FetchedItem:
    return FetchedItem(
        id=fetched.id or "",
        title=fetched.title or "",
        text=fetched.text or "",
        url=fetched.url or "",
        metadata=fetched.metadata or {},
        etag=fetched.etag or "",
        truncated=fetched.truncated,
        next_line=fetched.next_line,
    )


def _evidence(item: FetchedItem) -> Evidence:
    about = {name: each for name, each in item.metadata.items() if name not in ("author", "created_at")}
    author, at = item.metadata.get("author"), item.metadata.get("modified_at", item.metadata.get("created_at"))
    wrote = format_author_and_age(author, at) if isinstance(author, str | None) and isinstance(at, str | None) else None
    return Evidence(
        (item.id, wrote, f"etag {item.etag}"), {"title": given_title(item.title, item.text), **about}, item.text
    )


def _connector(args: FetchArguments, fetched: FetchedItems) -> dict[str, Any] | None:
    """What connector clients expect, which ask with an id alone and read nothing but the text."""
    if args.model_fields_set != {"id"} or fetched.items is not None:
        return None
    plain = {name: getattr(fetched, name) for name in ("id", "title", "text", "url", "metadata")}
    more = {"truncated": True, "next_line": fetched.next_line} if fetched.truncated else {}
    return plain | more | ({"warnings": fetched.warnings} if fetched.warnings else {})


@tool(role=Role.READER, render=_fetched_text, connector=_connector, hidden_args=("max_tokens",))
async def fetch(call: Call, args: FetchArguments) -> FetchedItems:
    """Read the whole text behind ids and paths. Use it after recall or search, or for all notes that match a glob."""
    portion = _portion_of_budget(call, args)
    if args.id is not None and not full_texts.is_pattern(args.id):
        found = await full_texts.fetch_one(call.vault, call.actor, args.id, portion)
    else:
        refs = args.refs if args.id is None else [args.id]
        found = await full_texts.fetch_texts(call.vault, call.actor, refs, portion)
    if args.id is not None and not found.items:
        raise NotFound(
            f"no note matches {args.id[:200]}", hint=Advice(tool_clause("find_notes lists what there is", "find_notes"))
        )
    call.vault.graph_cache.co_access.record_opened(
        call.session.id, [each.id for each in found.items if is_note(each.id)]
    )
    answer = _to_single_result(found) if args.id is not None and len(found.items) == 1 else _to_result(found)
    tokens = answer.cut_by == "max_bytes" and portion.max_bytes < args.max_bytes
    return replace(answer, cut_by="max_tokens") if tokens else answer


def _portion_of_budget(call: Call, args: FetchArguments) -> FetchLimits:
    """What the budget has room for, about; what is over is seen once the answer is made."""
    if call.caller.form in INSIDE:
        return FetchLimits(args.from_line, args.max_lines, args.max_bytes)
    most = min(args.max_bytes, args.max_tokens * BYTES_PER_TOKEN)
    return FetchLimits(args.from_line, args.max_lines, most, args.max_tokens)


def _to_result(found: FetchResult) -> FetchedItems:
    cut = found.partial or bool(found.remaining) or any(item.truncated for item in found.items)
    return FetchedItems(
        found.items,
        truncated=cut,
        cut_by=found.cut_by,
        missing=found.missing,
        remaining=found.remaining,
        warnings=found.warnings,
    )


def _to_single_result(found: FetchResult) -> FetchedItems:
    one = found.items[0]
    return replace(
        _to_result(found),
        items=None,
        id=one.id,
        title=one.title,
        text=one.text,
        url=one.url,
        metadata=one.metadata,
        etag=one.etag,
        next_line=one.next_line,
    )
