"""Arguments that narrow what a reading tool returns, shared by the memory tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from server.call import Call
from server.tool_spec import Arguments
from vaults import clock
from vaults.domain.actors import GLOBAL, workspace_key
from vaults.domain.memories.memory_model import AppliesTo, Tier
from vaults.domain.text.fields import Label, Tag, Text
from vaults.index.facets import to_field_text
from vaults.memory_types import MEMORY_TYPES, MemoryType
from vaults.search.filters import SearchFilter


class MemoryFilterArguments(Arguments):
    """Filters; leave out what does not matter."""

    types: Annotated[
        list[MemoryType], Field(max_length=len(MEMORY_TYPES), description="such as decision, error or fact")
    ] = []
    tiers: Annotated[list[Tier], Field(max_length=3, description="only these tiers")] = []
    tags: Annotated[list[Tag], Field(max_length=20, description="must carry all of these")] = []
    thread: Annotated[Label | None, Field(description="only this thread")] = None
    applies_to: AppliesTo | None = None
    workspace: Annotated[Label | None, Field(description="project, or all; default: yours")] = None
    since: Annotated[Text | None, Field(max_length=40, description="from then on, RFC 3339")] = None
    until: Annotated[Text | None, Field(max_length=40, description="before then")] = None
    include_archived: Annotated[bool, Field(description="also forgotten and superseded ones")] = False

    def as_filter(self, call: Call) -> SearchFilter:
        """The filter for this caller. Raises ``InvalidArgument`` for a time that is none."""
        return SearchFilter(
            viewer=call.actor.identity,
            now=clock.now(),
            kinds=("memory",),
            types=tuple(self.types),
            tiers=tuple(self.tiers),
            tags=tuple(self.tags),
            thread=self.thread,
            applies_to=self.applies_to,
            workspaces=_workspaces(self.workspace, call.actor.workspace),
            since=clock.parse(self.since, "since") if self.since else None,
            until=clock.parse(self.until, "until") if self.until else None,
            include_archived=self.include_archived,
        )


def _workspaces(asked: str | None, current: str | None) -> tuple[str, ...]:
    """A named or current workspace sees itself and what is global; with neither, everything is seen."""
    if asked == "all" or (asked is None and current is None):
        return ()
    return tuple(dict.fromkeys((workspace_key(asked) if asked else current or GLOBAL, GLOBAL)))


Kind = Literal["note", "memory", "document", "code", "transcript"]
Value = Text | int | float | bool
MAX_VALUES = 50


def _check_value_count(where: dict[str, Value | list[Value]]) -> dict[str, Value | list[Value]]:
    """Refuse too many values: a search binds each of them, so their number is its cost."""
    if sum(len(value) if isinstance(value, list) else 1 for value in where.values()) > MAX_VALUES:
        raise ValueError(f"must have at most {MAX_VALUES} values in all")
    return where


Where = Annotated[
    dict[Label, Value | list[Value]],
    AfterValidator(_check_value_count),
    Field(max_length=20, description="metadata or frontmatter: field to value, or to possible ones"),
]
MomentArgument = Annotated[Text | None, Field(max_length=40)]


class SearchFilterArguments(Arguments):
    """Filters over everything that is searched; leave out what does not matter."""

    kinds: Annotated[list[Kind], Field(max_length=5, description="only these")] = []
    types: Annotated[list[MemoryType], Field(max_length=len(MEMORY_TYPES), description="of memories: only these")] = []
    collection: Annotated[Label | None, Field(description="only this")] = None
    folder: Annotated[Label | None, Field(description="and those in it")] = None
    tags: Annotated[list[Tag], Field(max_length=20, description="must carry all of these")] = []
    where: Where = {}
    thread: Annotated[Label | None, Field(description="only this")] = None
    parent: Annotated[Label | None, Field(description="conversation or document it is part of")] = None
    author: Annotated[Label | None, Field(description="who said it")] = None
    workspace: Annotated[
        Label | None, Field(description="a project and what is global, or all; default: yours, else all")
    ] = None
    since: Annotated[MomentArgument, Field(description="from then on, RFC 3339")] = None
    until: Annotated[MomentArgument, Field(description="before then")] = None
    modified_after: Annotated[MomentArgument, Field(description="changed from then on")] = None
    modified_before: Annotated[MomentArgument, Field(description="changed before")] = None
    include_archived: Annotated[bool, Field(description="also forgotten and superseded ones")] = False

    def as_filter(self, call: Call) -> SearchFilter:
        """The filter for this caller. Raises ``InvalidArgument`` for a time that is none."""

        def moment(name: str) -> str | None:
            value = getattr(self, name)
            return clock.parse(value, name) if value else None

        return SearchFilter(
            viewer=call.actor.identity,
            now=clock.now(),
            kinds=tuple(self.kinds),
            types=tuple(self.types),
            tags=tuple(self.tags),
            fields=tuple((field, _to_field_texts(value)) for field, value in self.where.items()),
            thread=self.thread,
            workspaces=_workspaces(self.workspace, call.actor.workspace),
            collection=self.collection,
            folder=(self.folder or "").strip("/") or None,
            parent=self.parent,
            author=self.author,
            since=moment("since"),
            until=moment("until"),
            modified_after=moment("modified_after"),
            modified_before=moment("modified_before"),
            include_archived=self.include_archived,
        )


def _to_field_texts(value: Value | list[Value]) -> tuple[str, ...]:
    several = value if isinstance(value, list) else [value]
    return tuple(text for each in several if (text := to_field_text(each)) is not None)


Mode = Literal["hybrid", "keyword", "semantic"]
