"""Who signs in here, and inviting somebody."""

from __future__ import annotations

from starlette.responses import Response

from auth.people.people import find_people
from auth.roles import parse_role
from server.administration import people
from server.administration.vault_names import require_vaults
from server.ui.admin_forms import ROLES, is_looking, name_field, vault_choices, vaults_field
from server.ui.admin_view import AdminView
from server.ui.narrowing import ROWS, narrowing_of
from server.ui.page import AdminPage
from server.ui.vault_view import Complaint, refusal_of
from vaults.errors import InvalidArgument, StrongroomError


async def show(view: AdminView) -> Response:
    """The page."""
    return await _page(view)


async def change(view: AdminView) -> Response:
    """Invite somebody, and show their link this once."""
    if is_looking(view):
        return await _page(view)
    try:
        return await _invite(view)
    except StrongroomError as failure:
        return await _page(view, refusal_of(failure))


async def _invite(view: AdminView) -> Response:
    name, vaults, role = name_field(view, "name"), vaults_field(view), parse_role(view.text("role"))
    services, now = view.services, view.parts.now()
    people.require_sign_in(services.settings.auth, view.parts.url)
    await services.control.read(lambda tx: require_vaults(tx, vaults))
    given = role.label if vaults else None
    async with view.recorded("user", "invite", subject=name, vaults=list(vaults), role=given):
        secret = await services.access_cache.write(lambda tx: people.invite(tx, name, vaults, role, now))
    return show_link(view, name, secret)


def show_link(view: AdminView, name: str, secret: str) -> Response:
    """The only page that a new link stands on."""
    return view.page("link", here="people", name=name, link=people.link_of(view.parts.url, secret))


async def _page(view: AdminView, refused: Complaint | None = None) -> Response:
    asked = narrowing_of(view.request)
    found, total = await view.services.control.read(lambda tx: find_people(tx, asked.text, ROWS, asked.offset))
    return view.page(
        "people",
        here="people",
        status=200 if refused is None else refused.status,
        refused=refused,
        asked=asked,
        people=[(each, people.state_of(each)) for each in found],
        total=total,
        signs_in=_signs_in(view),
        vaults=vault_choices(view, vaults_field(view)),
        is_open=refused is not None or is_looking(view),
        roles=ROLES,
        typed={"name": view.text("name"), "vaults": vaults_field(view), "role": view.text("role") or "writer"},
    )


def _signs_in(view: AdminView) -> bool:
    try:
        people.require_sign_in(view.services.settings.auth, view.parts.url)
    except InvalidArgument:
        return False
    return True


PAGE = AdminPage("people", show, change)
