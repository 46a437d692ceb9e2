"""``strongroom plan …``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from auth.plan_holders import PlanAssignment, PlanHolder
    from server.settings import LoadedSettings
    from vaults.db.transactions import Transactions

VaultName = Annotated[str | None, typer.Option("--vault", help="a vault")]
Subject = Annotated[
    str | None,
    typer.Option("--subject", help="a caller as in a grant: subject, e-mail or group; sub:…, email:…, group:…"),
]
Issuer = Annotated[
    str | None, typer.Option(help="whose identity: an issuer's URL, or local; needed if there are several")
]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(name="plan", help="Put vaults and callers on plans, which limit them.", no_args_is_help=True)
    group.command("list")(show_list)
    group.command("set")(set_one)
    group.command("unset")(unset)
    app.add_typer(group)


def show_list(
    ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False
) -> None:
    """List plans and who is on which. With the numbers of each plan."""
    from server.cli.output import say, say_json, say_table
    from server.cli.runtime import load_settings, run_async

    loaded = load_settings(ctx)
    holdings = run_async(_holdings(loaded))
    plans = _list_plans(loaded)
    holders = [_line(each, plans) for each in holdings]
    if as_json:
        say_json({"default": loaded.settings.limits.plan, "plans": plans, "holders": holders})
        return
    names = ("stores_per_day", "memories", "size", "calls_per_minute")
    default = loaded.settings.limits.plan
    rows = [
        (name, *(_number(numbers[each]) for each in names), "default" if name == default else "")
        for name, numbers in plans.items()
    ]
    say_table(("PLAN", "STORES A DAY", "MEMORIES", "BYTES", "CALLS A MINUTE", ""), rows)
    if holders:
        say()
        found = [(each["kind"], each["name"], each["issuer"], each["plan"], each["note"]) for each in holders]
        say_table(("ON A PLAN", "NAME", "ISSUER", "PLAN", ""), found)


def _list_plans(loaded: LoadedSettings) -> dict[str, dict[str, Any]]:
    from dataclasses import asdict

    from auth.plans import defined_plans

    return {name: asdict(limits) for name, limits in defined_plans(loaded.settings.plans).items()}


def _line(assignment: PlanAssignment, plans: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "kind": assignment.holder.kind,
        "name": assignment.holder.name,
        "issuer": assignment.holder.issuer,
        "plan": assignment.plan,
        "since": assignment.since,
        "note": "" if assignment.plan in plans else "no such plan: counts as the default",
    }


def _number(number: int | None) -> str:
    return "no bound" if number is None else f"{number:,}"


async def _holdings(loaded: LoadedSettings) -> list[PlanAssignment]:
    from auth.plan_holders import list_plan_assignments
    from server.cli.runtime import open_control

    async with open_control(loaded) as control:
        return await control.read(list_plan_assignments)


def set_one(
    ctx: typer.Context,
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="unlimited, free, or one of your settings")],
    vault: VaultName = None,
    subject: Subject = None,
    issuer: Issuer = None,
) -> None:
    """Put a vault or a caller on a plan. A running server follows within 5 seconds."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async
    from vaults.errors import InvalidArgument

    loaded = load_settings(ctx)
    plans = _list_plans(loaded)
    if plan not in plans:
        raise InvalidArgument("PLAN", f"must be one of {', '.join(plans)}")
    holder = run_async(_set(loaded, plan, vault, subject, issuer))
    say(f"{_holder_name(holder)} is on plan {plan}")


async def _set(
    loaded: LoadedSettings, plan: str, vault: str | None, subject: str | None, issuer: str | None
) -> PlanHolder:
    from dataclasses import asdict

    from auth.plan_holders import set_plan
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control

    async with open_control(loaded) as control:
        holder = await _holder(control, loaded, vault, subject, issuer)
        async with recorded(loaded, "plan", "set", plan=plan, **asdict(holder)):
            await control.write(lambda tx: set_plan(tx, holder, plan))
    return holder


def unset(ctx: typer.Context, vault: VaultName = None, subject: Subject = None, issuer: Issuer = None) -> None:
    """Put a vault or a caller back on the default plan."""
    from server.cli.output import say
    from server.cli.runtime import load_settings, run_async

    loaded = load_settings(ctx)
    holder = run_async(_unset(loaded, vault, subject, issuer))
    say(f"{_holder_name(holder)} is on the default plan, {loaded.settings.limits.plan}")


async def _unset(loaded: LoadedSettings, vault: str | None, subject: str | None, issuer: str | None) -> PlanHolder:
    from dataclasses import asdict

    from auth.plan_holders import list_plan_assignments, remove_plan
    from server.cli.admin_acts import recorded
    from server.cli.runtime import open_control

    async with open_control(loaded) as control:
        if subject is not None and issuer is None:
            issuers = {
                each.holder.issuer for each in await control.read(list_plan_assignments) if each.holder.name == subject
            }
            issuer = issuers.pop() if len(issuers) == 1 else None
        holder = await _holder(control, loaded, vault, subject, issuer)
        async with recorded(loaded, "plan", "unset", **asdict(holder)):
            await control.write(lambda tx: remove_plan(tx, holder))
    return holder


async def _holder(
    control: Transactions, loaded: LoadedSettings, vault: str | None, subject: str | None, issuer: str | None
) -> PlanHolder:
    from auth.grants import check_subject
    from auth.plan_holders import PlanHolder
    from server.administration.grants import issuer_of
    from server.administration.vault_names import require_vaults
    from vaults.errors import InvalidArgument

    if (vault is None) == (subject is None):
        raise InvalidArgument("--vault", "or --subject is needed, not both")
    if subject is not None:
        checked = check_subject(subject)
        issuers = loaded.settings.auth.issuer_urls
        whose = issuer if issuer is not None else await control.read(lambda tx: issuer_of(tx, issuers, checked))
        return PlanHolder("subject", checked, whose)
    if issuer is not None:
        raise InvalidArgument("--issuer", "goes with --subject")
    if vault == "*":
        raise InvalidArgument("--vault", "must be one vault; limits.plan is the plan of all that are on none")
    assert vault is not None
    await control.read(lambda tx: require_vaults(tx, [vault]))
    return PlanHolder("vault", vault)


def _holder_name(holder: PlanHolder) -> str:
    return f"vault {holder.name}" if holder.kind == "vault" else f"{holder.name} ({holder.issuer})"
