"""Arguments that narrow what a reading tool returns, shared by the memory tools."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from server.call import Call
from server.tools._spec import Arguments
from vaults import clock
from vaults.domain.memory import GLOBAL, AppliesTo, Label, MemoryType, Tag, Text, Tier, workspace_key
from vaults.search.filters import Filter


class Narrowing(Arguments):
    """Filters; leave out what does not matter."""

    types: Annotated[list[MemoryType], Field(max_length=11, description="only these types")] = []
    tiers: Annotated[list[Tier], Field(max_length=3, description="only these tiers")] = []
    tags: Annotated[list[Tag], Field(max_length=20, description="must carry all of these")] = []
    thread: Annotated[Label | None, Field(description="only this thread")] = None
    applies_to: AppliesTo | None = None
    workspace: Annotated[
        Label | None, Field(description="a project and what is global, or all; default: yours, else all")
    ] = None
    since: Annotated[Text | None, Field(max_length=40, description="from this time on, RFC 3339")] = None
    until: Annotated[Text | None, Field(max_length=40, description="before this time, RFC 3339")] = None
    include_archived: Annotated[bool, Field(description="also forgotten and superseded ones")] = False

    def as_filter(self, call: Call) -> Filter:
        """The filter for this caller. Raises ``InvalidArgument`` for a time that is none."""
        return Filter(
            viewer=call.actor.identity,
            now=clock.now(),
            kinds=("memory",),
            types=tuple(self.types),
            tiers=tuple(self.tiers),
            tags=tuple(self.tags),
            thread=self.thread,
            applies_to=self.applies_to,
            workspaces=_workspaces(self.workspace, call.actor.workspace),
            since=clock.parsed(self.since, "since") if self.since else None,
            until=clock.parsed(self.until, "until") if self.until else None,
            include_archived=self.include_archived,
        )


def _workspaces(asked: str | None, current: str | None) -> tuple[str, ...]:
    """A named or current workspace sees itself and what is global; nothing named and none current: everything."""
    if asked == "all" or (asked is None and current is None):
        return ()
    return tuple(dict.fromkeys((workspace_key(asked) if asked else current or GLOBAL, GLOBAL)))


MaxTokens = Annotated[int, Field(ge=50, le=100_000, description="size of the answer at most, in tokens")]
Mode = Literal["hybrid", "keyword", "semantic"]
