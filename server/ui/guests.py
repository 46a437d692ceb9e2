"""Who sits at the browser: a person who signed in, or the owner where nobody has to."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request

from auth.people.people import principal_of
from auth.principal import Principal, owner
from server.oauth.visits import Visit, Visits
from server.ui.parts import ConsoleParts


@dataclass(frozen=True, slots=True)
class Guest:
    """``name``: as whom they are signed in; None: they did not have to. ``address``: the peer's, or the
    one a trusted proxy names."""

    principal: Principal
    name: str | None
    visit: Visit
    form_value: str
    address: str | None


async def find_guest(parts: ConsoleParts, visits: Visits, request: Request, *, is_use: bool = True) -> Guest | None:
    """Who makes a request; None: somebody who has to sign in first. ``is_use``: as for ``Visits.open``."""
    visit = await visits.open(request, is_use=is_use)
    address = request.client.host if request.client else None
    if not parts.signs_in:
        return Guest(owner("loopback"), None, visit, visits.form_value(visit), address)
    if visit.person is None:
        return None
    return Guest(principal_of(visit.person), visit.person, visit, visits.form_value(visit), address)
