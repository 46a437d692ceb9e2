"""The arguments and result of ``links``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from server.tool_spec import Arguments, MaxTokens
from server.tools._lines import ALREADY_SO, ONLY_SHOWN
from vaults.domain.graph.links import link_suggestions
from vaults.domain.graph.links.broken_links import BrokenLink
from vaults.domain.graph.links.bulk_links import AppliedLink
from vaults.domain.graph.links.link_health import LinkHealth
from vaults.domain.graph.links.link_suggestions import LinkSuggestion
from vaults.domain.graph.links.opinions import LinkOpinion, OpinionVerdict
from vaults.domain.graph.links.stubs import Stub
from vaults.domain.graph.links.unlinked_mentions import UnlinkedMention
from vaults.domain.text.fields import Text
from vaults.domain.text.plurals import pluralize
from vaults.graph.link_feedback.link_events import LinkEvent
from vaults.graph.suggestions.scoring_layers import Strictness

LinksAction = Literal[
    "suggest", "apply", "feedback", "unlinked", "validate", "stubs", "dashboard", "unsuppress", "timeline"
]
Name = Annotated[Text | None, Field(min_length=1, max_length=1024)]


class LinksArguments(Arguments):
    action: Annotated[LinksAction, Field(description="what to do")] = "suggest"
    path: Annotated[Name, Field(description="the note; of a text, where it will be")] = None
    text: Annotated[
        Text | None,
        Field(
            min_length=1, max_length=link_suggestions.MAX_CHARACTERS, description="suggest: a text instead of a note"
        ),
    ] = None
    strictness: Annotated[Strictness | None, Field(description="suggest: how sure; default as the server says")] = None
    detail: Annotated[bool, Field(description="suggest: points of each layer")] = False
    limit: Annotated[int, Field(ge=1, le=200, description="at most")] = 20
    folder: Annotated[
        Name, Field(description="apply: notes in and below it, in place of path; unsuppress, never: where; / is all")
    ] = None
    entity: Annotated[Name, Field(description="feedback, unlinked, unsuppress, timeline: what is linked to")] = None
    verdict: Annotated[
        OpinionVerdict | None, Field(description="feedback: never also stops suggesting it in that folder")
    ] = None
    term: Annotated[Text | None, Field(max_length=200, description="feedback: the words it was on")] = None
    fix: Annotated[bool, Field(description="validate: set right what is beyond doubt, or target")] = False
    target: Annotated[Name, Field(description="fix: the broken name, if only that")] = None
    to: Annotated[Name, Field(description="fix: the note target is to mean")] = None
    cursor: Annotated[str | None, Field(min_length=1, max_length=3000, description="from the page before")] = None
    dry_run: Annotated[bool, Field(description="apply, fix: only show what would change")] = True
    max_tokens: MaxTokens = 3000


@dataclass(frozen=True, slots=True)
class LinksResult:
    """Of suggest: ``suggestions`` of ``total``, likeliest first; ``truncated``: there are more. Of apply: ``applied``
    of ``total``, which were set, or would be, in the notes ``changed``; ``history`` takes them back by ``change``.
    Of validate: broken ``links``; with fix those that were set right, or would be. Of unlinked ``mentions``, of stubs
    ``stubs`` of ``total``, of timeline ``happenings``; ``cursor``: of the next page. Of feedback and unsuppress what is
    thought of the entity now."""

    suggestions: list[LinkSuggestion] | None = None
    applied: list[AppliedLink] | None = None
    changed: list[str] | None = None
    change: str | None = None
    diff: str | None = None
    links: list[BrokenLink] | None = None
    mentions: list[UnlinkedMention] | None = None
    stubs: list[Stub] | None = None
    happenings: list[LinkEvent] | None = None
    opinion: LinkOpinion | None = None
    health: LinkHealth | None = None
    total: int | None = None
    cursor: str | None = None
    truncated: bool = False
    warnings: list[str] = field(default_factory=list)


def links_head(found: LinksResult) -> str:
    """What was found or done, in a sentence or two."""
    if found.suggestions is not None:
        return (
            f"{len(found.suggestions)} of {found.total} links to set, likeliest first."
            if found.suggestions
            else ("No link to suggest.")
        )
    if found.changed is not None:
        return _describe_links_set(found)
    if found.opinion is not None:
        counted = "" if found.opinion.counted else " You said so before: it counts once a day."
        return f"{'Not suggested there any more.' if found.opinion.suppressed else 'Heard.'}{counted}"
    return _describe_list(found)


def _describe_list(found: LinksResult) -> str:
    if found.links is not None:
        dead = f"{pluralize(len(found.links), 'link that leads', 'links that lead')} nowhere."
        return dead if found.links else "Every link looked at leads somewhere."
    if found.mentions is not None:
        return (
            f"{pluralize(len(found.mentions), 'name')} not linked." if found.mentions else "No name is left unlinked."
        )
    if found.stubs is not None:
        return f"{len(found.stubs)} of {found.total} names that notes link to, without a note."
    return "What happened to links, newest first." if found.happenings else ""


def _describe_links_set(found: LinksResult) -> str:
    several = f"{pluralize(found.total or 0, 'link')} in {pluralize(len(found.changed or []), 'note')}"
    if found.change is not None:
        return f"Set {several}."
    if found.total:
        return f"{several} would be set. {ONLY_SHOWN}"
    return (
        ALREADY_SO
        if found.applied is not None
        else ("No link that can be set right without being told what it means: pass target and to.")
    )
