"""By which names the files of a code base know a definition: what they import, and what that passes on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.code.module_paths import fits, last_word
from vaults.domain.code.symbol_lookup import VISIBLE, StoredSymbol

MAX_ROWS = 20_000
"""References of a name, and imports, that are looked at."""

ROUNDS = 3
"""Files through which a name may be passed on."""

MEMBERS = frozenset({"method", "field"})
"""Kinds that are named through what they stand in."""


@dataclass(frozen=True, slots=True)
class ImportRow:
    document: int
    module: str
    name: str
    alias: str

    @property
    def bound(self) -> str:
        """What it is called in its file."""
        return self.alias or self.name or last_word(self.module)


@dataclass(slots=True)
class ImportReach:
    """By which names files know a definition, by document: the symbol itself, its module, and the class it is in."""

    symbol: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    module: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))
    holder: defaultdict[int, set[str]] = field(default_factory=lambda: defaultdict(set))


def read_reach(tx: Reader, actor: Actor, meant: StoredSymbol) -> ImportReach:
    """Who imports a definition, also through files that pass it on."""
    reach, modules = ImportReach(), {meant.document: meant.module}
    wanted = meant.holder if meant.kind in MEMBERS and meant.holder else meant.name
    rows = _read_imports(tx, actor, wanted, sorted({last_word(meant.module)}))
    for _ in range(ROUNDS):
        passed = [each for each in rows if each.name in (wanted, "*") and each.document not in modules]
        new = {each.document for each in passed if any(fits(each.module, module) for module in modules.values())}
        if not new:
            break
        modules |= _read_modules(tx, new)
    for each in rows:
        if each.document == meant.document:
            continue
        for module in modules.values():
            _note(reach, each, module, wanted, meant)
    return reach


def _note(reach: ImportReach, each: ImportRow, module: str, wanted: str, meant: StoredSymbol) -> None:
    """Note what an import makes known of a module that has the definition."""
    if each.name in (wanted, "*") and fits(each.module, module):
        known = reach.holder if wanted != meant.name else reach.symbol
        known[each.document].add(each.alias or wanted)
    elif each.name and fits(f"{each.module}/{each.name}", module):
        reach.module[each.document].add(each.bound)
        if each.name == wanted:  # a file named as what it holds, as in Java
            reach.symbol[each.document].add(each.bound)
    elif not each.name and fits(each.module, module):
        reach.module[each.document] |= {each.bound, each.module.replace("/", ".")}
        if not _names_module(each):
            reach.symbol[each.document].add(meant.name)


def _names_module(each: ImportRow) -> bool:
    """Whether what is imported is named before a dot: not so a header, which makes all it holds known."""
    return "." not in last_word(each.module)


def _read_imports(tx: Reader, actor: Actor, name: str, stems: Sequence[str]) -> list[ImportRow]:
    """Imports of a name, and of whatever a module of these last words could be."""
    rows: dict[tuple[object, ...], ImportRow] = {}
    for column, value in (("name", name), *(("stem", stem) for stem in stems), *(("name", stem) for stem in stems)):
        found = tx.all(
            "SELECT i.document, i.number, i.module, i.name, i.alias FROM code_imports i"
            f" JOIN documents d ON d.seq = i.document WHERE {VISIBLE} AND i.{column} = :value LIMIT :most",
            {"viewer": actor.identity, "value": value, "most": MAX_ROWS},
        )
        rows.update(
            ((document, number), ImportRow(document, module, taken, alias))
            for document, number, module, taken, alias in found
        )
    return list(rows.values())


def _read_modules(tx: Reader, documents: Collection[int]) -> dict[int, str]:
    numbers = ", ".join(str(int(each)) for each in sorted(documents)[:500])
    return dict(tx.all(f"SELECT document, module FROM code_files WHERE document IN ({numbers})"))


def read_bound_names(tx: Reader, documents: Collection[int]) -> dict[int, set[str]]:
    """What files know by import, by document."""
    numbered = sorted(documents)[:MAX_ROWS]
    bound: defaultdict[int, set[str]] = defaultdict(set)
    for start in range(0, len(numbered), 500):
        numbers = ", ".join(str(int(each)) for each in numbered[start : start + 500])
        rows = tx.all(f"SELECT document, module, name, alias FROM code_imports WHERE document IN ({numbers})")
        for row in rows:
            bound[row[0]].add(ImportRow(*row).bound)
            if not row[2] and not row[3]:  # ``import a.b`` makes ``a`` known
                bound[row[0]].add(row[1].partition("/")[0])
    return bound
