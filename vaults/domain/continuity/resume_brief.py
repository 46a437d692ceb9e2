"""Fits what a starting session is told of earlier ones into a token budget: less detail of each before fewer of
them."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import partial

from vaults.domain.actors import GLOBAL
from vaults.domain.continuity.handoffs import Handoff
from vaults.domain.continuity.sessions import EVENTS_LOGGED, ResumeContext, SessionView
from vaults.domain.paging import token_budget
from vaults.search import tokenizer


@dataclass(frozen=True, slots=True)
class _DetailLevel:
    """How much is shown of a session."""

    events: int  # its last events
    letters: int  # max characters of each text
    entries: int  # max entries of each list
    whole: bool = False  # fields that are seldom of use, too


_DETAIL_LEVELS = (
    _DetailLevel(EVENTS_LOGGED, 2000, 50, whole=True),
    _DetailLevel(8, 600, 10),
    _DetailLevel(5, 300, 4),
    _DetailLevel(3, 160, 2),
    _DetailLevel(1, 100, 1),
)
"""From everything down to hardly anything."""


def shorten_to_budget(context: ResumeContext, max_tokens: int) -> ResumeContext:
    """As much as fits of what a starting session should know, every session in equal detail. Repetitions go first; the
    oldest sessions go where even the least detail is too long."""
    if _is_within_budget(context, max_tokens):
        return context
    context = _without_repeats(context)
    briefs = [partial(_at_level, context, detail) for detail in _DETAIL_LEVELS]
    level = bisect_left(briefs, True, key=lambda brief: _is_within_budget(brief(), max_tokens))
    if level < len(briefs):
        return briefs[level]()
    brief = briefs[-1]()
    for name, least in (("concurrent", 0), ("recent_activity", 0), ("sessions", 1)):
        several = getattr(brief, name)
        fewer = [partial(_with_fewer, brief, name, kept) for kept in range(len(several), least - 1, -1)]
        if fewer:
            first = bisect_left(fewer, True, key=lambda shorter: _is_within_budget(shorter(), max_tokens))
            brief = fewer[min(first, len(fewer) - 1)]()
    return brief


def _at_level(context: ResumeContext, detail: _DetailLevel) -> ResumeContext:
    return replace(
        context,
        session=_shorten_session(context.session, _DetailLevel(0, detail.letters, detail.entries)),
        sessions=[_shorten_session(view, detail) for view in context.sessions],
        concurrent=[_shorten_session(view, _DetailLevel(0, detail.letters // 2, 0)) for view in context.concurrent],
        recent_activity=context.recent_activity[-detail.events * 2 :],
        handoff=_shorten_handoff(context.handoff, detail) if context.handoff is not None else None,
    )


def _with_fewer(brief: ResumeContext, name: str, kept: int) -> ResumeContext:
    """With the first ``kept`` of a list, of events the last."""
    several = getattr(brief, name)
    return replace(brief, **{name: several[len(several) - kept :] if name == "recent_activity" else several[:kept]})


_CHARACTERS = 2.5
"""About the fewest characters of JSON per token: ids and times have few. Exact enough where the text is too long to
count quickly."""

_MOST = 8
"""About the most characters of JSON per token: a longer text is not worth counting."""

_ENVELOPE = 12
"""Tokens of an answer besides this."""


def _without_repeats(context: ResumeContext) -> ResumeContext:
    """Without the caller's own session among the recent ones, sessions under way that are among them too, and events
    that stand in their logs."""
    logged = {(view.id, event.created_at, event.resource) for view in context.sessions for event in view.activity_log}
    recent = {view.id for view in context.sessions}
    events = [each for each in context.recent_activity if (each.session, each.created_at, each.resource) not in logged]
    return replace(
        context,
        sessions=[view for view in context.sessions if view.id != context.session.id],
        concurrent=[view for view in context.concurrent if view.id not in recent],
        recent_activity=events,
    )


def _is_within_budget(brief: ResumeContext, max_tokens: int) -> bool:
    """Whether the JSON that is sent, without empty values, is within the budget."""
    sent = token_budget.to_sent_json(brief)
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
        actions=[_truncate(each, detail.letters) for each in view.actions[: detail.entries]],
        outcomes=[_truncate(each, detail.letters) for each in view.outcomes[: detail.entries]],
        threads=view.threads[: detail.entries],
        claims=view.claims[: detail.entries],
        metadata=view.metadata if detail.whole else {},
        activity_log=view.activity_log[-detail.events :] if detail.events else [],
    )


def _shorten_handoff(handoff: Handoff, detail: _DetailLevel) -> Handoff:
    """Goal and next step; ``handoff_load`` returns the rest."""
    if detail.whole:
        return handoff
    letters = detail.letters
    bare = replace(handoff, constraints=[], known_unknowns=[], artifacts=[], stop_conditions=[])
    return replace(
        bare,
        goal=_truncate(handoff.goal, letters),
        current_state=_truncate(handoff.current_state, letters),
        next_action=_truncate(handoff.next_action, letters),
        claims=handoff.claims[: detail.entries],
    )


def _truncate(text: str, letters: int) -> str:
    """The beginning of a text, at most ``letters`` characters."""
    return text if len(text) <= letters else f"{text[: letters - 1].rstrip()}…"
