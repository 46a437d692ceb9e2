"""One vault as the installation keeps it: its name, its plan, whether it is served, and its end."""

from __future__ import annotations

from dataclasses import asdict, replace

from starlette.responses import Response

from auth.plan_holders import PlanHolder, remove_plan, set_plan
from auth.plans import defined_plans
from ops.audit.entries import MAX_NAME
from server import vault_admin
from server.ui.admin_view import AdminView
from server.ui.page import AdminPage
from server.ui.vault_lines import VaultLine, read_line
from server.ui.vault_view import Complaint, NoSuchVault, refusal_of
from vaults.errors import ConfirmationRequired, Conflict, InvalidArgument, NotFound, StrongroomError


async def show(view: AdminView) -> Response:
    """The page."""
    return await _page(view)


async def change(view: AdminView) -> Response:
    """Do what one of its forms asks for."""
    act = view.text("do")
    try:
        _require_same(view, await _line(view))
        match act:
            case "archive" | "unarchive":
                return await _serve(view, act)
            case "rename" | "copy":
                return await _name_anew(view, act)
            case "plan":
                return await _put_on_plan(view)
            case _:
                return view.go(_address(_name(view)))
    except StrongroomError as failure:
        return await _page(view, act, refusal_of(failure))


async def _serve(view: AdminView, act: str) -> Response:
    name = _name(view)
    do = vault_admin.archive if act == "archive" else vault_admin.unarchive
    async with view.recorded("vault", act, vault=name):
        await do(view.services, name)
    return view.go(f"{_address(name)}?done={act}_vault")


async def _name_anew(view: AdminView, act: str) -> Response:
    name, new = _name(view), view.text("to").strip()[:MAX_NAME]
    do = vault_admin.rename if act == "rename" else vault_admin.copy
    async with view.recorded("vault", act, vault=name, to=new):
        await do(view.services, name, new)
    is_limited = act == "rename" and name in view.services.settings.storage.vaults
    return view.go(f"{_address(new)}?done={'rename_limited' if is_limited else act}_vault")


async def _put_on_plan(view: AdminView) -> Response:
    """No plan: back to the default one."""
    name, plan, services = _name(view), view.text("plan")[:MAX_NAME], view.services
    if not services.registry_cache.known(name):
        raise NotFound(f"no vault {name} is served", hint="an archived vault keeps its plan")
    holder = PlanHolder("vault", name)
    if not plan:
        async with view.recorded("plan", "unset", **asdict(holder)):
            await services.access_cache.write(lambda tx: remove_plan(tx, holder))
        return view.go(f"{_address(name)}?done=plan_vault")
    plans = defined_plans(services.settings.plans)
    if plan not in plans:
        raise InvalidArgument("plan", f"must be one of {', '.join(plans)}")
    async with view.recorded("plan", "set", plan=plan, **asdict(holder)):
        await services.access_cache.write(lambda tx: set_plan(tx, holder, plan))
    return view.go(f"{_address(name)}?done=plan_vault")


async def show_deletion(view: AdminView) -> Response:
    """The page that asks for the name again."""
    return _ask_for_name(view, await _line(view))


async def delete(view: AdminView) -> Response:
    """Delete the vault for good, after a last backup, and say where that lies. One whose files are gone is deleted
    without, by who says that they are."""
    line = await _line(view)
    name = line.entry.name
    do = vault_admin.delete_lost if view.text("lost") == "yes" else vault_admin.delete
    try:
        _require_same(view, line)
        async with view.recorded("vault", "delete", vault=name):
            gone = await do(view.services, name, confirm=view.text("again").strip())
    except StrongroomError as failure:
        return _ask_for_name(view, line, _in_words_of_the_page(failure))
    return view.page("vault_deleted", here="vaults", name=name, backup=gone.backup)


def _in_words_of_the_page(failure: StrongroomError) -> Complaint:
    """Without the hints that name options of the command: the page itself says what to type and to tick."""
    names_option = isinstance(failure, ConfirmationRequired) or failure.details.get("reason") == "missing"
    return replace(refusal_of(failure), hint="") if names_option else refusal_of(failure)


def _require_same(view: AdminView, line: VaultLine) -> None:
    """Raise ``Conflict`` where the form was made for another vault, which had this name then."""
    if view.text("vault_id") != line.entry.vault_id:
        raise Conflict(f"another vault is called {line.entry.name} by now", hint="nothing was changed")


def _ask_for_name(view: AdminView, line: VaultLine, refused: Complaint | None = None) -> Response:
    status = 200 if refused is None else refused.status
    return view.page("vault_deletion", here="vaults", status=status, line=line, refused=refused)


async def _page(view: AdminView, act: str = "", refused: Complaint | None = None) -> Response:
    settings = view.services.settings
    return view.page(
        "vault_life",
        here="vaults",
        status=200 if refused is None else refused.status,
        act=act,
        refused=refused,
        typed=view.text("to"),
        line=await _line(view),
        plans=list(defined_plans(settings.plans)),
        default_plan=settings.limits.plan,
    )


async def _line(view: AdminView) -> VaultLine:
    try:
        return await read_line(view.services, _name(view))
    except NotFound:
        raise NoSuchVault("nothing is here") from None


def _name(view: AdminView) -> str:
    return str(view.request.path_params["name"])[:MAX_NAME]


def _address(name: str) -> str:
    return f"vaults/{name}"


PAGE = AdminPage("vaults/{name}", show, change)
DELETION = AdminPage("vaults/{name}/delete", show_deletion, delete)
