"""What was asked of a vault, by tool and by caller, what it grew by, and what nobody reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from server.ui.page import VaultPage
from server.ui.vault_view import VaultView, complaint_of

PERIODS = ("1d", "7d", "30d", "90d")
WIDTH, HEIGHT = 640, 120
"""Of a plot, in its own units."""


@dataclass(frozen=True, slots=True)
class DailyPlot:
    """A line over days. ``points``: of an SVG polyline of ``WIDTH`` by ``HEIGHT``; ``low`` and ``high``: what its
    ends stand for."""

    name: str
    points: str
    low: int
    high: int


async def show(view: VaultView) -> Response:
    """The page."""
    since = view.request.query_params.get("since", "")
    since = since if since in PERIODS else "30d"
    outcome = await view.ask("usage", since=since)
    complaint = complaint_of(outcome)
    if complaint is not None:
        return view.page("refused", here="usage", status=complaint.status, complaint=complaint)
    used = outcome.content
    most = max((each["calls"] for each in used["tools"]), default=1)
    return view.page(
        "usage",
        here="usage",
        used=used,
        since=since,
        periods=PERIODS,
        totals={name: sum(each[name] for each in used["tools"]) for name in ("calls", "errors")},
        shares={each["tool"]: round(100 * each["calls"] / most) for each in used["tools"]},
        plots=[plot for name in ("memories", "notes", "size") if (plot := draw_days(name, used["growth"])) is not None],
    )


def draw_days(name: str, days: Sequence[Mapping[str, Any]]) -> DailyPlot | None:
    """The plot of a number over days; None for fewer than two, which make no line."""
    values = [int(day[name]) for day in days]
    if len(values) < 2:
        return None
    low, high = min(values), max(values)
    span, step = high - low or 1, WIDTH / (len(values) - 1)
    points = (f"{at * step:.1f},{HEIGHT - (value - low) / span * HEIGHT:.1f}" for at, value in enumerate(values))
    return DailyPlot(name, " ".join(points), low, high)


PAGE = VaultPage("usage", show)
