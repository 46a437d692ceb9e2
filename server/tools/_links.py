"""The arguments and result of ``links``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from server.tool_spec import Arguments, MaxTokens
from server.tools._lines import ALREADY_SO, ONLY_SHOWN
from vaults.domain.graph.links import link_suggestions
from vaults.domain.graph.links.broken_links import BrokenLink, BrokenLinkPage
from vaults.domain.graph.links.bulk_links import AppliedLink
from vaults.domain.graph.links.link_health import LinkHealth
from vaults.domain.graph.links.link_suggestions import LinkSuggestions
from vaults.domain.graph.links.opinions import LinkOpinion, OpinionVerdict
from vaults.domain.graph.links.stubs import Stub
from vaults.domain.graph.links.unlinked_mentions import UnlinkedPage
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
class LinksSet:
    """Of apply."""

    applied: list[AppliedLink]
    changed: list[str]
    change: str | None
    diff: str | None
    total: int
    truncated: bool = False
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LinksRepaired:
    """Of validate with fix."""

    changed: list[str]
    change: str | None
    diff: str | None
    links: list[BrokenLink]
    total: int
    cursor: str | None
    truncated: bool
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class StubsListed:
    """Of stubs."""

    stubs: list[Stub]
    total: int
    cursor: str | None
    truncated: bool


@dataclass(frozen=True, slots=True)
class LinkTimeline:
    """Of timeline."""

    happenings: list[LinkEvent]
    cursor: str | None
    truncated: bool


@dataclass(frozen=True, slots=True)
class OpinionHeard:
    """Of feedback and unsuppress."""

    opinion: LinkOpinion


@dataclass(frozen=True, slots=True)
class LinkDashboard:
    """Of dashboard."""

    health: LinkHealth


LinkRows = BrokenLinkPage | UnlinkedPage | StubsListed | LinkTimeline | LinkDashboard
LinksResult = Annotated[
    LinkSuggestions | LinksSet | LinksRepaired | LinkRows | OpinionHeard,
    """Of suggest: ``suggestions`` of ``total``, likeliest first; ``truncated``: there are more. Of apply: ``applied``
    of ``total``, which were set, or would be, in the notes ``changed``; ``history`` takes them back by ``change``.
    Of validate: broken ``links``; with fix those that were set right, or would be. Of unlinked ``mentions``, of stubs
    ``stubs`` of ``total``, of timeline ``happenings``; ``cursor``: of the next page. Of feedback and unsuppress what is
    thought of the entity now.""",
    "suggestions applied changed change diff links mentions stubs happenings opinion health total cursor truncated"
    " warnings",
]


def links_head(found: LinksResult) -> str:
    """What was found or done, in a sentence or two."""
    match found:
        case LinkSuggestions(suggestions=[]):
            return "No link to suggest."
        case LinkSuggestions():
            return f"{len(found.suggestions)} of {found.total} links to set, likeliest first."
        case LinksSet() | LinksRepaired():
            return _describe_links_set(found)
        case OpinionHeard(opinion):
            counted = "" if opinion.counted else " You said so before: it counts once a day."
            return f"{'Not suggested there any more.' if opinion.suppressed else 'Heard.'}{counted}"
        case _:
            return _describe_rows(found)


def _describe_rows(found: LinkRows) -> str:
    match found:
        case BrokenLinkPage(links):
            dead = f"{pluralize(len(links), 'link that leads', 'links that lead')} nowhere."
            return dead if links else "Every link looked at leads somewhere."
        case UnlinkedPage(mentions):
            return f"{pluralize(len(mentions), 'name')} not linked." if mentions else "No name is left unlinked."
        case StubsListed(stubs, total):
            return f"{len(stubs)} of {total} names that notes link to, without a note."
        case LinkTimeline(happenings):
            return "What happened to links, newest first." if happenings else ""
        case LinkDashboard():
            return ""


def _describe_links_set(done: LinksSet | LinksRepaired) -> str:
    several = f"{pluralize(done.total, 'link')} in {pluralize(len(done.changed), 'note')}"
    if done.change is not None:
        return f"Set {several}."
    if done.total:
        return f"{several} would be set. {ONLY_SHOWN}"
    if isinstance(done, LinksSet):
        return ALREADY_SO
    return "No link that can be set right without being told what it means: pass target and to."
