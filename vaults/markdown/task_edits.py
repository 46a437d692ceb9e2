"""One task of a note: found by its line or its words, its status set. Pure, linear.

Only the one character between the brackets changes. The text is searched, not parsed: frontmatter and code fences hold
no tasks, all else that looks like one is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vaults.errors import Conflict, InvalidArgument, NotFound
from vaults.markdown.source import unified

STATUSES = {"open": " ", "done": "x", "cancelled": "-", "in_progress": "/"}
"""Names a status may be given by, beside the character itself."""

MAX_LISTED = 5
"""Tasks that an error names."""

_ITEM = r"(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+){1,4}"
# Every line counts as one that follows a line feed: a pattern that starts with a literal is found many times as fast.
_TASK_OR_FENCE = re.compile(
    rf"\n([ \t>]*)(?:{_ITEM}\[([^\n])\](?=[ \t\n])|(?:{_ITEM})?(?:(`{{3,}})[^`\n]*|(~{{3,}})[^\n]*)(?=\n))"
)
_MARKUP = re.compile(rf"[ \t>]*{_ITEM}\[.\](?=\s|$)")
_FRONTMATTER = re.compile(r"\n---[ \t]*\n(?:(?!(?:---|\.\.\.)[ \t]*\n)[^\n]*\n)*(?:---|\.\.\.)[ \t]*(?=\n)")


class _Task(NamedTuple):
    line: int
    at: int
    """Offset of the status in the text."""
    status: str
    words: str


def toggled(text: str, line: int | None = None, match: str | None = None, status: str | None = None) -> tuple[str, int]:
    """The text with one task's status changed, and the task's line (from 1).

    Found by ``line``, by ``match`` (its whole text, else a part that no other task has; case and blanks do not matter),
    or by both, which must then agree. ``status`` is a character or a name of ``STATUSES``; without it a done task is
    opened and any other done. Raises ``InvalidArgument``, ``NotFound`` with the closest tasks, and ``Conflict`` when
    several tasks fit or when the line now holds another.
    """
    if line is None and not (match and match.strip()):
        raise InvalidArgument("line", "or match must be given: which task is meant")
    wanted = None if status is None else _status(status)
    tasks = list(_tasks(text))
    task = _by_words(tasks, match or "") if line is None else _by_line(tasks, line, match)
    done = task.status in "xX"
    new = wanted if wanted is not None else (" " if done else "x")
    if new == "x" and done:
        new = task.status  # [X] is done already
    return f"{text[: task.at]}{new}{text[task.at + 1 :]}", task.line


def _status(status: str) -> str:
    character = STATUSES.get(status.lower(), status)
    if len(character) != 1 or not character.isprintable() or character in "[]":
        raise InvalidArgument("status", f"must be one character, or one of {', '.join(STATUSES)}")
    return character


def _tasks(text: str) -> Iterator[_Task]:
    view = f"\n{unified(text)}\n"
    frontmatter = _FRONTMATTER.match(view)
    at = frontmatter.end() if frontmatter else 0
    line, counted, fence, quoted = 0, 0, "", 0
    for found in _TASK_OR_FENCE.finditer(view, at):
        quotes = found[1].count(">")
        if fence and quotes < quoted:
            fence = ""  # the quote that the fence stood in has ended, and the fence with it
        mark = found[3] or found[4]
        if mark:
            fence, quoted = _fence(fence, mark, found[0]), quotes
        elif not fence:
            line, counted = line + view.count("\n", counted, found.start() + 1), found.start() + 1
            end = view.index("\n", found.end())
            yield _Task(line, found.start(2) - 1, found[2], " ".join(view[found.end() : end].split()))


def _fence(fence: str, mark: str, whole: str) -> str:
    """What is open after a line that looks like a fence: it opens one, closes the open one, or is code in it."""
    if not fence:
        return mark
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and whole.strip(" \t\n>") == mark
    return "" if closes else fence


def _by_line(tasks: Sequence[_Task], line: int, match: str | None) -> _Task:
    task = next((task for task in tasks if task.line == line), None)
    if task is None:
        near = sorted(tasks, key=lambda task: abs(task.line - line))[:MAX_LISTED]
        raise NotFound(f"Line {line} holds no task.", hint=_hint(near), closest=_listed(near))
    if match and match.strip() and _plain(match) not in _plain(task.words):
        now = [other for other in tasks if _plain(match) in _plain(other.words)][:MAX_LISTED]
        raise Conflict(
            f"The task in line {line} is another now: {_short(task.words)}.",
            hint=_hint(now) if now else "Read the tasks again.",
            task={"line": task.line, "text": _short(task.words)},
            closest=_listed(now),
        )
    return task


def _by_words(tasks: Sequence[_Task], match: str) -> _Task:
    words = _plain(match)
    found = [task for task in tasks if _plain(task.words) == words]
    found = found or [task for task in tasks if words in _plain(task.words)]
    if not found:
        near = _closest(tasks, words)
        raise NotFound("No task has this text.", hint=_hint(near), closest=_listed(near))
    if len(found) > 1:
        raise Conflict(
            f"{len(found)} tasks have this text.",
            hint=f"Say which by its line. {_hint(found[:MAX_LISTED])}",
            lines=[task.line for task in found[:100]],
        )
    return found[0]


def _closest(tasks: Sequence[_Task], words: str) -> list[_Task]:
    from rapidfuzz import fuzz, process

    choices = [_plain(task.words)[:300] for task in tasks[:5_000]]
    best = process.extract(words[:300], choices, scorer=fuzz.ratio, limit=MAX_LISTED, score_cutoff=50)
    return [tasks[place] for _, _, place in best]


def _plain(text: str) -> str:
    """For comparing: without the markup a whole line was copied with, without case, one blank between words."""
    return " ".join(_MARKUP.sub("", text, count=1).split()).casefold()


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:119]}…"


def _listed(tasks: Sequence[_Task]) -> list[dict[str, object]]:
    return [{"line": task.line, "text": _short(task.words)} for task in tasks]


def _hint(tasks: Sequence[_Task]) -> str:
    if not tasks:
        return "List the note's tasks to see what there is."
    return "Tasks: " + "; ".join(f"line {task.line}: {_short(task.words)}" for task in tasks) + "."
