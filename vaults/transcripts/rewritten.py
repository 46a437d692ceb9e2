"""Conversations that a program writes anew as they grow: what of their turns is new is found by comparing.

Where the turns that were there before are as they were, only those after them are new; else the conversation is whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from vaults.errors import InvalidArgument
from vaults.transcripts.grown_lines import open_regular
from vaults.transcripts.transcript import Conversation, ReadPlace, TranscriptPart, Turn

MAX_BYTES = 64 << 20
"""Max bytes of a file that has to be read at once; a larger one is refused."""

Seen: TypeAlias = list[Any]
"""What was seen of a conversation: how many turns, their digest, the title. As JSON."""


def read_rewritten(path: Path, place: ReadPlace, load: Callable[[Path], Conversation | None]) -> TranscriptPart:
    """What is new in a file of one conversation; ``load`` reads all of it."""
    conversation = load(path)
    if conversation is None:
        return TranscriptPart((), place)
    new, seen = leave_out_seen(conversation, parse_state(place.state).get("seen"))
    return TranscriptPart((new,) if new else (), _place_of({"seen": seen}))


def leave_out_seen(conversation: Conversation, seen: Any) -> tuple[Conversation | None, Seen]:
    """A conversation without the turns that were seen, or whole if these have changed; None if nothing is new. And what
    is seen by now."""
    count, digest, title = seen if isinstance(seen, list) and len(seen) == 3 else (0, "", None)
    turns = conversation.turns
    now = [len(turns), _digest(turns), conversation.title]
    if count and count <= len(turns) and _digest(turns[:count]) == digest:
        if count == len(turns) and title == conversation.title:
            return None, now
        return replace(conversation, turns=turns[count:], whole=False), now
    if not turns and not count:
        return None, now
    return replace(conversation, whole=True), now


def read_changed(
    place: ReadPlace, stamps: Iterable[tuple[str, str]], load: Callable[[str], Conversation | None], most: int
) -> TranscriptPart:
    """What is new in a file of many conversations. ``stamps``: each by its name, with what changes when it does. Of
    those that changed, as many are loaded as have about ``most`` characters."""
    known, found, left = parse_state(place.state), list[Conversation](), most
    for name, stamp in stamps:
        before = known.get(name)
        if not isinstance(before, list) or len(before) != 2:
            before = ["", None]
        if before[0] == stamp:
            continue
        if left <= 0:
            return TranscriptPart(tuple(found), _place_of(known), more=True)
        conversation, seen = load(name), before[1]
        if conversation is not None:
            new, seen = leave_out_seen(conversation, seen)
            if new is not None:
                found.append(new)
                left -= sum(len(turn.text) for turn in new.turns)
        known[name] = [stamp, seen]
    return TranscriptPart(tuple(found), _place_of(known))


def _place_of(known: dict[str, Any]) -> ReadPlace:
    return ReadPlace(state=json.dumps(known))


def _digest(turns: tuple[Turn, ...]) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for turn in turns:
        digest.update(repr(turn).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def parse_state(state: str) -> dict[str, Any]:
    """The state of a place; nothing for the first time, or for one that cannot be understood."""
    try:
        value = json.loads(state) if state else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def load_json(path: Path, most: int = MAX_BYTES) -> Any:
    """The JSON a file holds. Raises ``InvalidArgument`` for one that is too large, half-written or none."""
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise InvalidArgument("PATH", f"{path} has more than {most >> 20} MB")
    try:
        return json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        raise InvalidArgument("PATH", f"{path} is cut off, or is no JSON") from None


def load_json_or_none(path: Path, most: int = 1 << 20) -> Any:
    """The JSON of a small file beside a transcript; None if there is none to be had."""
    try:
        return load_json(path, most)
    except (OSError, InvalidArgument):
        return None
