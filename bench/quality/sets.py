"""The judged sets: how each is stored and asked, and the figures it has to reach."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

LEFT_OUT = "adversarial"
"""Questions whose premise is about the wrong person: no headline figure counts them."""

QUICK_QUESTIONS, QUICK_DOCUMENTS = 30, 400


FileKind = Literal["text", "html", "pdf"]
"""What a text may be a file of."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A measure that must not fall below ``floor``; ``aim`` is what one would like. ``within``: how far below the task
    beside it the measure may fall."""

    measure: str
    floor: float
    aim: float | None = None
    within: float | None = None


@dataclass(frozen=True, slots=True)
class JudgedTask:
    """One block of the table. Tasks of the same ``store`` share its vaults. ``by_parent``: sessions are looked for,
    and found by their turns. ``as_transcripts``: whole sessions are stored and searched as transcripts, of people by
    their names, or harvested as if one of them were an agent. ``as_pages``: texts are sections of longer ones.
    ``as_files``: each is a file of its own, which is read in; ``beside``: the task of the same texts that it is held
    against. ``languages``: of the questions and of the texts, where the set is made of a manual."""

    name: str
    title: str
    store: str
    folder: str
    goals: tuple[Goal, ...]
    qrels: str = "qrels.tsv"
    by_parent: bool = False
    as_transcripts: Literal["people", "agent"] | None = None
    as_pages: Literal["documents", "notes"] | None = None
    as_files: FileKind | None = None
    beside: str | None = None
    languages: tuple[str, str] | None = None


NEAR = 0.01
"""How far below the same texts as plain files pages and PDFs may be, by nDCG@10."""


def _as_files(of: JudgedTask, ndcg: float, recall: float) -> Iterator[JudgedTask]:
    """A task's texts as files of each kind, with floors of nDCG@10 and R@10 for plain text."""
    for kind in get_args(FileKind):
        less = 0.0 if kind == "text" else NEAR
        yield replace(
            of,
            name=f"{of.name}-{kind}",
            title=f"{of.title.partition(',')[0]}, {_KINDS[kind]}",
            store=f"{of.name}-{kind}",
            goals=(Goal("nDCG@10", ndcg - less, within=less or None), Goal("R@10", recall - less)),
            as_files=kind,
            beside=f"{of.name}-text" if less else None,
        )


_KINDS: Mapping[FileKind, str] = {"text": "plain text files", "html": "HTML pages", "pdf": "PDF files"}

_MEMORIES = (
    JudgedTask(
        name="locomo",
        title="LoCoMo turns, in their conversation",
        store="locomo",
        folder="locomo",
        goals=(
            Goal("R@5", 0.77),
            Goal("R@10", 0.84, 0.845),
            Goal("R@20", 0.88),
            Goal("nDCG@10", 0.69),
            Goal("MRR", 0.67),
        ),
    ),
    JudgedTask(
        name="sessions",
        title="LoCoMo sessions, rolled up",
        store="locomo",
        folder="locomo",
        goals=(Goal("R@5", 0.91), Goal("Any@10", 0.98, 0.99), Goal("MRR", 0.85)),
        qrels="qrels.sessions.tsv",
        by_parent=True,
    ),
    JudgedTask(
        name="transcripts",
        title="LoCoMo turns, stored as transcripts",
        store="transcripts",
        folder="locomo",
        goals=(Goal("R@5", 0.77), Goal("R@10", 0.84), Goal("MRR", 0.67)),
        as_transcripts="people",
    ),
    JudgedTask(
        name="harvested",
        title="LoCoMo turns, harvested as a person's talks with an agent",
        store="harvested",
        folder="locomo",
        goals=(Goal("R@5", 0.72), Goal("R@10", 0.81), Goal("MRR", 0.60)),
        as_transcripts="agent",
    ),
    JudgedTask(
        name="pooled",
        title="LoCoMo sessions, all pooled in one vault",
        store="pooled",
        folder="locomo",
        goals=(Goal("R@5", 0.89, 0.91), Goal("MRR", 0.83)),
        qrels="qrels.sessions.tsv",
        by_parent=True,
    ),
    JudgedTask(
        name="hotpotqa",
        title="HotpotQA, one query",
        store="hotpotqa",
        folder="hotpotqa",
        goals=(Goal("R@10", 0.98), Goal("All@10", 0.96, 0.97)),
    ),
    JudgedTask(
        name="scifact",
        title="SciFact",
        store="scifact",
        folder="scifact",
        goals=(Goal("nDCG@10", 0.73, 0.755), Goal("R@10", 0.84)),
    ),
)
LANGUAGES: Mapping[str, tuple[str, tuple[Goal, ...]]] = {
    "en": ("English", (Goal("R@10", 0.84), Goal("nDCG@10", 0.63))),
    "de": ("German", (Goal("R@10", 0.59), Goal("nDCG@10", 0.44))),
    "fr": ("French", (Goal("R@10", 0.71), Goal("nDCG@10", 0.52))),
    "ja": ("Japanese", (Goal("R@10", 0.50), Goal("nDCG@10", 0.38))),
    "zh": ("Chinese", (Goal("R@10", 0.65), Goal("nDCG@10", 0.48))),
}
"""What the manual is read in, and the floors of questions in the same language."""


def _by_language() -> Iterator[JudgedTask]:
    """Each language by itself; then, without floors, English questions over the others and theirs over English."""
    pairs = [(one, one) for one in LANGUAGES]
    pairs += [pair for one in LANGUAGES if one != "en" for pair in (("en", one), (one, "en"))]
    for asked, told in pairs:
        name, (spoken, goals) = "-".join(dict.fromkeys((asked, told))), LANGUAGES[told]
        yield JudgedTask(
            name=f"manual-{name}",
            title=f"Manual in {spoken}" + (f", asked in {LANGUAGES[asked][0]}" if asked != told else ""),
            store=f"manual-{told}",
            folder=name,
            goals=goals if asked == told else (),
            languages=(asked, told),
        )


_NAMED = {task.name: task for task in _MEMORIES}
TASKS = (
    *_MEMORIES,
    *_by_language(),
    *_as_files(_NAMED["hotpotqa"], 0.85, 0.93),
    *_as_files(_NAMED["scifact"], 0.72, 0.83),
)
BY_NAME = {task.name: task for task in TASKS}
IN_GROUPS = {"locomo", "transcripts", "harvested"}
"""Stores that keep each group of documents in a vault of its own; the others keep everything in one."""


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """Something to find. ``arguments`` is what ``remember`` is given; ``text`` is what a plain scan would read."""

    id: str
    vault: str
    text: str
    arguments: Mapping[str, Any]
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """Something to look for; ``relevant`` are the documents, or parents, that answer it."""

    id: str
    vault: str
    text: str
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """A task with its documents and the questions that count."""

    task: JudgedTask
    folder: Path
    documents: tuple[JudgedDocument, ...]
    questions: tuple[JudgedQuestion, ...]
    shortened: bool = False

    @property
    def vaults(self) -> tuple[str, ...]:
        """The vaults the documents lie in."""
        return tuple(dict.fromkeys(document.vault for document in self.documents))

    @property
    def digest(self) -> str:
        """What is stored, in 16 hex digits."""
        whole = hashlib.sha256()
        for document in self.documents:
            whole.update(json.dumps([document.vault, document.arguments], sort_keys=True).encode())
        return whole.hexdigest()[:16]


def add_beside(tasks: Sequence[JudgedTask]) -> list[JudgedTask]:
    """The tasks, each after the one it is held against."""
    return list(dict.fromkeys(one for task in tasks for one in (BY_NAME.get(task.beside or ""), task) if one))


def is_present(data: Path, task: JudgedTask) -> bool:
    """Whether the task's files are there."""
    return all((data / task.folder / name).is_file() for name in ("corpus.jsonl", "queries.jsonl", task.qrels))


def read_set(data: Path, task: JudgedTask, *, quick: bool = False) -> JudgedSet:
    """The whole task, or so little of it that a run only shows whether everything works."""
    folder = data / task.folder
    documents = tuple(_document(task, row) for row in _lines(folder / "corpus.jsonl"))
    whole = JudgedSet(task, folder, documents, tuple(_questions(folder, task)))
    return _shorten(whole) if quick else whole


def _document(task: JudgedTask, row: Mapping[str, Any]) -> JudgedDocument:
    vault = _vault(task, row)
    if "session" not in row:
        arguments = {"content": row["text"], "title": row["title"], "external_id": row["id"]}
        return JudgedDocument(row["id"], vault, f"{row['title']}\n{row['text']}", arguments)
    arguments = {  # without the corpus's title: it is the session's, and a turn has none
        "content": row["text"],
        "type": "episodic",
        "author": row["speaker"],
        "parent": row["session"],
        "position": row["turn"],
        "occurred_at": f"{row['timestamp']}Z",
        "external_id": row["id"],
    }
    return JudgedDocument(row["id"], vault, row["text"], arguments, row["session"])


def _vault(task: JudgedTask, row: Mapping[str, Any]) -> str:
    return str(row["group"]).lower() if task.store in IN_GROUPS else task.store


def _questions(folder: Path, task: JudgedTask) -> Iterator[JudgedQuestion]:
    relevant = read_judgements(folder / task.qrels)
    for row in _lines(folder / "queries.jsonl"):
        if row["category"] != LEFT_OUT and row["id"] in relevant:
            yield JudgedQuestion(row["id"], _vault(task, row), row["text"], frozenset(relevant[row["id"]]))


def read_judgements(path: Path) -> Mapping[str, set[str]]:
    """The relevant ids of each question."""
    relevant: dict[str, set[str]] = defaultdict(set)
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant[query].add(document)
    return dict(relevant)


def _shorten(whole: JudgedSet) -> JudgedSet:
    """The first questions of the first vault, its first documents, and those that answer."""
    first = whole.questions[0].vault
    asked = [question for question in whole.questions if question.vault == first][:QUICK_QUESTIONS]
    wanted = frozenset().union(*(question.relevant for question in asked))
    kept = [
        document
        for number, document in enumerate(one for one in whole.documents if one.vault == first)
        if number < QUICK_DOCUMENTS or document.id in wanted or document.parent in wanted
    ]
    return replace(whole, documents=tuple(kept), questions=tuple(asked), shortened=True)


def _lines(path: Path) -> tuple[Mapping[str, Any], ...]:
    return _parse_lines(path, path.stat().st_mtime_ns)


@cache
def _parse_lines(path: Path, changed: int) -> tuple[Mapping[str, Any], ...]:  # noqa: ARG001  a newer file is another one
    with path.open(encoding="utf-8") as file:
        return tuple(json.loads(line) for line in file)
