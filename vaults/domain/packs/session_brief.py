"""Candidates for the brief at the start of a session: where work was left, what is open, who is at work on what.

By priority. Raw turns, thoughts and the log of calls are noise here, and so is code.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from vaults import clock
from vaults.activity_log.stale_sessions import SessionCutoffs
from vaults.db.sql import Reader
from vaults.domain.continuity import claims, handoffs, session_events, sessions
from vaults.domain.continuity.handoffs import Handoff
from vaults.domain.continuity.session_events import SessionEvent
from vaults.domain.memories import corrections
from vaults.domain.memories.corrections import Correction
from vaults.domain.memories.memory_model import Memory
from vaults.domain.packs import standing_items
from vaults.domain.packs.pack import GatheredCandidates, PackCandidate, PackItem
from vaults.domain.packs.request import PackRequest
from vaults.domain.packs.selection import SeenTexts
from vaults.domain.text.plurals import pluralize
from vaults.domain.text.sanitize import sanitize, to_one_line
from vaults.errors import StrongroomError
from vaults.search.filters import SearchFilter
from vaults.vault import Vault

FIRST_TYPES = ("decision", "plan", "error")
THEN_TYPES = ("learning", "fact", "summary")
"""Types of memories in a brief, those of ``FIRST_TYPES`` first."""

NOISE_TYPES = ("raw", "episodic", "observation", "thinking")
"""Types kept out of a brief, even as titles."""

MAX_FIRST, MAX_THEN = 8, 2
"""Max memories of the types told first, and of those told then."""

MAX_CORRECTIONS = 6
"""Max open corrections in a brief."""

MAX_SESSIONS, MAX_ACTIONS = 3, 6
"""Max sessions in a brief, and last actions of one without a summary."""

MAX_LOOKED_AT = 300
"""Newest memories searched for threads and entities."""

MAX_NAMED, MAX_CLAIMS = 8, 5
"""Max threads and entities named, and max claims."""

TITLE_LENGTH = 50
"""Max characters of the title in an event."""

FIELD_LENGTH = 400
"""Max characters of one field of a handoff or session."""

DAY_S = 86_400.0


async def gather_brief(vault: Vault, request: PackRequest) -> GatheredCandidates:
    """The candidates, by priority."""
    with contextlib.suppress(StrongroomError):  # a vault that cannot be written can still be read
        await sessions.refresh_sessions(vault)
    own = request.session.seq or 0
    cutoffs = vault.activity_log.cutoffs()
    return await vault.db.read(lambda tx: _read_brief(tx, request, own, cutoffs))


def _read_brief(tx: Reader, request: PackRequest, own: int, cutoffs: SessionCutoffs) -> GatheredCandidates:
    only = replace(request.only, kinds=())
    state, checkpoint = standing_items.read_state(tx, only.workspaces, only.thread)
    rules = standing_items.read_rules(tx, replace(only, thread=None), request.total)
    handoff = handoffs.find_open(tx, request.recipient)
    brief = [
        *_read_sessions(tx, request, request.session.id),
        *([_from_handoff(handoff)] if handoff else []),
        *map(from_correction, corrections.list_open(tx, only.viewer, only.workspaces, MAX_CORRECTIONS)),
        *_read_memories(tx, only),
        *_read_surroundings(tx, only, own, cutoffs),
    ]
    candidates = [replace(candidate, rank=rank) for rank, candidate in enumerate([*state, *rules, *brief])]
    links, titles = standing_items.read_links(
        tx, [candidate.key for candidate in candidates if candidate.key is not None], only.viewer
    )
    return GatheredCandidates(candidates, links, titles, checkpoint)


def _read_sessions(tx: Reader, request: PackRequest, own: str) -> Iterator[PackCandidate]:
    for seq, view in sessions.list_latest(tx, request.only.viewer, request.recipient.workspace, MAX_SESSIONS):
        lines = [
            _field_line("Goal", view.goal),
            _field_line("Done", view.summary),
            _field_line("Outcomes", "; ".join(view.outcomes)),
            _field_line("Left off", view.where_left_off),
        ]
        if not any(lines):
            log = session_events.find_session_events(tx, seq, request.only.viewer, MAX_ACTIONS)
            lines = [_field_line("Did", "; ".join(dict.fromkeys(map(_describe_event, log))))]
        text = "\n".join(line for line in lines if line)
        if text:
            what = "this session" if view.id == own else f"{view.status} session"
            yield _to_candidate(kind="session", name=view.id, what=what, text=text, author=view.who, at=view.seen_at)


def _describe_event(event: SessionEvent) -> str:
    titled = event.title and not event.summary.endswith(NOISE_TYPES)
    return f"{event.summary} ({to_one_line(event.title or '', TITLE_LENGTH)})" if titled else event.summary


def _from_handoff(handoff: Handoff) -> PackCandidate:
    lines = (
        _field_line("Goal", handoff.goal),
        _field_line("State", handoff.current_state),
        _field_line("Next", handoff.next_action),
        _field_line("Constraints", "; ".join(handoff.constraints)),
        _field_line("Unknown", "; ".join(handoff.known_unknowns)),
        _field_line("Artifacts", "; ".join(handoff.artifacts)),
        _field_line("Stop when", "; ".join(handoff.stop_conditions)),
        _field_line("Claims", "; ".join(handoff.claims)),
    )
    text = "\n".join(line for line in lines if line)
    return _to_candidate(
        kind="handoff", name=handoff.id, what="open handoff", text=text, author=handoff.author, at=handoff.created_at
    )


def from_correction(each: Correction) -> PackCandidate:
    """An open correction as a candidate."""
    lines = (_field_line("Wrong", each.wrong), _field_line("Right", each.right), _field_line("About", each.subject))
    text = "\n".join(line for line in lines if line)
    return _to_candidate(
        kind="correction", name=each.id, what=f"open correction, {each.kind}", text=text, author=each.author, at=each.at
    )


def _field_line(name: str, text: str | None) -> str:
    if not text or not text.strip():
        return ""
    return f"{name}: {text if len(text) <= FIELD_LENGTH else text[: FIELD_LENGTH - 1].rstrip() + '…'}"


def _read_memories(tx: Reader, only: SearchFilter) -> Iterator[PackCandidate]:
    warm = replace(only, tiers=("hot", "warm"))
    for types, most in ((FIRST_TYPES, MAX_FIRST), (THEN_TYPES, MAX_THEN)):
        for row in _read_newest(tx, warm, types, most):
            yield standing_items.to_candidate("memories", 0, *row)


def _read_newest(tx: Reader, warm: SearchFilter, types: Sequence[str], most: int) -> list[tuple[int, Memory, str]]:
    """The newest ``most``. Where half of them only repeat others, memories by others than the main repeater take their
    place, and at least half of the places."""
    found = sorted(standing_items.read_of_types(tx, warm, types, most), key=_recency_key)[:most]
    texts, repeated = SeenTexts(), Counter[str]()
    distinct: list[tuple[int, Memory, str]] = []
    for row in found:
        _, memory, storer = row
        if texts.find_same(memory.content) is None:
            texts.add(memory.id, memory.content)
            distinct.append(row)
        else:
            repeated[storer] += 1
    if len(found) < most or repeated.total() < most // 2:
        return found
    [(who, _)] = repeated.most_common(1)
    theirs = [(seq, memory, storer) for seq, memory, storer in distinct if storer == who][: most // 2]
    others = sorted(standing_items.read_of_types(tx, replace(warm, without=who), types, most), key=_recency_key)
    return sorted([*others[: most - len(theirs)], *theirs], key=_recency_key)


def _recency_key(row: tuple[int, Memory, str]) -> tuple[bool, int]:
    seq, memory, _ = row
    return memory.tier != "hot", -seq


def _read_surroundings(tx: Reader, only: SearchFilter, own: int, cutoffs: SessionCutoffs) -> Iterator[PackCandidate]:
    foreign = [each for each in claims.find_current(tx, cutoffs, own) if not each.yours]
    if foreign:
        yield _to_candidate(
            "claims", "claims", "claimed by others", "\n".join(map(claims.describe_claim, foreign[:MAX_CLAIMS]))
        )
    where, params = replace(only, tiers=()).over_memories()
    rows = tx.all(
        f"SELECT m.thread, m.entity, m.created_at FROM memories m WHERE {where}"
        f" ORDER BY m.seq DESC LIMIT {MAX_LOOKED_AT}",
        params,
    )
    threads, entities, times = zip(*rows, strict=True) if rows else ((), (), ())
    for name, labels in (("threads", threads), ("entities", entities)):
        if names := _count_names(labels):
            yield _to_candidate(name, name, f"{name} touched lately", names)
    day = clock.ago(DAY_S)
    new = sum(at >= day for at in times)
    many = f"{new}{'+' if new == MAX_LOOKED_AT else ''} {'memory' if new == 1 else 'memories'} stored"
    if lines := _describe_last_day(tx, day, many if new else ""):
        yield _to_candidate("pulse", "pulse", "in the last day", lines)


def _count_names(names: Sequence[str | None]) -> str:
    counted = Counter(to_one_line(name, 80) for name in names if name)
    return ", ".join(f"{name} ({times})" for name, times in counted.most_common(MAX_NAMED))


def _describe_last_day(tx: Reader, day: str, memories: str) -> str:
    notes = tx.all(
        "SELECT path FROM notes WHERE modified_at >= :day ORDER BY modified_at DESC LIMIT :most",
        {"day": day, "most": MAX_LOOKED_AT},
    )
    paths = ", ".join(to_one_line(path) for (path,) in notes[:3])
    people = tx.all(
        "SELECT DISTINCT who FROM sessions WHERE status IN ('active', 'paused', 'completed') AND seen_at >= :day"
        " LIMIT :most",
        {"day": day, "most": MAX_NAMED},
    )
    number = f"{MAX_LOOKED_AT}+ notes" if len(notes) == MAX_LOOKED_AT else pluralize(len(notes), "note")
    parts = (
        memories,
        f"{number} changed ({paths})" if notes else "",
        f"at work: {', '.join(to_one_line(who, 60) for (who,) in people)}" if people else "",
    )
    # Who is at work is no news where nothing was done.
    return "; ".join(part for part in parts if part) if memories or notes else ""


def _to_candidate(
    kind: str, name: str, what: str, text: str, author: str | None = None, at: str | None = None
) -> PackCandidate:
    shown = sanitize(text)
    who = to_one_line(author, 60) if author else None
    item = PackItem(id=name, kind=kind, type=what, text=shown.text, author=who, at=at, flags=list(shown.flags) or None)
    return PackCandidate("brief", 0, item)
