"""What is said of relevance, by every tool that finds by it."""

from __future__ import annotations

from collections.abc import Sequence

from server.rendering.plain_text import EvidenceItem, TextAnswer
from vaults.activity_log.entries import ActivityEntry
from vaults.domain.retrieval.hybrid_search import NOTHING_LIKELY
from vaults.search.relevance_threshold import DOUBTED

MIN_SCORE = "drop hits of less relevance: 0.4 and more are likely to answer"


def entry_of_search(summary: str, warnings: Sequence[str]) -> ActivityEntry:
    """What the activity log keeps of a search: uncounted, as some hits may be private, but whether it was doubted, by
    which the vault's threshold moves."""
    return ActivityEntry("tool_call", None, DOUBTED if NOTHING_LIKELY in warnings else summary)


def doubtful_first(head: str, items: Sequence[EvidenceItem], warnings: Sequence[str]) -> TextAnswer:
    """The text of an answer. That nothing in it seems to answer stands before the hits: who reads them first believes
    them."""
    if NOTHING_LIKELY not in warnings:
        return TextAnswer(head, items, warnings)
    doubt = f"{NOTHING_LIKELY[0].upper()}{NOTHING_LIKELY[1:]}."
    return TextAnswer(f"{doubt} {head}", items, [each for each in warnings if each != NOTHING_LIKELY])
