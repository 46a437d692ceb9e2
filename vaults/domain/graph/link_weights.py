"""What a link weighs, worked out when it is asked.

``1 + ln(1 + changes of its note it outlived) + ln(1 + how much its two notes were found and read together)``: a link
that is kept through many edits was meant, and one whose ends are used together is used.
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
"""Notes named that a name without one meaning fits."""


def weigh_link(survived: int, together: float) -> float:
    """Of one link, 1 or more."""
    return round(1.0 + math.log1p(max(0, survived)) + math.log1p(max(0.0, together)), 2)


def to_graph_links(tx: Reader, links: Sequence[ResolvedLink], now: str) -> list[GraphLink]:
    """Links as an answer shows them, but for the lines they stand in."""
    outlived: dict[tuple[str, str], int] = {}
    together: dict[str, dict[str, float]] = {}
    # Asked of whichever end is the same in most of them, so that it is asked seldom.
    by_target = len({link.meant for link in links}) < len({link.note for link in links})
    found = []
    for link in links:
        said = (link.path, link.key)
        if said not in outlived:
            outlived[said] = link_queries.count_outlived_edits(tx, *said)
        met = 0.0
        if link.leads is not None and link.leads != link.path:
            one, other = (link.leads, link.path) if by_target else (link.path, link.leads)
            if one not in together:
                together[one] = co_access_pairs.read_weights(tx, one, now)
            met = together[one].get(other, 0.0)
        found.append(_to_graph_link(tx, link, weigh_link(outlived[said], met)))
    return found


def _to_graph_link(tx: Reader, link: ResolvedLink, weighs: float) -> GraphLink:
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
        weight=weighs,
        could_be=could_be or None,
    )
