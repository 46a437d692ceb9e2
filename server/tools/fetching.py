"""Reading what a search named."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field, model_validator

from auth.roles import Role
from server.call import Call
from server.tools._spec import Arguments, tool
from vaults.domain import lifecycle
from vaults.domain.memory import Memory
from vaults.errors import NotFound

Ref = Annotated[str, Field(min_length=1, max_length=1000, description="id of a memory")]


class FetchArguments(Arguments):
    id: Ref | None = None
    refs: Annotated[list[Ref], Field(max_length=50, description="several at once")] = []
    from_line: Annotated[int, Field(ge=1, description="first line of each text, from 1")] = 1
    max_lines: Annotated[int | None, Field(ge=1, le=100_000, description="lines of each text at most")] = None
    max_bytes: Annotated[int, Field(ge=100, le=1_000_000, description="bytes of all texts at most")] = 50_000

    @model_validator(mode="after")
    def _one_or_more(self) -> FetchArguments:
        if (self.id is None) == (not self.refs):
            raise ValueError("must name id, or refs, not both")
        return self


@dataclass(frozen=True, slots=True)
class Item:
    """One text with where it is from. ``etag`` changes with the text."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any]
    etag: str
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """The items, in the order asked. For one id its fields stand at the top, too, as connectors expect."""

    items: list[Item]
    missing: list[str] = field(default_factory=list)
    truncated: bool = False
    id: str | None = None
    title: str | None = None
    text: str | None = None
    url: str | None = None
    metadata: dict[str, Any] | None = None
    etag: str | None = None


def _fetched_text(fetched: Fetched) -> str:
    lines = [f"{item.id}: {item.title} ({len(item.text)} characters)" for item in fetched.items]
    cut = ["Cut at max_bytes: fetch fewer, or from a later line."] if fetched.truncated else []
    gone = [f"Not found: {', '.join(fetched.missing)}"] if fetched.missing else []
    return "\n".join([*lines, *cut, *gone])


@tool(role=Role.READER, text=_fetched_text)
async def fetch(call: Call, args: FetchArguments) -> Fetched:
    """Read the whole text behind ids that recall or search returned."""
    asked = [args.id] if args.id else args.refs
    opened = await lifecycle.get(call.vault, call.actor, [ref.removeprefix("memory://") for ref in asked])
    if args.id and not opened.memories:
        raise NotFound(f"nothing with the id {args.id[:64]}")
    items, left = [], args.max_bytes
    for memory in opened.memories:
        item = _item(memory, args, left)
        items.append(item)
        left -= len(item.text.encode())
        if left <= 0:
            break
    cut = len(items) < len(opened.memories) or any(item.truncated for item in items)
    if not args.id:
        return Fetched(items, opened.missing, cut)
    one = items[0]
    return Fetched(items, [], cut, one.id, one.title, one.text, one.url, one.metadata, one.etag)


def _item(memory: Memory, args: FetchArguments, left: int) -> Item:
    lines = memory.content.splitlines(keepends=True)
    chosen = lines[args.from_line - 1 :]
    if args.max_lines is not None:
        chosen = chosen[: args.max_lines]
    text = "".join(chosen)
    short = text.encode()[:left].decode("utf-8", "ignore")
    # What the server knows of the memory stands above what its writer says in metadata.
    kept = {
        **memory.metadata, "type": memory.type, "author": memory.author, "created_at": memory.created_at,
        "tags": memory.tags, "applies_to": memory.applies_to, "workspace": memory.workspace,
    }  # fmt: skip
    cut = len(short) < len(text) or len(chosen) < len(lines)
    return Item(memory.id, memory.title, short, f"memory://{memory.id}", kept, f"v{memory.version}", cut)
