"""Candidates for the brief at the start of a session: what was left off, what is open, who is at work on what.

By priority. Raw turns, thoughts and the log of calls are noise here, and so is code.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from vaults import clock
from vaults.activity_log.stale_sessions import Cutoffs
from vaults.db.sql import Reader
from vaults.domain.continuity import claims, handoffs, session_events, sessions
from vaults.domain.continuity.handoffs import Handoff
from vaults.domain.continuity.session_events import Event
from vaults.domain.memories import corrections
from vaults.domain.memories.corrections import Correction
from vaults.domain.memories.memory_model import Memory
from vaults.domain.packs import standing_items
from vaults.domain.packs.pack import Evidence, Gathered, Piece
from vaults.domain.packs.request import Asked
from vaults.domain.packs.selection import Texts
from vaults.domain.text.plurals import many
from vaults.domain.text.sanitize import disarm, one_line
from vaults.errors import StrongroomError
from vaults.search.filters import Filter
from vaults.vault import Vault

OPEN = ("decision", "plan", "error")
KNOWN = ("learning", "fact", "summary")
"""Types that are told of, the first ones first."""

NOISE = ("raw", "episodic", "observation", "thinking")
"""Types that are not told of, not even by their titles."""

TOLD, MORE = 8, 2
"""Memories told of: of the first types, and of the others."""

CORRECTIONS = 6
"""Open corrections told of."""

SESSIONS, DEEDS = 3, 6
"""Sessions told of, and of one that said nothing itself the last things it did."""

LOOKED_AT = 300
"""Newest memories looked through for threads and entities."""

NAMED, HELD = 8, 5
"""Threads and entities named, and claims."""

TITLE = 50
"""Characters of the title of something that was done."""

FIELD = 400
"""Characters of one field of a handoff or session."""

DAY_S = 86_400.0


async def gather(vault: Vault, asked: Asked) -> Gathered:
    """The candidates, by priority."""
    with contextlib.suppress(StrongroomError):  # where nothing can be written, there is still something to read
        await sessions.refresh(vault)
    own = asked.session.seq or 0
    cutoffs = vault.ledger.cutoffs()
    return await vault.db.read(lambda tx: _brief(tx, asked, own, cutoffs))


def _brief(tx: Reader, asked: Asked, own: int, cutoffs: Cutoffs) -> Gathered:
    only = replace(asked.only, kinds=())
    state, checkpoint = standing_items.state(tx, only.workspaces, only.thread)
    rules = standing_items.rules(tx, replace(only, thread=None), asked.total)
    handoff = handoffs.waiting(tx, asked.taker)
    told = [
        *_sessions(tx, asked, asked.session.id),
        *([_handoff(handoff)] if handoff else []),
        *map(corrected, corrections.waiting(tx, only.viewer, only.workspaces, CORRECTIONS)),
        *_memories(tx, only),
        *_around(tx, only, own, cutoffs),
    ]
    pieces = [replace(piece, rank=rank) for rank, piece in enumerate([*state, *rules, *told])]
    bonds, titles = standing_items.bonds(tx, [piece.key for piece in pieces if piece.key is not None], only.viewer)
    return Gathered(pieces, bonds, titles, checkpoint)


def _sessions(tx: Reader, asked: Asked, own: str) -> Iterator[Piece]:
    for seq, view in sessions.latest(tx, asked.only.viewer, asked.taker.workspace, SESSIONS):
        said = [
            _field("Goal", view.goal),
            _field("Done", view.summary),
            _field("Outcomes", "; ".join(view.outcomes)),
            _field("Left off", view.where_left_off),
        ]
        if not any(said):
            log = session_events.of_session(tx, seq, asked.only.viewer, DEEDS)
            said = [_field("Did", "; ".join(dict.fromkeys(map(_deed, log))))]
        text = "\n".join(line for line in said if line)
        if text:
            what = "this session" if view.id == own else f"{view.status} session"
            yield _piece("session", view.id, what, text, view.who, view.seen_at)


def _deed(event: Event) -> str:
    told = event.title and not event.summary.endswith(NOISE)
    return f"{event.summary} ({one_line(event.title or '', TITLE)})" if told else event.summary


def _handoff(handoff: Handoff) -> Piece:
    lines = (
        _field("Goal", handoff.goal),
        _field("State", handoff.current_state),
        _field("Next", handoff.next_action),
        _field("Constraints", "; ".join(handoff.constraints)),
        _field("Unknown", "; ".join(handoff.known_unknowns)),
        _field("Artifacts", "; ".join(handoff.artifacts)),
        _field("Stop when", "; ".join(handoff.stop_conditions)),
        _field("Claims", "; ".join(handoff.claims)),
    )
    text = "\n".join(line for line in lines if line)
    return _piece("handoff", handoff.id, "open handoff", text, handoff.author, handoff.created_at)


def corrected(each: Correction) -> Piece:
    """An open correction as a candidate."""
    lines = (_field("Wrong", each.wrong), _field("Right", each.right), _field("About", each.subject))
    text = "\n".join(line for line in lines if line)
    return _piece("correction", each.id, f"open correction, {each.kind}", text, each.author, each.at)


def _field(name: str, text: str | None) -> str:
    if not text or not text.strip():
        return ""
    return f"{name}: {text if len(text) <= FIELD else text[: FIELD - 1].rstrip() + '…'}"


def _memories(tx: Reader, only: Filter) -> Iterator[Piece]:
    warm = replace(only, tiers=("hot", "warm"))
    for types, most in ((OPEN, TOLD), (KNOWN, MORE)):
        for row in _newest(tx, warm, types, most):
            yield standing_items.piece_of("memories", 0, *row)


def _newest(tx: Reader, warm: Filter, types: Sequence[str], most: int) -> list[tuple[int, Memory, str]]:
    """The newest ``most``. Where half of them only repeat others, what else there is by others than whoever repeats
    takes their place, and half of the places at least."""
    found = sorted(standing_items.of_types(tx, warm, types, most), key=_newest_first)[:most]
    texts, repeated = Texts(), Counter[str]()
    distinct: list[tuple[int, Memory, str]] = []
    for row in found:
        if texts.same_as(row[1].content) is None:
            texts.add(row[1].id, row[1].content)
            distinct.append(row)
        else:
            repeated[row[2]] += 1
    if len(found) < most or repeated.total() < most // 2:
        return found
    [(who, _)] = repeated.most_common(1)
    theirs = [row for row in distinct if row[2] == who][: most // 2]
    others = sorted(standing_items.of_types(tx, replace(warm, without=who), types, most), key=_newest_first)
    return sorted([*others[: most - len(theirs)], *theirs], key=_newest_first)


def _newest_first(row: tuple[int, Memory, str]) -> tuple[bool, int]:
    return row[1].tier != "hot", -row[0]


def _around(tx: Reader, only: Filter, own: int, cutoffs: Cutoffs) -> Iterator[Piece]:
    held = [each for each in claims.current(tx, cutoffs, own) if not each.yours]
    if held:
        yield _piece("claims", "claims", "claimed by others", "\n".join(map(claims.spoken, held[:HELD])))
    where, params = replace(only, tiers=()).over_memories()
    rows = tx.all(
        f"SELECT m.thread, m.entity, m.created_at FROM memories m WHERE {where} ORDER BY m.seq DESC LIMIT {LOOKED_AT}",
        params,
    )
    for name, column in (("threads", 0), ("entities", 1)):
        if names := _counted([row[column] for row in rows]):
            yield _piece(name, name, f"{name} touched lately", names)
    day = clock.ago(DAY_S)
    new = sum(row[2] >= day for row in rows)
    if lines := _pulse(tx, day, f"{new}{'+' if new == LOOKED_AT else ''} memories stored" if new else ""):
        yield _piece("pulse", "pulse", "in the last day", lines)


def _counted(names: Sequence[str | None]) -> str:
    counted = Counter(one_line(name, 80) for name in names if name)
    return ", ".join(f"{name} ({times})" for name, times in counted.most_common(NAMED))


def _pulse(tx: Reader, day: str, memories: str) -> str:
    notes = tx.all("SELECT path FROM notes WHERE modified_at >= ? ORDER BY modified_at DESC LIMIT ?", (day, LOOKED_AT))
    paths = ", ".join(one_line(row[0]) for row in notes[:3])
    people = tx.all(
        "SELECT DISTINCT who FROM sessions WHERE status IN ('active', 'paused', 'completed') AND seen_at >= ? LIMIT ?",
        (day, NAMED),
    )
    number = f"{LOOKED_AT}+ notes" if len(notes) == LOOKED_AT else many(len(notes), "note")
    said = (
        memories,
        f"{number} changed ({paths})" if notes else "",
        f"at work: {', '.join(one_line(row[0], 60) for row in people)}" if people else "",
    )
    # Who is here is no news where nothing was done.
    return "; ".join(part for part in said if part) if memories or notes else ""


def _piece(kind: str, name: str, what: str, text: str, author: str | None = None, at: str | None = None) -> Piece:
    shown = disarm(text)
    who = one_line(author, 60) if author else None
    return Piece("brief", 0, Evidence(name, kind, what, None, shown.text, who, at, flags=list(shown.flags) or None))
