"""How good suggested links are: in a vault people linked by hand, a third of the notes is asked without its links.

``python -m bench.quality.linking``. The vault is ``silverbullet-docs``: 225 notes, every link of them in ``links.tsv``.
A note is asked when the SHA-256 of its path, as a number, is divisible by three; the others are there with their links.
The asked ones lie in the vault too, under their names, as their writers might have typed them without linking: of
``[[X|words]]`` the words are left, of ``[[folder/X#heading]]`` what a reader sees of it, ``X``, in frontmatter also.
What is suggested for one (by the code that ``suggest`` runs, on a real index, with the model) is compared with the
notes that it links, each once and itself left out. Links that stand in its frontmatter alone are asked for as well,
although no link is ever suggested there.

A writer types "Page" where a link says ``[[Page]]``, but may type "page" as well where a plain word does: the row
"names in lower case" asks with every name of one word, that was a link without words of its own, in lower case. It is
the worst that can be.

The numbers of the layers were chosen on ``--development``: there the same is done within the notes that are not asked,
by another digest; the asked ones lie there without their links too.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.quality.table import WIDTH
from bench.run import OUT, ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from vaults.graph.suggestions.link_candidates import LinkCandidate
    from vaults.graph.suggestions.scoring_layers import Strictness
    from vaults.vault import Vault

PLACES = (ROOT.parent / "shared" / "vaults", ROOT / "shared" / "vaults")
NAME = "silverbullet-docs"
MODES: tuple[Strictness, ...] = ("conservative", "balanced", "aggressive")
FLOORS: Mapping[Strictness, tuple[float, float]] = {"conservative": (0.65, 0.0), "balanced": (0.55, 0.70)}
"""Precision and recall that a mode has to reach."""

MOST = 200
"""Suggestions a note may get."""

LONG_AGO = 1_600_000_000


@dataclass(frozen=True, slots=True)
class LinkingTask:
    """What is asked. ``notes``: by path, as they lie in the vault; ``gold``: the notes each asked one links."""

    notes: Mapping[str, str]
    gold: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class LinkingFigures:
    """Micro-averaged over distinct pairs of notes."""

    found: int
    right: int
    wanted: int

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.wanted if self.wanted else 0.0

    @property
    def f1(self) -> float:
        both = self.found + self.wanted
        return 2 * self.right / both if both else 0.0


def is_held_out(path: str, salt: str = "") -> bool:
    """The rule of the split."""
    return int(hashlib.sha256(f"{salt}{path}".encode()).hexdigest(), 16) % 3 == 0


def read_task(folder: Path, *, development: bool = False, lowered: bool = False) -> LinkingTask:
    """The vault with the links of the asked notes taken out."""
    notes = {
        path.relative_to(folder / "notes").as_posix(): path.read_text(encoding="utf-8")
        for path in sorted((folder / "notes").rglob("*.md"))
    }
    hidden = {path for path in notes if is_held_out(path)}
    questions = {path for path in notes if path not in hidden and is_held_out(path, "dev ")} if development else hidden
    gold: dict[str, set[str]] = {path: set() for path in sorted(questions)}
    with (folder / "links.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["source"] in gold and row["target"] not in ("", row["source"]):
                gold[row["source"]].add(row["target"])
    texts = {
        path: strip_links(text, lowered=lowered) if path in hidden | questions else text for path, text in notes.items()
    }
    return LinkingTask(texts, {path: frozenset(targets) for path, targets in gold.items()})


def strip_links(text: str, *, lowered: bool = False) -> str:
    """A note as it might have been typed without links."""
    from vaults.markdown.parser import parse

    parts, at = [], 0
    for link in parse(text).links:
        if link.kind != "markdown":
            parts += [text[at : link.start], _plain(link, lowered=lowered)]
            at = link.end
    return "".join([*parts, text[at:]])


def _plain(link: Any, *, lowered: bool) -> str:
    if link.alias:
        return str(link.alias)
    name = str(link.target.rpartition("/")[2] or link.heading or link.block)
    return name.lower() if lowered and name.isalpha() else name


@asynccontextmanager
async def open_vault(task: LinkingTask, data: Path) -> AsyncIterator[Vault]:
    """The vault, indexed, every vector and score made."""
    from bench import data_folders
    from server import vault_admin
    from server.services import open_services
    from server.tools import discover
    from vaults.domain.graph import graph_jobs
    from vaults.domain.graph.links import entity_vector_job
    from vaults.graph import entity_vectors

    loaded = data_folders.default_settings(data)
    async with open_services(loaded.settings, data, discover()) as services:
        await vault_admin.create(services, "main")
        folder = data / "vaults" / "main" / "notes"
        folder.mkdir(exist_ok=True)
        for path, text in task.notes.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8", newline="")
            os.utime(folder / path, (LONG_AGO, LONG_AGO))  # none of them is the newest
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await _wait_until_indexed(vault, len(task.notes))
            await services.embedder.warm()
            await vault.adopt_model()
            while await vault.db.read(entity_vectors.is_due):
                await entity_vector_job.backfill_entity_vectors(vault)
            await graph_jobs.update_centrality(vault)
            yield vault


async def _wait_until_indexed(vault: Vault, count: int) -> None:
    until = asyncio.get_running_loop().time() + 300
    while True:
        held = await vault.db.read(lambda tx: tx.one("SELECT COUNT(*), MIN(complete) FROM notes"))
        if held is not None and tuple(held) == (count, 1) and vault.notes.now.phase == "ready":
            return
        if asyncio.get_running_loop().time() > until:
            raise RuntimeError(f"not indexed: {held}")
        await asyncio.sleep(0.1)


@dataclass(frozen=True, slots=True)
class LinkCandidates:
    """What the real code knows of each asked note, before it is said how sure a suggestion must be."""

    task: LinkingTask
    candidates: Mapping[str, list[LinkCandidate]]

    def figures(self, mode: Strictness, without: Collection[str] = (), related: int = 0) -> LinkingFigures:
        """How many suggestions are links in truth, and how many of the links were suggested."""
        from vaults.domain.graph.links.link_suggestions import SuggestionOptions, choose_suggestions

        ask = SuggestionOptions(mode, MOST, related, frozenset(without))
        pairs = {
            (path, each.path)
            for path, several in self.candidates.items()
            for each in choose_suggestions(several, self.task.notes[path], ask, mode)[0]
        }
        gold = {(path, target) for path, targets in self.task.gold.items() for target in targets}
        return LinkingFigures(len(pairs), len(pairs & gold), len(gold))


async def collect_candidates(task: LinkingTask) -> LinkCandidates:
    """Lay the vault out, index it, and ask."""
    from vaults.domain.graph.links import link_suggestions

    with tempfile.TemporaryDirectory(prefix="strongroom-bench-linking-", ignore_cleanup_errors=True) as made:
        async with open_vault(task, Path(made)) as vault:
            found = {path: await link_suggestions.weigh_candidates(vault, task.notes[path], path) for path in task.gold}
    if any(each.warnings for each in found.values()):
        raise RuntimeError(
            f"asked without the model: {next(each.warnings for each in found.values() if each.warnings)}"
        )
    return LinkCandidates(task, {path: each.candidates for path, each in found.items()})


def table(plain: LinkCandidates, lowered: LinkCandidates) -> Iterator[str]:
    """A row for each way of asking, precision, recall and F1 of each mode in it."""
    from vaults.domain.graph.links.link_suggestions import MAX_RELATED
    from vaults.graph.suggestions.scoring_layers import LAYERS

    wanted = sum(map(len, plain.task.gold.values()))
    yield f"Suggested links, {NAME}: {len(plain.task.gold)} of {len(plain.task.notes)} notes asked, {wanted} links"
    yield f"{'':30}" + "".join(f"{mode:>23}" for mode in MODES)
    yield _row("", [name for mode in MODES for name in ("P", "R", "F1")])
    yield "─" * WIDTH
    yield _row("all layers", _cells(plain))
    yield _row("with notes that are not named", _cells(plain, related=MAX_RELATED))
    yield _row("names in lower case", _cells(lowered))
    for layer in LAYERS:
        yield _row(f"without {layer}", _cells(plain, {layer}))
    yield _row(
        "at least", [f"{value:.2f}" if value else "" for mode in MODES for value in (*FLOORS.get(mode, (0, 0)), 0)]
    )


def _cells(looked_at: LinkCandidates, without: Collection[str] = (), related: int = 0) -> list[str]:
    several = [looked_at.figures(mode, without, related) for mode in MODES]
    return [f"{value:.3f}" for each in several for value in (each.precision, each.recall, each.f1)]


def _row(name: str, cells: Sequence[str]) -> str:
    return (
        f"{name:30}" + "".join(f"{cell:>9}" if at % 3 == 0 else f"{cell:>7}" for at, cell in enumerate(cells))
    ).rstrip()


def missed_floors(plain: LinkCandidates) -> list[str]:
    """The modes that do not reach what they have to."""
    found = {mode: plain.figures(mode) for mode in FLOORS}
    return [
        mode for mode, (precision, recall) in FLOORS.items()
        if found[mode].precision < precision or found[mode].recall < recall
    ]  # fmt: skip


def figures_of(plain: LinkCandidates) -> dict[str, Any]:
    """For programs."""
    several = {mode: plain.figures(mode) for mode in MODES}
    return {mode: {"precision": each.precision, "recall": each.recall, "f1": each.f1} for mode, each in several.items()}


def measure(folder: Path, out: Path, *, development: bool = False) -> tuple[list[str], list[str]]:
    """The lines of the table, and what was missed."""
    plain = asyncio.run(collect_candidates(read_task(folder, development=development)))
    lowered = asyncio.run(collect_candidates(read_task(folder, development=development, lowered=True)))
    out.mkdir(parents=True, exist_ok=True)
    path = out / ("linking.development.json" if development else "linking.json")
    path.write_text(json.dumps(figures_of(plain), indent=1) + "\n", encoding="utf-8")
    lost = missed_floors(plain)
    lines = [*table(plain, lowered), f"missed: {', '.join(lost)}" if lost else "all met"]
    return lines, [] if development else lost


def vault_folder() -> Path | None:
    """Where the vault lies; None where it is not here."""
    return next((place / NAME for place in PLACES if (place / NAME / "links.tsv").is_file()), None)


def main(argv: Sequence[str] | None = None) -> int:
    """0 when every floor holds, or where there is nothing to measure with; 1 when one does not."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality.linking", description=__doc__)
    parser.add_argument("--development", action="store_true", help="ask notes the numbers were chosen on")
    parser.add_argument("--out", type=Path, default=OUT / "quality", metavar="DIR", help="where everything goes")
    given = parser.parse_args(argv)
    folder = vault_folder()
    if folder is None:
        print(f"skipped: suggested links: no {NAME} in {PLACES[0]}")
        return 0
    from server.settings import export_environment

    export_environment()
    lines, lost = measure(folder, given.out, development=given.development)
    print("\n".join(lines))
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
