"""Sets the status of one task of a note, found by its line or its words. Pure, linear.

Only the character between the brackets changes. ``find_tasks`` decides what a task is: an edit finds exactly the tasks
that a list of the note's tasks shows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vaults.errors import Conflict, InvalidArgument, NotFound
from vaults.markdown.fuzzy import find_nearest
from vaults.markdown.scan import scan
from vaults.markdown.tasks import Task, find_tasks

STATUSES = {"open": " ", "done": "x", "cancelled": "-", "in_progress": "/"}
"""Names of statuses; the character itself is accepted as well."""

MAX_LISTED = 5
"""Tasks that an error names."""

_MARKUP = re.compile(r"\A[ \t>]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\[.\](?=\s|$)")


_BOX = re.compile(r"(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?\[.\](?=\s|$)")


def split_box(words: str) -> tuple[str, str]:
    """The words of a task without the box they were copied with, and that box, '' for none."""
    found = _BOX.match(words)
    return (words[found.end() :].strip(), found[0]) if found else (words, "")


def set_task_status(
    text: str, line: int | None = None, match: str | None = None, status: str | None = None
) -> tuple[str, int]:
    """The text with one task's status changed, and the task's line (from 1).

    The task is found by ``line``, by ``match`` (its whole text, else a part that no other task has; case and blanks do
    not matter), or by both, which must then agree. ``status`` is a character or a name of ``STATUSES``; without it a
    done task is opened and any other is done. Raises ``InvalidArgument``, ``NotFound`` with the closest tasks, and
    ``Conflict`` if several tasks fit or the line now holds another.
    """
    if line is None and not (match and match.strip()):
        raise InvalidArgument("line", "or text must be given: which task is meant")
    wanted = None if status is None else _parse_status(status)
    found = list(find_tasks(scan(text), text, ()))
    task = _find_by_words(found, match or "") if line is None else _find_by_line(found, line, match)
    new = wanted if wanted is not None else (" " if task.done else "x")
    if new == "x" and task.done:
        new = task.status  # [X] is done already
    at = text.index("[", task.start) + 1
    return f"{text[:at]}{new}{text[at + 1 :]}", task.line


def _parse_status(status: str) -> str:
    character = STATUSES.get(status.lower(), status)
    if len(character) != 1 or not character.isprintable() or character in "[]":
        raise InvalidArgument("status", f"must be one character, or one of {', '.join(STATUSES)}")
    return character


def _find_by_line(tasks: Sequence[Task], line: int, match: str | None) -> Task:
    task = next((task for task in tasks if task.line == line), None)
    if task is None:
        near = sorted(tasks, key=lambda task: abs(task.line - line))[:MAX_LISTED]
        raise NotFound(f"Line {line} holds no task.", hint=_hint(near), closest=_to_details(near))
    if match and match.strip() and _normalize(match) not in _normalize(task.text):
        now = [other for other in tasks if _normalize(match) in _normalize(other.text)][:MAX_LISTED]
        raise Conflict(
            f"The task in line {line} is another now: {_shorten(task.text)}.",
            hint=_hint(now) if now else "Read the tasks again.",
            task={"line": task.line, "text": _shorten(task.text)},
            closest=_to_details(now),
        )
    return task


def _find_by_words(tasks: Sequence[Task], match: str) -> Task:
    words = _normalize(match)
    found = [task for task in tasks if _normalize(task.text) == words]
    found = found or [task for task in tasks if words in _normalize(task.text)]
    if not found:
        near = _find_closest(tasks, words)
        raise NotFound("No task has this text.", hint=_hint(near), closest=_to_details(near))
    if len(found) > 1:
        raise Conflict(
            f"{len(found)} tasks have this text.",
            hint=f"Say which by its line. {_hint(found[:MAX_LISTED])}",
            lines=[task.line for task in found[:100]],
        )
    return found[0]


def _find_closest(tasks: Sequence[Task], words: str) -> list[Task]:
    from rapidfuzz import fuzz

    choices = [_normalize(task.text)[:300] for task in tasks[:5_000]]
    best = find_nearest(words[:300], choices, fuzz.ratio, limit=MAX_LISTED, least=50)
    return [tasks[place] for _, _, place in best]


def _normalize(text: str) -> str:
    """For comparing: without list markup that was copied along, without case, one blank between words."""
    return " ".join(_MARKUP.sub("", text, count=1).split()).casefold()


def _shorten(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:119]}…"


def _to_details(tasks: Sequence[Task]) -> list[dict[str, object]]:
    return [{"line": task.line, "text": _shorten(task.text)} for task in tasks]


def _hint(tasks: Sequence[Task]) -> str:
    if not tasks:
        return "List the note's tasks to see what there is."
    return "Tasks: " + "; ".join(f"line {task.line}: {_shorten(task.text)}" for task in tasks) + "."
