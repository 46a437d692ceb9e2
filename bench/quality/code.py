"""Whether code is found by what it does: docstrings as questions, to a code base they were taken out of.

``python -m bench.quality.code``. The code base is of libraries that are installed here. Of its functions, methods and
classes with a docstring, some are drawn by the digest of their place; their docstrings are taken out of the files, and
the first sentence of each is a question. It is answered by any piece of the definition. A docstring that says the name
is no question. Asked through the stages of ``search`` with ``kinds = ["code"]``, in this process; beside it, over the
same pieces, SQLite's own ranking, and counting words as ``grep -i`` would. Symbols drawn likewise are asked by name:
"where is X defined".
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import hashlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from bench import code, code_bases, data_folders
from bench.code_bases import SMALL, SourceFile
from bench.quality.baselines import rank_by_bm25, words_of
from bench.run import OUT

if TYPE_CHECKING:
    from vaults.db.sql import Reader
    from vaults.search.question import SearchMode, SearchRanking
    from vaults.vault import Vault

LINES, QUICK_LINES = 60_000, 12_000
QUESTIONS, DEFINITIONS = 250, 300
DEPTH, SHORTEST = 10, 5
FLOOR = 0.97
MODES: tuple[SearchMode, ...] = ("keyword", "semantic", "hybrid")


@dataclass(frozen=True, slots=True)
class DocstringQuestion:
    """A question, and the lines of the file that answer it, as they are without the docstring."""

    text: str
    path: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class CodePiece:
    """A piece of a file, as it is stored."""

    path: str
    first: int
    last: int
    text: str

    def answers(self, question: DocstringQuestion) -> bool:
        return self.path == question.path and self.first <= question.last and question.first <= self.last


def main(argv: Sequence[str] | None = None) -> int:
    """0; 1 where definitions are found less often than they have to be."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality.code", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small code base; no floor counts")
    parser.add_argument("--lines", type=int, default=LINES, metavar="N", help="lines of the code base")
    parser.add_argument("--out", type=Path, default=OUT / "quality", metavar="DIR", help="where code.json goes")
    given = parser.parse_args(argv)
    from server.settings import export_environment

    export_environment()
    files = code_bases.read_code_base(SMALL, QUICK_LINES if given.quick else given.lines, scripts=False)
    asked, stripped = draw_questions(files, QUESTIONS)
    found, top = asyncio.run(_ask(stripped, asked))
    lines = sum(each.lines for each in stripped)
    print(f"{lines:,} lines in {len(files)} files; {len(asked)} docstrings asked, taken out of the files")
    print(f"{'':24}{'R@1':>7}{'R@5':>7}{'R@10':>7}{'MRR':>7}")
    for name, places in found.items():
        figures = [sum(place is not None and place < depth for place in places) / len(places) for depth in (1, 5, 10)]
        mean = sum(1 / (place + 1) for place in places if place is not None) / len(places)
        print(f"{name:24}{''.join(f'{figure:7.3f}' for figure in figures)}{mean:7.3f}")
    print(f"where is X defined, first of the answer: {top:.3f} (floor {FLOOR})")
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "code.json").write_text(json.dumps({"lines": lines, "places": found, "top": top}), encoding="utf-8")
    return int(top < FLOOR and not given.quick)


def draw_questions(files: Sequence[SourceFile], most: int) -> tuple[list[DocstringQuestion], list[SourceFile]]:
    """Questions, and the files without their docstrings."""
    known = {each.path: each for each in files if each.path.endswith(".py")}
    drawn = sorted((each for file in known.values() for each in _list_documented(file)), key=lambda each: each.digest)
    chosen: dict[str, list[_Documented]] = {}
    for each in drawn[:most]:
        chosen.setdefault(each.path, []).append(each)
    asked = list[DocstringQuestion]()
    stripped = {each.path: each for each in files}
    for path, several in chosen.items():
        data, questions = _strip(known[path], several)
        stripped[path] = SourceFile(path, data)
        asked += questions
    return sorted(asked, key=lambda each: (each.path, each.first)), list(stripped.values())


@dataclass(frozen=True, slots=True)
class _Documented:
    """A definition with a docstring: lines from 1, of all of it and of the docstring."""

    path: str
    name: str
    text: str
    first: int
    last: int
    doc_first: int
    doc_last: int

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(f"{self.path}:{self.name}:{self.first}".encode()).digest()


def _list_documented(file: SourceFile) -> list[_Documented]:
    try:
        tree = ast.parse(file.data)
    except (SyntaxError, ValueError, RecursionError):
        return []
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or len(node.body) < 2:
            continue
        text, doc = ast.get_docstring(node), node.body[0]
        sentence = _first_sentence(text or "")
        if len(sentence.split()) >= SHORTEST and not _says_name(sentence, node.name) and "/test" not in file.path:
            last, doc_last = node.end_lineno or node.lineno, doc.end_lineno or doc.lineno
            found.append(_Documented(file.path, node.name, sentence, node.lineno, last, doc.lineno, doc_last))
    return found


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s", paragraph)[0].rstrip(".")[:300]


def _says_name(sentence: str, name: str) -> bool:
    plain = re.sub(r"\W|_", "", sentence.lower())
    return name.lower().replace("_", "") in plain or name.startswith("__")


def _strip(file: SourceFile, several: Sequence[_Documented]) -> tuple[bytes, list[DocstringQuestion]]:
    """The file without these docstrings. Lines of one that stands in another count as gone once."""
    lines = file.data.split(b"\n")
    gone = {line for each in several for line in range(each.doc_first, each.doc_last + 1)}
    kept = [line for number, line in enumerate(lines, 1) if number not in gone]
    moved = [0] * (len(lines) + 2)
    for number in range(1, len(lines) + 2):
        moved[number] = moved[number - 1] + (number not in gone)
    questions = [DocstringQuestion(each.text, each.path, moved[each.first], moved[each.last]) for each in several]
    return b"\n".join(kept), questions


async def _ask(
    files: Sequence[SourceFile], asked: Sequence[DocstringQuestion]
) -> tuple[dict[str, list[int | None]], float]:
    """The place of the first answer for each question, by system; and the share of definitions found by name."""
    from server import vault_admin
    from server.services import open_services
    from server.tools import discover

    with TemporaryDirectory(prefix="strongroom-code-") as folder:
        loaded = data_folders.default_settings(Path(folder), **{"storage.reserve_mb": 0})
        async with open_services(loaded.settings, Path(folder), discover()) as services:
            await vault_admin.create(services, "main")
            async with services.pool.lease(services.registry_cache.entry("main")) as vault:
                await services.embedder.warm()
                await vault.adopt_model()
                await code.store_code_base(vault, files)
                vault.start_background_work()
                await vault.background.wait()
                pieces = await vault.db.read(_read_pieces)
                found = _rank_baselines(list(pieces.values()), asked)
                for mode in MODES:
                    found[f"search, {mode}"] = [await _search(vault, pieces, each, mode) for each in asked]
                right, times = await code.ask_definitions(vault, DEFINITIONS)
                return found, right / len(times)


def _read_pieces(tx: Reader) -> dict[int, CodePiece]:
    rows = tx.all(
        "SELECT q.seq, d.uri, q.locator, q.text FROM document_parts q JOIN documents d ON d.seq = q.document"
        " WHERE d.kind = 'code' ORDER BY q.seq"
    )
    pieces = {}
    for seq, path, locator, text in rows:
        numbers = [int(each) for each in re.findall(r"[0-9]+", locator)]
        pieces[int(seq)] = CodePiece(path, numbers[0], numbers[-1], text)
    return pieces


def _rank_baselines(pieces: Sequence[CodePiece], asked: Sequence[DocstringQuestion]) -> dict[str, list[int | None]]:
    lowered = [piece.text.lower() for piece in pieces]
    scanned = list[int | None]()
    for question in asked:
        words = words_of(question.text)
        counts = [sum(word in text for word in words) for text in lowered]
        best = sorted(range(len(pieces)), key=lambda number: -counts[number])[:DEPTH]
        scanned.append(_first([pieces[number] for number in best], question))
    texts, questions = [("", piece.text) for piece in pieces], [("", each.text) for each in asked]
    ranked = [
        _first([pieces[number] for number in found[:DEPTH]], question)
        for found, question in zip(rank_by_bm25(texts, questions), asked, strict=True)
    ]
    return {"words, as grep counts": scanned, "plain BM25": ranked}


def _first(found: Sequence[CodePiece], question: DocstringQuestion) -> int | None:
    return next((place for place, piece in enumerate(found) if piece.answers(question)), None)


async def _search(
    vault: Vault, pieces: Mapping[int, CodePiece], question: DocstringQuestion, mode: SearchMode
) -> int | None:
    from vaults import clock
    from vaults.search.filters import SearchFilter
    from vaults.search.pipeline import search
    from vaults.search.question import SearchQuestion
    from vaults.search.stage_timings import StageTimings

    def pick(tx: Reader, ranking: SearchRanking) -> list[int]:  # noqa: ARG001  what the pipeline calls
        return [ranking.facts[passage].item[1] for passage, _ in ranking.items[:DEPTH]]

    engines = replace(vault.engines)
    only = SearchFilter("bench", clock.now(), kinds=("code",))
    hits: Any = await search(
        engines, SearchQuestion(question.text, mode, only, DEPTH), pick, StageTimings(engines.observer)
    )
    return _first([pieces[seq] for seq in hits], question)


if __name__ == "__main__":
    sys.exit(main())
