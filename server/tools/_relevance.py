"""What is said of relevance, by every tool that finds by it."""

from __future__ import annotations

from collections.abc import Sequence

from server.rendering.plain_text import EvidenceItem, TextAnswer
from vaults.domain.retrieval.hybrid_search import NOTHING_LIKELY

MIN_SCORE = "drop hits of less relevance: 0.4 and more are likely to answer"


def doubtful_first(head: str, items: Sequence[EvidenceItem], warnings: Sequence[str]) -> TextAnswer:
    """The text of an answer. That nothing in it seems to answer stands before the hits: who reads them first believes
    them."""
    if NOTHING_LIKELY not in warnings:
        return TextAnswer(head, items, warnings)
    doubt = f"{NOTHING_LIKELY[0].upper()}{NOTHING_LIKELY[1:]}."
    return TextAnswer(f"{doubt} {head}", items, [each for each in warnings if each != NOTHING_LIKELY])
