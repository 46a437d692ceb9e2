"""``python -m bench.quality.calibration``: whether relevance tells questions a vault can answer from those it cannot.

Every judged question is asked of the vault that answers it and, so that only the vault differs, of others that cannot:
another conversation's, another set's; and so are everyday questions nobody's vault answers. Of small vaults made of a
few texts each (``few_texts``) the same.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench import data_folders
from bench.quality import by_language, few_texts, sets, stored_sets
from bench.quality.calibration_rows import (
    OTHER_PERSON,
    OWN,
    AskedVault,
    area_under_curve,
    read_adversarial,
    read_rows,
    write_rows,
)  # fmt: skip
from bench.quality.sets import BY_NAME, JudgedSet
from bench.quality.stored_sets import SUBJECT, StoredSets
from bench.run import OUT, ROOT
from vaults.search.relevance import lower_steadily
from vaults.search.relevance_weights import load_weights
from vaults.settings import SearchSettings

if TYPE_CHECKING:
    from vaults.vault import Vault

SETS = ("locomo", "hotpotqa", "scifact", "manual-en")
EVERYDAY = Path(__file__).with_name("questions") / "everyday.txt"
FOREIGN, CROSS = 60, 0.3
"""Questions of each other set asked of a vault, and the share of those of other conversations."""

MODES = ("hybrid", "keyword")
LEAST_AREA, MOST_SILENCED, LEAST_TOLD = 0.92, 0.03, 0.75
"""The floors, of whole vaults in hybrid mode."""

TOLD_OF = {"hotpotqa": 0.50}
"""Floors of sets that are encyclopaedias: they have something near to most that people ask."""


def main(argv: Sequence[str] | None = None) -> int:
    """0 when every floor holds or there is nothing to measure with; 1 when one does not."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality.calibration", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SETS, default=SETS, help="sets to ask")
    parser.add_argument("--rows", type=Path, help="keep the evidence here, to fit weights to")
    parser.add_argument("--from", dest="kept", nargs="+", type=Path, help="judge rows that were kept, without asking")
    parser.add_argument("--out", type=Path, default=OUT / "quality", help="where the sets are stored")
    given = parser.parse_args(argv)
    rows = read_rows(given.kept) if given.kept else ask_sets(given.only, given.out, given.rows)
    return print_table(rows)


def ask_sets(names: Sequence[str], out: Path, kept: Path | None = None) -> list[AskedVault]:
    """The rows of the sets that can be had, kept in a file after each where one is named: asking takes minutes."""
    from server.settings import export_environment

    export_environment()
    found = {name: read(name, out) for name in names}
    judged = {name: one for name, one in found.items() if one is not None}
    rows: list[AskedVault] = []
    for name in judged:
        rows += ask_set(judged, name, out)
        if kept:
            write_rows(kept, rows)
    return rows


def read(name: str, out: Path) -> JudgedSet | None:
    """The set, None where its files cannot be had."""
    task, data = BY_NAME[name], ROOT.parent / "shared" / "bench"
    if task.languages is not None:
        data = out / "manual"
        by_language.make_sets(data, [task])
    if not sets.is_present(data, task):
        print(f"skipped: {task.title}: its files are not in {data / task.folder}")
        return None
    return sets.read_set(data, task)


def ask_set(judged: Mapping[str, JudgedSet], name: str, out: Path) -> list[AskedVault]:
    """The rows of one set's vaults: whole ones, and small ones made of their texts."""
    with stored_sets.copy_stored_set(StoredSets(out / "stored"), judged[name], {}) as ready:
        return asyncio.run(_ask_vaults(judged, name, ready.data))


@dataclass(frozen=True, slots=True)
class _Question:
    kind: str
    text: str


async def _ask_vaults(judged: Mapping[str, JudgedSet], name: str, data: Path) -> list[AskedVault]:
    from server.services import open_services
    from server.tools import discover

    settings = data_folders.default_settings(data, **{"storage.reserve_mb": 0}).settings
    rows: list[AskedVault] = []
    async with open_services(settings, data, discover()) as services:
        await services.embedder.warm()
        texts = few_texts.TextsOfVaults()
        for vault_name in judged[name].vaults:
            async with services.pool.lease(services.registry_cache.entry(vault_name)) as vault:
                await vault.adopt_model()
                await texts.read(vault)
                for question in _questions(judged, name, vault_name):
                    rows += [await _ask(vault, name, question, mode) for mode in MODES]
        foreign = [(each.kind, each.text) for each in _foreign(judged, name, random.Random(11))]
        rows += await few_texts.ask_few(judged[name], texts, foreign, services.embedder)
    return rows


def _questions(judged: Mapping[str, JudgedSet], name: str, vault: str) -> Iterator[_Question]:
    chance = random.Random(7)
    for question in judged[name].questions:
        if question.vault == vault:
            yield _Question(OWN, question.text)
        elif chance.random() < CROSS:
            yield _Question("other conversation", question.text)
    for text in read_adversarial(judged[name], vault):
        yield _Question(OTHER_PERSON, text)
    yield from _foreign(judged, name, chance)


def _foreign(judged: Mapping[str, JudgedSet], name: str, chance: random.Random) -> Iterator[_Question]:
    for other, one in judged.items():
        if other != name:
            some = chance.sample(one.questions, min(FOREIGN, len(one.questions)))
            yield from (_Question("other set", question.text) for question in some)
    yield from (_Question("everyday", text) for text in EVERYDAY.read_text(encoding="utf-8").splitlines())


async def _ask(vault: Vault, name: str, question: _Question, mode: str) -> AskedVault:
    from vaults import clock
    from vaults.domain.retrieval.hybrid_search import SearchRequest, rank_and_pick
    from vaults.search.filters import SearchFilter

    only = SearchFilter(SUBJECT, clock.now(), kinds=("memory",))
    asked = SearchRequest(question.text, only, "keyword" if mode == "keyword" else "hybrid")
    found = await rank_and_pick(vault, asked, lambda _, ranking: ranking)
    hits = tuple(found.relevance.evidence[passage] for passage in found.relevance.scores)
    return AskedVault(name, question.kind, found.mode, 0, question.text, hits)


def print_table(rows: Sequence[AskedVault]) -> int:
    """A line for every set, mode and kind of question; 1 when a floor does not hold."""
    likely, missed = SearchSettings().likely, 0
    for mode in MODES:
        for few in sorted({min(row.few, 1) for row in rows if row.mode == mode}):
            some = [row for row in rows if row.mode == mode and min(row.few, 1) == few]
            for name in [*sorted({row.judged for row in some}), ""]:
                those = [row for row in some if name in ("", row.judged)]
                line, held = _judge(those, likely, TOLD_OF.get(name, LEAST_TOLD))
                missed |= not held and mode == "hybrid" and not few
                print(f"{mode:8} {'small' if few else 'whole'} {name or 'pooled':10} {line}")
    return missed


def _judge(rows: Sequence[AskedVault], likely: float, least_told: float) -> tuple[str, bool]:
    """What to say of some rows, and whether the floors hold."""
    yes = [first_score(row) for row in rows if row.answerable]
    no = [first_score(row) for row in rows if not row.answerable and row.kind != OTHER_PERSON]
    if not yes or not no:
        return "nothing to compare", True
    area, silenced = area_under_curve(yes, no), sum(each < likely for each in yes) / len(yes)
    told = sum(each < likely for each in no) / len(no)
    kinds = sorted({row.kind for row in rows} - {OWN})
    each_kind = ", ".join(f"{kind} {_share_told(rows, kind, likely):.2f}" for kind in kinds)
    held = area >= LEAST_AREA and silenced <= MOST_SILENCED and told >= least_told
    return f"AUROC {area:.3f}  silenced {silenced:.3f} of {len(yes)}  told {told:.3f} of {len(no)} ({each_kind})", held


def _share_told(rows: Sequence[AskedVault], kind: str, likely: float) -> float:
    some = [first_score(row) for row in rows if row.kind == kind]
    return sum(each < likely for each in some) / len(some)


def first_score(row: AskedVault) -> float:
    """The score of the first hit; 0 where nothing was found, which says enough."""
    weights = load_weights()
    calibration = weights.hybrid if row.mode != "keyword" else weights.keyword
    return lower_steadily([calibration.probability(hit) for hit in row.hits])[0] if row.hits else 0.0


if __name__ == "__main__":
    sys.exit(main())
