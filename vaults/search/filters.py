"""Which memories a search may return, as SQL over ``memories m``. All values are bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Everything that narrows a search. ``viewer`` is the principal's identity: private memories of others never
    match. ``now`` is the stored form of the present; expired memories never match."""

    viewer: str
    now: str
    types: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    thread: str | None = None
    applies_to: str | None = None
    workspaces: tuple[str, ...] = ()
    parent: str | None = None
    author: str | None = None
    since: str | None = None
    until: str | None = None
    include_archived: bool = False

    @property
    def narrows(self) -> bool:
        """Whether more is asked than what every search asks: then filter first, search after."""
        asked = (self.types, self.tiers, self.tags, self.thread, self.applies_to, self.workspaces, self.parent)
        return any(asked) or bool(self.author or self.since or self.until)

    def where(self) -> tuple[str, dict[str, Any]]:
        """A condition over alias ``m`` and its parameters."""
        clauses = [
            "(m.visibility = 'shared' OR m.stored_by = :viewer)",
            "(m.expires_at IS NULL OR m.expires_at > :now)",
        ]
        params: dict[str, Any] = {"viewer": self.viewer, "now": self.now}
        if not self.include_archived:
            clauses.append("m.archived_at IS NULL AND m.superseded_by IS NULL")
        equal = {name: getattr(self, name) for name in ("thread", "applies_to", "parent", "author")}
        params |= {name: value for name, value in equal.items() if value is not None}
        clauses += [f"m.{name} = :{name}" for name, value in equal.items() if value is not None]
        for column, values in (("type", self.types), ("tier", self.tiers), ("workspace", self.workspaces)):
            if values:
                clauses.append(f"m.{column} IN ({_bind(params, column, values)})")
        for number, tag in enumerate(self.tags):
            clauses.append(f"EXISTS (SELECT 1 FROM memory_tags t WHERE t.memory = m.seq AND t.tag = :tag{number})")
            params[f"tag{number}"] = tag
        for sign, name, moment in ((">=", "since", self.since), ("<", "until", self.until)):
            if moment:
                clauses.append(f"COALESCE(m.occurred_at, m.created_at) {sign} :{name}")
                params[name] = moment
        return " AND ".join(clauses), params


def _bind(params: dict[str, Any], stem: str, values: tuple[str, ...]) -> str:
    names = []
    for number, value in enumerate(values):
        params[f"{stem}_{number}"] = value
        names.append(f":{stem}_{number}")
    return ", ".join(names)
