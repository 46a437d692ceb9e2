"""What the tests of the administration share: its admin's browser, and what the audit says."""

from __future__ import annotations

import json
from typing import Any

from auth.access import EVERY_VAULT
from auth.roles import Role
from ops.audit.links import INSTALLATION
from tests.server.ui.stage import Guest, Stage, forms_of

EVIL = "<script>alert(1)</script>\"'{{7*7}}"
"""A name that can be one: printable, and made to be more than text."""

HIDDEN = "\u202eevil\u202c<b>"
"""What only whoever calls somebody a name may hide there: it turns a line around."""


async def admin(stage: Stage, name: str) -> Guest:
    """The browser of somebody who is admin of every vault."""
    return await stage.person(name, Role.ADMIN, EVERY_VAULT)


async def acts(stage: Stage, tool: str, by: str | None = None) -> list[dict[str, Any]]:
    """What the audit of the installation says was done with ``tool``, oldest first; ``by``: by this person. That they
    signed in is left out."""
    rows = await stage.services.audit.chain(INSTALLATION).read(
        lambda tx: tx.all("SELECT body FROM entries ORDER BY seq")
    )
    said = [each for each in map(json.loads, (body for (body,) in rows)) if each.get("tool") == tool]
    return [each for each in said if each.get("action") != "sign_in" and by in (None, each.get("subject"))]


async def written(stage: Stage) -> str:
    """Everything the audit of the installation holds."""
    rows = await stage.services.audit.chain(INSTALLATION).read(lambda tx: tx.all("SELECT body FROM entries"))
    return "\n".join(body for (body,) in rows)


async def send_as_if(guest: Guest, other: Guest, address: str, **values: Any) -> int:
    """Send a form of the administration with the value of somebody else's session; the status of the answer."""
    theirs = next(each.fields["form"] for each in forms_of(await other.open("/ui/")) if "form" in each.fields)
    return (await guest.http.post(address, data={"form": theirs, **values})).status_code


async def post(guest: Guest, address: str, **values: Any) -> Any:
    """Send a form with this browser's own value."""
    mine = next(each.fields["form"] for each in forms_of(await guest.open("/ui/")) if "form" in each.fields)
    return await guest.http.post(address, data={"form": mine, **values})
