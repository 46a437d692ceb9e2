"""The weight of a link, computed on demand.

``1 + ln(1 + edits of its note it survived) + ln(1 + how much its two notes were found and read together)``: a link kept
through many edits is deliberate, and one whose ends are used together is useful.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from vaults.db.sql import Reader
from vaults.domain.graph.graph_answers import GraphLink
from vaults.graph import co_access_pairs
from vaults.graph.links import link_queries
from vaults.graph.links.link_queries import ResolvedLink

MAX_FITTING = 5
"""Max notes listed for a link that fits several."""


def weigh_link(survived: int, together: float) -> float:
    """The weight of one link, at least 1."""
    return round(1.0 + math.log1p(max(0, survived)) + math.log1p(max(0.0, together)), 2)


def to_graph_links(tx: Reader, links: Sequence[ResolvedLink], now: str) -> list[GraphLink]:
    """Describe links for an answer, without the lines that contain them."""
    outlived: dict[tuple[str, str], int] = {}
    together: dict[str, dict[str, float]] = {}
    # Weights are read per end: take the end that most links share, to read fewer.
    by_target = len({link.meant for link in links}) < len({link.note for link in links})
    found = []
    for link in links:
        source_and_key = (link.path, link.key)
        if source_and_key not in outlived:
            outlived[source_and_key] = link_queries.count_outlived_edits(tx, *source_and_key)
        met = 0.0
        if link.leads is not None and link.leads != link.path:
            one, other = (link.leads, link.path) if by_target else (link.path, link.leads)
            if one not in together:
                together[one] = co_access_pairs.read_weights(tx, one, now)
            met = together[one].get(other, 0.0)
        found.append(_to_graph_link(tx, link, weigh_link(outlived[source_and_key], met)))
    return found


def _to_graph_link(tx: Reader, link: ResolvedLink, weight: float) -> GraphLink:
    could_be = link_queries.find_fitting_paths(tx, link.key, MAX_FITTING) if link.leads is None else []
    return GraphLink(
        source=link.path,
        target=link.leads,
        exists=link.leads is not None,
        line=link.line,
        as_written=link.target,
        kind=link.kind,
        heading=link.heading or None,
        block=link.block or None,
        alias=link.alias or None,
        embed=link.embed or None,
        weight=weight,
        could_be=could_be or None,
    )
