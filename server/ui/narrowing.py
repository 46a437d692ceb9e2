"""Which rows of a long list somebody asks for: those with a text, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from auth.principal import NAME_LIMIT
from server.ui.forms import whole_number

ROWS = 100
"""Rows of one page."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """``page`` counts from 1."""

    text: str
    page: int

    @property
    def offset(self) -> int:
        """How many rows stand before the page."""
        return (self.page - 1) * ROWS

    @property
    def end(self) -> int:
        """How many rows there are at least where another page follows."""
        return self.page * ROWS


def narrowing_of(request: Request) -> Narrowing:
    """What an address asks for: everything from the first row, where it says nothing else."""
    page = whole_number(request.query_params.get("page", ""), 7) or 1
    return Narrowing(request.query_params.get("text", "").strip()[:NAME_LIMIT], page)
