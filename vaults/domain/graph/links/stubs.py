"""Finding stubs: names that several notes link to, but that have no note yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph.links import phrase_search
from vaults.errors import StrongroomError
from vaults.graph.link_feedback import dismissals
from vaults.graph.links import unresolved_names
from vaults.graph.links.unresolved_names import UnresolvedName
from vaults.graph.names import implicit_names
from vaults.markdown.encoding import NotText, decode
from vaults.markdown.link_resolution import name_key
from vaults.markdown.protected_spans import find_protected
from vaults.vault import Vault

HIGH_DEMAND, MEDIUM_DEMAND = 3, 2
"""Min notes that link to a name for high, or medium, demand."""

MAX_READ = 100
"""Max notes read in one call."""

MAX_NAMES = 5000
"""Max names examined, most linked first."""

MAX_NAMED_IN = 5
"""Max notes listed for one stub."""

StubDemand = Literal["high", "medium"]


@dataclass(frozen=True, slots=True)
class Stub:
    """A name without a note: ``references`` notes link to it, of which ``paths`` are some; ``named_in``: notes that
    name it as a name is written, and do not link it. ``source`` both: linked to and so named."""

    name: str
    key: str
    references: int
    links: int
    wanted: StubDemand
    paths: list[str]
    named_in: list[str] = field(default_factory=list)
    source: Literal["links", "both"] = "links"


@dataclass(frozen=True, slots=True)
class StubPage:
    """The most wanted of ``total``."""

    stubs: list[Stub]
    total: int


async def find_stubs(vault: Vault, limit: int, first: int = 0) -> StubPage:
    """Like ``read_stubs``, with the notes that name them without a link."""
    found = await vault.db.read(lambda tx: read_stubs(tx, limit, first))
    # One read transaction each: some take 20 ms, and other callers wait for a vault's few readers.
    among = [await vault.db.read(partial(_find_naming, stub=each)) for each in found.stubs]
    named = await run_in(vault.shared.pool, _NameReader(vault).all, found.stubs, among)
    both = [_with_mentions(each, paths) for each, paths in zip(found.stubs, named, strict=True)]
    return StubPage(sorted(both, key=lambda each: each.wanted != "high"), found.total)


def read_stubs(tx: Reader, limit: int, first: int = 0) -> StubPage:
    """Names without a note that at least two notes link to, except dismissed ones; ``first``: offset."""
    refused = dismissals.read_prospects(tx)
    found = [
        each
        for each in unresolved_names.read_unresolved(tx, MAX_NAMES)
        if each.notes >= MEDIUM_DEMAND and each.key not in refused
    ]
    return StubPage([_to_stub(tx, each) for each in found[first : first + limit]], len(found))


def _to_stub(tx: Reader, each: UnresolvedName) -> Stub:
    rows = tx.all(
        "SELECT DISTINCT s.path FROM note_links l JOIN notes s ON s.seq = l.note"
        " WHERE l.target_key = :target_key AND l.meant IS NULL ORDER BY s.path LIMIT :limit",
        {"target_key": each.key, "limit": MAX_NAMED_IN},
    )
    wish: StubDemand = "high" if each.notes >= HIGH_DEMAND else "medium"
    return Stub(
        name=each.name,
        key=each.key,
        references=each.notes,
        links=each.links,
        wanted=wish,
        paths=[row[0] for row in rows],
    )


def _with_mentions(stub: Stub, named: list[str]) -> Stub:
    return replace(stub, named_in=named, wanted="high", source="both") if named else stub


def _find_naming(tx: Reader, stub: Stub) -> list[str]:
    """Notes that may name the stub without linking to it."""
    where = "NOT EXISTS (SELECT 1 FROM note_links l WHERE l.note = n.seq AND l.target_key = :key)"
    return phrase_search.find_notes_holding(tx, [stub.name], where, {"key": stub.key}, MAX_NAMED_IN)


@dataclass(slots=True)
class _NameReader:
    """Reads notes for names that are recognizable by their spelling. Blocking."""

    vault: Vault
    _known: dict[str, frozenset[str]] = field(init=False, default_factory=dict)

    def all(self, several: Sequence[Stub], among: Sequence[Sequence[str]]) -> list[list[str]]:
        """For each stub, the notes that name it."""
        pairs = zip(several, among, strict=True)
        return [[path for path in paths if stub.key in self._find_names(path)] for stub, paths in pairs]

    def _find_names(self, path: str) -> frozenset[str]:
        if path not in self._known:
            self._known[path] = self._read(path) if len(self._known) < MAX_READ else frozenset()
        return self._known[path]

    def _read(self, path: str) -> frozenset[str]:
        settings = self.vault.shared.links
        if settings.implicit == "off":
            return frozenset()
        try:
            text = decode(self.vault.notes.tree.read(path, self.vault.notes.settings.max_note).data).text
        except (StrongroomError, NotText):
            return frozenset()
        found = implicit_names.find_implicit_names(text, find_protected(text), settings.implicit_patterns)
        return frozenset(name_key(each.term) for each in found)
