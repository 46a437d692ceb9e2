"""Judged sets by language: our questions over a manual, in the layout the other sets have."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.quality.manual import ManualSection, NoManualError, read_manual
from bench.quality.sets import JudgedTask

QUESTIONS = Path(__file__).with_name("questions") / "debian-reference.toml"


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question in every language, and the sections any of which answers it."""

    texts: Mapping[str, str]
    answers: tuple[str, ...]

    @property
    def id(self) -> str:
        """The section it was written for."""
        return self.answers[0].strip("_")


def read_questions(path: Path = QUESTIONS) -> list[AskedQuestion]:
    """All of them, in the order of the file."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["question"]
    return [
        AskedQuestion({name: text for name, text in row.items() if name != "answers"}, tuple(row["answers"]))
        for row in rows
    ]


def make_sets(data: Path, tasks: Sequence[JudgedTask]) -> Mapping[str, str]:
    """Write the sets of ``tasks`` into their folders under ``data``; why there are none, by language of the texts."""
    questions, missing = read_questions(), {}
    pairs = [(task, *task.languages) for task in tasks if task.languages is not None]
    for language in dict.fromkeys(told for *_, told in pairs):
        try:
            sections = read_manual(data / "packages", language)
            for folder, asked in [(task.folder, asked) for task, asked, told in pairs if told == language]:
                write_set(data / folder, questions, asked, sections)
        except NoManualError as why:
            missing[language] = str(why)
    return missing


def write_set(folder: Path, questions: Sequence[AskedQuestion], asked: str, sections: Sequence[ManualSection]) -> None:
    """The set of questions in the language ``asked`` over ``sections``. Raises ``NoManualError`` where one that answers
    is not among them."""
    known = {section.id for section in sections}
    if lost := [name for question in questions for name in question.answers if name not in known]:
        raise NoManualError(f"the manual has no section {', '.join(lost)}")
    folder.mkdir(parents=True, exist_ok=True)
    documents = [{"id": one.id, "title": one.title, "text": one.text, "group": "all"} for one in sections]
    rows = [{"id": one.id, "text": one.texts[asked], "group": "all", "category": asked} for one in questions]
    judged = [f"{question.id}\t{name}\t1" for question in questions for name in question.answers]
    _write_lines(folder / "corpus.jsonl", [json.dumps(row, ensure_ascii=False) for row in documents])
    _write_lines(folder / "queries.jsonl", [json.dumps(row, ensure_ascii=False) for row in rows])
    _write_lines(folder / "qrels.tsv", ["query-id\tcorpus-id\tscore", *judged])


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
