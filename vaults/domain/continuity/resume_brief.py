"""What somebody who begins is told of earlier sessions, within a budget of tokens: less of each, before fewer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vaults.domain.actors import GLOBAL
from vaults.domain.continuity.handoffs import Handoff
from vaults.domain.continuity.sessions import EVENTS_LOGGED, ResumeContext, SessionView
from vaults.domain.paging import token_budget
from vaults.search import tokenizer


@dataclass(frozen=True, slots=True)
class _DetailLevel:
    """How much is told of a session: its last ``events``, ``letters`` of each thing said of it, and of lists the first
    ``said``. ``whole``: also what is seldom of use."""

    events: int
    letters: int
    said: int
    whole: bool = False


_DETAIL_LEVELS = (
    _DetailLevel(EVENTS_LOGGED, 2000, 50, whole=True),
    _DetailLevel(8, 600, 10),
    _DetailLevel(5, 300, 4),
    _DetailLevel(3, 160, 2),
    _DetailLevel(1, 100, 1),
)
"""From everything to hardly anything."""


def shorten_to_budget(around: ResumeContext, max_tokens: int) -> ResumeContext:
    """As much as fits of what somebody who begins should know, the same of each session; what is told twice goes first,
    and the oldest sessions where even that is too long."""
    if _is_within_budget(around, max_tokens):
        return around
    around = _without_repeats(around)
    for detail in _DETAIL_LEVELS:
        told = replace(
            around,
            session=_shorten_session(around.session, _DetailLevel(0, detail.letters, detail.said)),
            sessions=[_shorten_session(view, detail) for view in around.sessions],
            concurrent=[_shorten_session(view, _DetailLevel(0, detail.letters // 2, 0)) for view in around.concurrent],
            recent_activity=around.recent_activity[-detail.events * 2 :],
            handoff=_shorten_handoff(around.handoff, detail) if around.handoff is not None else None,
        )
        if _is_within_budget(told, max_tokens):
            return told
    for name, least in (("concurrent", 0), ("recent_activity", 0), ("sessions", 1)):
        while len(several := getattr(told, name)) > least and not _is_within_budget(told, max_tokens):
            told = replace(told, **{name: several[1:] if name == "recent_activity" else several[:-1]})
    return told


_CHARACTERS = 2.5
"""Characters of JSON a token has at least, about: ids and times have few. Where more is to be sent than is counted
quickly, that is exact enough."""

_MOST = 8
"""Characters of JSON a token has at most, about: what is longer is not worth counting."""

_ENVELOPE = 12
"""Tokens an answer has besides."""


def _without_repeats(around: ResumeContext) -> ResumeContext:
    """Without one's own session among the recent ones, and without what sessions under way are told of there already:
    their state, and what they did."""
    logged = {(view.id, event.created_at, event.resource) for view in around.sessions for event in view.activity_log}
    recent = {view.id for view in around.sessions}
    events = [each for each in around.recent_activity if (each.session, each.created_at, each.resource) not in logged]
    return replace(
        around,
        sessions=[view for view in around.sessions if view.id != around.session.id],
        concurrent=[view for view in around.concurrent if view.id not in recent],
        recent_activity=events,
    )


def _is_within_budget(told: ResumeContext, max_tokens: int) -> bool:
    """Whether the JSON that is sent, which leaves out what is empty, is within the budget."""
    sent = token_budget.to_sent_json(told)
    if len(sent) > max_tokens * _MOST or not tokenizer.is_quick_to_count([sent]):
        return len(sent) <= max_tokens * _CHARACTERS
    return tokenizer.count_tokens(sent) + _ENVELOPE <= max_tokens


def _shorten_session(view: SessionView, detail: _DetailLevel) -> SessionView:
    def cut(text: str | None) -> str | None:
        return _truncate(text, detail.letters) if text else text

    return replace(
        view,
        workspace=view.workspace if detail.whole else GLOBAL,
        started_at=view.started_at if detail.whole else "",
        goal=cut(view.goal),
        summary=cut(view.summary),
        where_left_off=cut(view.where_left_off),
        actions=[_truncate(each, detail.letters) for each in view.actions[: detail.said]],
        outcomes=[_truncate(each, detail.letters) for each in view.outcomes[: detail.said]],
        threads=view.threads[: detail.said],
        claims=view.claims[: detail.said],
        metadata=view.metadata if detail.whole else {},
        activity_log=view.activity_log[-detail.events :] if detail.events else [],
    )


def _shorten_handoff(handoff: Handoff, detail: _DetailLevel) -> Handoff:
    """Goal and next step; ``handoff_load`` gives the rest."""
    if detail.whole:
        return handoff
    letters = detail.letters
    bare = replace(handoff, constraints=[], known_unknowns=[], artifacts=[], stop_conditions=[])
    return replace(
        bare,
        goal=_truncate(handoff.goal, letters),
        current_state=_truncate(handoff.current_state, letters),
        next_action=_truncate(handoff.next_action, letters),
        claims=handoff.claims[: detail.said],
    )


def _truncate(text: str, letters: int) -> str:
    """The beginning of a text."""
    return text if len(text) <= letters else f"{text[: letters - 1].rstrip()}…"
