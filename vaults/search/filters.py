"""What a search or a listing may return, as SQL over ``passages p`` or ``memories m``. All values are bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from vaults.index.items import name_words
from vaults.index.shelves import MAIN, shelves_of

FilterParams: TypeAlias = dict[str, Any]

_EQUAL_COLUMNS = ("thread", "applies_to", "parent", "collection")
_LIST_COLUMNS = {"kind": "kinds", "type": "types", "tier": "tiers", "workspace": "workspaces"}


_MODIFIED = (
    "COALESCE(CASE p.kind WHEN 'note' THEN (SELECT n.modified_at FROM notes n WHERE n.seq = p.item) END, p.modified_at)"
)
"""A note's own time, because its passages keep the time they were split: editing a long note touches few of them."""


_FACET_KIND = "CASE WHEN p.kind IN ('document', 'transcript', 'code') THEN 'documents' ELSE p.kind END"
_FACET_ITEM = (
    "CASE WHEN p.kind IN ('document', 'transcript', 'code') THEN (SELECT d.seq FROM documents d WHERE d.id = p.parent)"
    " ELSE p.item END"
)
"""What a passage's tags and fields are kept by: a document's once, for all its parts."""


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Everything that narrows a search."""

    viewer: str  # the principal's identity: private items of others never match
    now: str  # the present, in stored form: what is expired never matches
    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    fields: tuple[tuple[str, tuple[str, ...]], ...] = ()  # each with the values of which it must have one
    thread: str | None = None
    applies_to: str | None = None
    workspaces: tuple[str, ...] = ()
    collection: str | None = None
    folder: str | None = None
    parent: str | None = None
    author: str | None = None
    since: str | None = None
    until: str | None = None
    modified_after: str | None = None
    modified_before: str | None = None
    include_archived: bool = False
    as_of: int | None = None  # only passages numbered up to this
    without: str | None = None  # no memory this principal stored

    @property
    def is_narrow(self) -> bool:
        """Whether this asks for more than every search does: then filter first, search after. Kinds do not count: most
        of what a kind's own search finds first is of that kind."""
        return self.without is not None or bool(set(self.asked()) - {"kinds"})

    def asked(self) -> list[str]:
        """The names of the filters in use, as an answer they left empty lists them."""
        named = [*_LIST_COLUMNS.values(), *_EQUAL_COLUMNS, "tags", "folder", "author", "since", "until"]
        found = [name for name in (*named, "modified_after", "modified_before") if getattr(self, name)]
        return found + (["where"] if self.fields else [])

    def over_passages(self) -> tuple[str, FilterParams]:
        """A condition over alias ``p`` and its parameters."""
        params: FilterParams = {"viewer": self.viewer, "now": self.now}
        clauses = ["(p.owner IS NULL OR p.owner = :viewer)", "(p.expires_at IS NULL OR p.expires_at > :now)"]
        if not self.include_archived:
            clauses.append("p.hidden = 0")
        clauses += self._plain("p", params)
        clauses += self._times(params, "p.at", _MODIFIED)
        if self.folder is not None:
            # Not LIKE: that takes capitals for small letters, and "=" does not. "0" is what follows "/".
            clauses.append("(p.folder = :folder OR p.folder >= :within AND p.folder < :beyond)")
            params |= {"folder": self.folder, "within": f"{self.folder}/", "beyond": f"{self.folder}0"}
        if self.author is not None:
            clauses.append("p.author = :author")
            params["author"] = name_words(self.author)
        if self.as_of is not None:
            clauses.append("p.seq <= :as_of")
            params["as_of"] = self.as_of
        if self.without is not None:
            clauses.append(
                "(p.kind <> 'memory' OR p.item NOT IN (SELECT seq FROM memories WHERE stored_by = :without))"
            )
            params["without"] = self.without
        kind, item = ("p.kind", "p.item") if shelves_of(self.kinds) == (MAIN,) else (_FACET_KIND, _FACET_ITEM)
        clauses += self._tagged(kind, item, params)
        return " AND ".join(clauses), params

    def over_memories(self) -> tuple[str, FilterParams]:
        """A condition over alias ``m`` and its parameters. Kinds, collections and folders do not apply to memories."""
        params: FilterParams = {"viewer": self.viewer, "now": self.now}
        shared = "(m.visibility = 'shared' OR m.stored_by = :viewer)"
        clauses = [shared, "(m.expires_at IS NULL OR m.expires_at > :now)"]
        if not self.include_archived:
            clauses.append("m.archived_at IS NULL AND m.superseded_by IS NULL")
        clauses += [each for each in self._plain("m", params) if "kind" not in each and "collection" not in each]
        clauses += self._times(params, "COALESCE(m.occurred_at, m.created_at)", "m.updated_at")
        if self.author is not None:
            clauses.append("m.author = :author")
            params["author"] = self.author
        if self.without is not None:
            clauses.append("m.stored_by <> :without")
            params["without"] = self.without
        clauses += self._tagged("'memory'", "m.seq", params)
        return " AND ".join(clauses), params

    def _plain(self, alias: str, params: FilterParams) -> Iterator[str]:
        for name in _EQUAL_COLUMNS:
            if (value := getattr(self, name)) is not None:
                params[name] = value
                yield f"{alias}.{name} = :{name}"
        for column, name in _LIST_COLUMNS.items():
            if values := getattr(self, name):
                yield f"{alias}.{column} IN ({_bind(params, column, values)})"

    def _times(self, params: FilterParams, at: str, modified: str) -> Iterator[str]:
        bounds = (
            (at, ">=", "since"),
            (at, "<", "until"),
            (modified, ">=", "modified_after"),
            (modified, "<", "modified_before"),
        )
        for column, sign, name in bounds:
            if (moment := getattr(self, name)) is not None:
                params[name] = moment
                yield f"{column} {sign} :{name}"

    def _tagged(self, kind: str, item: str, params: FilterParams) -> Iterator[str]:
        for number, tag in enumerate(self.tags):
            params[f"tag{number}"] = tag
            same = f"t.kind = {kind} AND t.item = {item} AND t.tag = :tag{number}"
            yield f"EXISTS (SELECT 1 FROM item_tags t WHERE {same})"
        for number, (field, values) in enumerate(self.fields):
            params[f"field{number}"] = field
            among = _bind(params, f"value{number}", values)
            same = f"f.kind = {kind} AND f.item = {item} AND f.field = :field{number} AND f.value IN ({among})"
            yield f"EXISTS (SELECT 1 FROM item_fields f WHERE {same})"


def _bind(params: FilterParams, stem: str, values: Sequence[str]) -> str:
    names = []
    for number, value in enumerate(values):
        params[f"{stem}_{number}"] = value
        names.append(f":{stem}_{number}")
    return ", ".join(names)
