"""``python -m bench.quality.notes``: whether links and names help to find a note from a sentence that speaks of it.

A third of the notes at a time is held out of the vault. Its lines with links are the questions, once as people read
them and once without the words that were linked; the notes they link to are the answers. So the links a search may
follow are never those it is asked about. Asked in this process, with one setting changed at a time.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import hashlib
import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import data_folders
from bench.run import ROOT
from server import vault_admin
from server.services import open_services
from server.settings import export_environment
from server.tools import discover
from vaults import clock
from vaults.db.sql import Reader
from vaults.search.filters import SearchFilter
from vaults.search.pipeline import search
from vaults.search.question import SearchQuestion, SearchRanking
from vaults.search.stage_timings import StageTimings
from vaults.vault import Vault

VAULT = "shared/vaults/silverbullet-docs"
PLACES = (ROOT.parent / VAULT, ROOT / VAULT)
FOLDS, DEPTH, SHORTEST, LONGEST = 3, 20, 4, 2_000
"""Parts the notes are held out in; hits looked at; words of a question at least, and characters at most."""

PATIENCE_S = 600.0

CHANGES: Mapping[str, Mapping[str, float]] = {
    "default": {},
    "links not followed": {"links": 0.0},
    "names not lifted": {"entity": 0.0},
    "neither": {"links": 0.0, "entity": 0.0},
}
_LINK = re.compile(r"!?\[\[([^\]|#]*)(?:#[^\]|]*)?(?:\|([^\]]*))?\]\]")
_MARKUP = re.compile(r"[*_`#>|]|\[[ x]\]|\]\([^)]*\)|\[")


@dataclass(frozen=True, slots=True)
class LinkQuestion:
    """A question and the paths of the notes that answer it. ``how``: named, or context, where the name is left out."""

    how: str
    text: str
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """Which of the first hits answered, best first, of how many that would have."""

    how: str
    right: tuple[bool, ...]
    relevant: int

    def recall(self, depth: int) -> float:
        return sum(self.right[:depth]) / self.relevant

    @property
    def reciprocal(self) -> float:
        return next((1 / place for place, right in enumerate(self.right, 1) if right), 0.0)


def main(argv: Sequence[str] | None = None) -> int:
    """0, also where there is nothing to measure with."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality.notes", description=__doc__)
    parser.add_argument("--data", type=Path, metavar="DIR", help="a folder with notes/ and links.tsv")
    given = parser.parse_args(argv)
    data = given.data or next((place for place in PLACES if place.is_dir()), PLACES[0])
    if not data.is_dir():
        print(f"skipped: no {data}")
        return 0
    export_environment()
    found: dict[str, list[QuestionResult]] = defaultdict(list)
    for fold in range(FOLDS):
        for name, several in asyncio.run(_measure_fold(data, fold)).items():
            found[name] += several
    print(_table(found))
    return 0


async def _measure_fold(data: Path, fold: int) -> dict[str, list[QuestionResult]]:
    with TemporaryDirectory(prefix="strongroom-notes-") as folder:
        number = 0
        for path in sorted((data / "notes").rglob("*.md")):
            name = path.relative_to(data / "notes").as_posix()
            if fold_of(name) != fold:
                target = Path(folder) / "vaults" / "main" / "notes" / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
                number += 1
        loaded = data_folders.default_settings(Path(folder), **{"storage.reserve_mb": 0})
        async with open_services(loaded.settings, Path(folder), discover()) as services:
            await vault_admin.create(services, "main")
            async with services.pool.lease(services.registry_cache.entry("main")) as vault:
                await services.embedder.warm()
                await vault.adopt_model()
                await _wait_until_indexed(vault, number)
                asked = list(questions(data, fold))
                return {name: await _ask_questions(vault, asked, change) for name, change in CHANGES.items()}


async def _wait_until_indexed(vault: Vault, number: int) -> None:
    """Wait until every note has its rows and vectors."""

    def ready(tx: Reader) -> bool:
        owed = tx.one("SELECT 1 FROM embedding_queue LIMIT 1") is not None
        return int(tx.value("SELECT COUNT(*) FROM notes") or 0) == number and not owed

    async with asyncio.timeout(PATIENCE_S):
        while True:
            if await vault.db.read(ready):
                return
            await asyncio.sleep(0.2)


async def _ask_questions(
    vault: Vault, asked: Sequence[LinkQuestion], change: Mapping[str, Any]
) -> list[QuestionResult]:
    engines = replace(vault.engines, settings=vault.engines.settings.model_copy(update=dict(change)))
    paths = await vault.db.read(lambda tx: {int(row[0]): row[1] for row in tx.all("SELECT seq, path FROM notes")})
    found = []

    def pick(tx: Reader, ranking: SearchRanking) -> list[str]:  # noqa: ARG001  what the pipeline calls
        return [paths[ranking.facts[passage].item[1]] for passage, _ in ranking.items[:DEPTH]]

    for each in asked:
        question = SearchQuestion(each.text, "hybrid", SearchFilter("bench", clock.now(), kinds=("note",)), DEPTH)
        hits = await search(engines, question, pick, StageTimings(engines.observer))
        found.append(QuestionResult(each.how, tuple(hit in each.relevant for hit in hits), len(each.relevant)))
    return found


def questions(data: Path, fold: int) -> Iterator[LinkQuestion]:
    """The lines with links of the notes that are held out, as far as what they link to is not."""
    wanted: dict[tuple[str, int], set[str]] = defaultdict(set)
    with (data / "links.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["target"] and fold_of(row["source"]) == fold and fold_of(row["target"]) != fold:
                wanted[row["source"], int(row["line"])].add(row["target"])
    for (source, number), relevant in sorted(wanted.items()):
        line = (data / "notes" / source).read_text(encoding="utf-8").split("\n")[number - 1]
        named = _LINK.sub(lambda link: link[2] or link[1].rpartition("/")[2], line)
        for how, text in (("named", named), ("context", _LINK.sub(" ", line))):
            words = _MARKUP.sub(" ", text).split()
            if len(words) >= SHORTEST:
                yield LinkQuestion(how, " ".join(words)[:LONGEST], frozenset(relevant))


def fold_of(path: str) -> int:
    """The part a note is held out in."""
    return int(hashlib.sha256(path.encode()).hexdigest(), 16) % FOLDS


def _table(found: Mapping[str, Sequence[QuestionResult]]) -> str:
    lines = []
    for how, title in (("named", "sentences as written"), ("context", "the linked words left out")):
        count = sum(each.how == how for each in found["default"])
        lines += [f"{title}: {count} questions", f"{'':24}{'R@1':>7}{'R@5':>7}{'R@10':>7}{'All@10':>8}{'MRR':>7}"]
        for name, several in found.items():
            some = [each for each in several if each.how == how]
            figures = [sum(each.recall(depth) for each in some) / count for depth in (1, 5, 10)]
            whole = sum(each.recall(10) == 1 for each in some) / count
            mean = sum(each.reciprocal for each in some) / count
            lines.append(f"{name:24}{''.join(f'{figure:7.3f}' for figure in figures)}{whole:8.3f}{mean:7.3f}")
        lines.append("")
    return "\n".join(lines).rstrip()


if __name__ == "__main__":
    sys.exit(main())
