"""The part of a conversation that is handed over at once: whole turns, and a few before them as context."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from vaults.transcripts.shortening import cut_text
from vaults.transcripts.transcript import Turn

CONTEXT_SHARE = 8
"""One part in so many of a window is room for turns that were read before."""

_FRAME = 100
"""Characters a line has besides its text."""

ShowTurn = Callable[[Turn], dict[str, Any]]
"""A turn as the part of a document: with its text, its role, and without secrets."""


@dataclass(frozen=True, slots=True)
class TurnWindow:
    """Turns as lines of JSON. ``begin`` and ``end``: positions of what is new in it, the end excluded; ``shown``:
    turns in it, context included, by their positions; ``mark``: digest of all turns before ``end``."""

    lines: tuple[str, ...]
    begin: int
    end: int
    shown: dict[int, Turn]
    mark: str


def next_window(turns: Sequence[Turn], read_to: int, most: int, show: ShowTurn) -> TurnWindow | None:
    """What comes next of a conversation that was read up to ``read_to``, in at most about ``most`` characters; None if
    there is nothing new. A turn that is longer than a window is cut."""
    new = [turn for turn in turns if turn.position >= read_to]
    if not new:
        return None
    before = [turn for turn in turns if turn.position < read_to]
    context = _last_lines(before, most // CONTEXT_SHARE, show)
    left = most - sum(map(len, context.values()))
    lines: list[str] = []
    taken: list[Turn] = []
    for turn in new:
        line = _to_line(show(turn), most // 2)
        if taken and len(line) > left:
            break
        lines.append(line)
        taken.append(turn)
        left -= len(line)
    end = taken[-1].position + 1
    shown = {turn.position: turn for turn in (*before, *taken) if turn.position in context or turn.position >= read_to}
    mark = mark_turns(turn for turn in turns if turn.position < end)
    return TurnWindow((*context.values(), *lines), taken[0].position, end, shown, mark)


def mark_turns(turns: Iterable[Turn]) -> str:
    """A digest by which it is seen that a conversation no longer begins as it did."""
    digest = hashlib.sha256()
    for turn in turns:
        tool = [turn.tool.name, turn.tool.arguments, turn.tool.outcome] if turn.tool else None
        digest.update(json.dumps([turn.position, turn.role, turn.text, tool], default=str).encode())
    return digest.hexdigest()


def _last_lines(turns: Sequence[Turn], most: int, show: ShowTurn) -> dict[int, str]:
    """The last turns that fit, in their order, by position."""
    found: dict[int, str] = {}
    for turn in reversed(turns):
        line = _to_line(show(turn) | {"context": True}, most)
        most -= len(line)
        if most < 0:
            break
        found[turn.position] = line
    return dict(reversed(found.items()))


def _to_line(part: dict[str, Any], most: int) -> str:
    line = {"turn": part["position"], "who": part["role"], "text": cut_text(part["text"], max(1, most - _FRAME))}
    line |= {name: True for name in ("thinking", "context") if part.get(name)}
    return to_data_line(line)


def to_data_line(value: dict[str, Any]) -> str:
    """One line of JSON: no text can end it, or begin another. Nor does it hold what programs that answer prompts take
    for marks of their own: tags, and names of files behind an @, which some of them read in."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c").replace("@", "\\u0040")
