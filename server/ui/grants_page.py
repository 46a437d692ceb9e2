"""Who may do what where: a row for each subject, a column for each vault, and the forms that change it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from auth.access import EVERY_VAULT
from auth.grants import Grant, check_subject, find_grants, grants_of, list_issuers, remove_grant, set_grant
from auth.principal import LOCAL, local_names
from auth.roles import Role, parse_role
from server.administration.grants import issuer_of, issuer_of_grant
from server.administration.vault_names import require_vaults
from server.ui.admin_forms import ROLES, all_vaults, ask_first, has_agreed, is_looking, name_field, vault_choices
from server.ui.admin_view import AdminView
from server.ui.narrowing import ROWS, narrowing_of
from server.ui.page import AdminPage
from server.ui.vault_view import Complaint, refusal_of
from vaults.errors import StrongroomError

COLUMNS = 30
"""Vaults side by side at most."""


@dataclass(frozen=True, slots=True)
class GrantRow:
    """Everything granted to one subject of one issuer, by vault."""

    subject: str
    issuer: str
    grants: Mapping[str, Grant]


def rows_of(grants: Iterable[Grant]) -> list[GrantRow]:
    """Grants by whose they are."""
    rows: dict[tuple[str, str], dict[str, Grant]] = {}
    for each in grants:
        rows.setdefault((each.subject, each.issuer), {})[each.vault] = each
    return [GrantRow(subject, issuer, held) for (subject, issuer), held in rows.items()]


def columns_of(rows: Sequence[GrantRow], vaults: Sequence[str]) -> list[str]:
    """Every vault there is; where these are too many, those for which somebody in the rows has a grant."""
    named = {vault for row in rows for vault in row.grants}
    known = [*vaults, *sorted(named.difference(vaults))]
    return known if len(known) <= COLUMNS else [each for each in known if each in named]


async def show(view: AdminView) -> Response:
    """The page."""
    return await _page(view)


async def change(view: AdminView) -> Response:
    """Give or take away a grant, here or from the page of one subject."""
    if is_looking(view):
        return await _page(view)
    try:
        match view.text("do"):
            case "set":
                return await _set(view)
            case "remove":
                return await _remove(view)
    except StrongroomError as failure:
        return await _page(view, refusal_of(failure))
    return view.go("grants")


async def _set(view: AdminView) -> Response:
    subject, vault, role = (
        check_subject(name_field(view, "subject")),
        name_field(view, "vault"),
        parse_role(view.text("role")),
    )
    services, issuers = view.services, view.services.settings.auth.issuer_urls
    await services.control.read(lambda tx: require_vaults(tx, [vault]))
    whose = name_field(view, "issuer") or await services.control.read(lambda tx: issuer_of(tx, issuers, subject))
    grant = {"subject": subject, "issuer": whose, "vault": vault}
    if role < Role.ADMIN and _is_own_administration(view, **grant) and not has_agreed(view):
        return ask_first(view, "grants", "own_grant", subject, "grants", do="set", role=role.label, **grant)
    async with view.recorded("grant", "set", vault=vault, subject=subject, issuer=whose, role=role.label):
        await services.access_cache.write(lambda tx: set_grant(tx, subject, whose, vault, role))
    return _go_on(view, subject, whose, "set_grant")


async def _remove(view: AdminView) -> Response:
    subject, vault = name_field(view, "subject"), name_field(view, "vault")
    services, issuers = view.services, view.services.settings.auth.issuer_urls
    whose = name_field(view, "issuer") or await services.control.read(
        lambda tx: issuer_of_grant(tx, issuers, subject, vault)
    )
    grant = {"subject": subject, "issuer": whose, "vault": vault}
    if _is_own_administration(view, **grant) and not has_agreed(view):
        return ask_first(view, "grants", "own_grant", subject, "grants", do="remove", **grant)
    async with view.recorded("grant", "remove", vault=vault, subject=subject, issuer=whose):
        await services.access_cache.write(lambda tx: remove_grant(tx, subject, whose, vault))
    return _go_on(view, subject, whose, "remove_grant")


def _is_own_administration(view: AdminView, subject: str, issuer: str, vault: str) -> bool:
    """Whether this grant makes the person admin of everything: without it they may be shut out from here."""
    principal = view.guest.principal
    if vault != EVERY_VAULT or issuer != principal.issuer or subject not in principal.names:
        return False
    held = view.services.access_cache.current.grants.get(issuer, {}).get(subject, {})
    return held.get(EVERY_VAULT) == Role.ADMIN


def _go_on(view: AdminView, subject: str, issuer: str, done: str) -> Response:
    if not view.parts.administers(view.guest.principal):
        return RedirectResponse(f"{view.parts.base}/ui/", 303)
    return view.go(f"grant?{urlencode({'subject': subject, 'issuer': issuer, 'done': done})}")


async def _page(view: AdminView, refused: Complaint | None = None) -> Response:
    asked, control = narrowing_of(view.request), view.services.control
    grants, total = await control.read(lambda tx: find_grants(tx, asked.text, ROWS, asked.offset))
    rows = rows_of(grants)
    columns = columns_of(rows, all_vaults(view))
    return view.page(
        "grants",
        here="grants",
        status=200 if refused is None else refused.status,
        refused=refused,
        asked=asked,
        rows=rows,
        total=total,
        columns=columns[:COLUMNS],
        hidden_columns=len(columns[COLUMNS:]),
        vaults=vault_choices(view, [view.text("vault")]),
        is_open=refused is not None or is_looking(view),
        roles=ROLES,
        issuers=issuer_choices(view, await control.read(list_issuers)),
        typed={name: view.text(name) for name in ("subject", "vault", "role", "issuer")},
    )


def issuer_choices(view: AdminView, granted: Iterable[str]) -> list[str]:
    """Whose identities a grant may be for: those signed in here, of issuers in the settings, of issuers granted to."""
    named = {*view.services.settings.auth.issuer_urls, *granted} - {LOCAL}
    return [LOCAL, *sorted(named)]


async def show_subject(view: AdminView) -> Response:
    """The page of one subject: each of its grants with the forms that change it. Who signs in here, or holds a token
    from here, is the same with and without ``sub:``."""
    asked = view.request.query_params
    subject, issuer = asked.get("subject", ""), asked.get("issuer", "")
    names = local_names(subject.removeprefix("sub:")) if issuer == LOCAL else {subject}
    mine = await view.services.control.read(lambda tx: grants_of(tx, names, issuer))
    held = {each.vault for each in mine if each.subject == subject}
    return view.page(
        "grant",
        here="grants",
        subject=subject,
        issuer=issuer,
        grants=mine,
        is_here=issuer == LOCAL,
        vaults=vault_choices(view, [view.text("vault")], held),
        roles=ROLES,
        typed={name: view.text(name) for name in ("vault", "role")},
    )


PAGE = AdminPage("grants", show, change)
SUBJECT = AdminPage("grant", show_subject, show_subject)
"""Its forms go to the other page, but for the one that looks for vaults."""
