"""``strongroom evict``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from server.settings import LoadedSettings
    from vaults.vault import Vault

SHOWN = 20
"""Items listed of each vault; the rest is counted. JSON has all."""

MB = 1024 * 1024


def add_to(app: typer.Typer) -> None:
    app.command("evict")(evict)


def evict(
    ctx: typer.Context,
    *,
    vault: Annotated[str | None, typer.Option(help="this vault only; default: every vault")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only say what would go, and why")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="take the last run back, as far as copies are kept")] = False,
    show_log: Annotated[bool, typer.Option("--log", help="what went, when and why")] = False,
    compact: Annotated[
        bool, typer.Option("--compact", help="rewrite the database without free room; needs as much again")
    ] = False,
    empty_copies: Annotated[
        bool, typer.Option("--empty-copies", help="drop the copies of what went, for good: no undo")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False,
) -> None:
    """Let go what is above the limits of storage. A running server does it by itself. Exit code 1: a limit cannot be
    kept."""
    from server.cli.output import say, say_json
    from server.cli.runtime import load_settings, run_async

    modes: dict[str, tuple[bool, Work]] = {
        "--dry-run": (dry_run, _plan),
        "--undo": (undo, _undo),
        "--log": (show_log, _log),
        "--compact": (compact, _compact),
        "--empty-copies": (empty_copies, _empty),
    }
    work = _choose({name: each for name, (asked, each) in modes.items() if asked}, vault)
    found = run_async(_run(load_settings(ctx), vault, work))
    if as_json:
        say_json({"vaults": found})
    else:
        for each in found:
            for line in each["said"]:
                say(line)
    raise typer.Exit(1 if any(each.get("problem") for each in found) else 0)


Work = Callable[["Vault"], Awaitable[dict[str, Any]]]
"""What is done to a vault; returns what JSON has of it, with the lines for people under ``said``."""


def _choose(asked: dict[str, Work], vault: str | None) -> Work:
    from vaults.errors import InvalidArgument

    if len(asked) > 1:
        raise InvalidArgument(list(asked)[1], f"and {next(iter(asked))} exclude each other")
    name, work = next(iter(asked.items()), ("", _evict))
    if vault is None and name in ("--undo", "--empty-copies"):
        raise InvalidArgument("--vault", f"is needed with {name}")
    return work


async def _run(loaded: LoadedSettings, name: str | None, work: Work) -> list[dict[str, Any]]:
    from contextlib import AsyncExitStack

    from server.cli.admin_acts import recorded_in
    from server.cli.runtime import open_all, require_vault

    async with open_all(loaded) as services:
        entries = services.registry_cache.entries() if name is None else [require_vault(services, name)]
        found = []
        for entry in entries:
            async with services.pool.lease(entry) as vault, AsyncExitStack() as stack:
                if work not in (_plan, _log):
                    act = recorded_in(services, entry.name, "evict", work.__name__.strip("_"))
                    await stack.enter_async_context(act)
                found.append({"vault": entry.name, **await work(vault)})
        return found


async def _evict(vault: Vault) -> dict[str, Any]:
    from vaults.domain.maintenance.eviction import evict

    done = await evict(vault)
    went = _counted(done.went) if done.went else "nothing had to go"
    said = f"{vault.name}: {went}; {_mb(done.before)} before, {_mb(done.after)} now, {_mb(done.returned)} given back"
    if not vault.limits.are_set:
        said = f"{vault.name}: no limit is set, so nothing goes"
    return {
        "went": dict(done.went),
        "bytes_before": done.before,
        "bytes": done.after,
        "bytes_returned": done.returned,
        "problem": done.problem,
        "said": [said, *_problem(done.problem)],
    }


async def _plan(vault: Vault) -> dict[str, Any]:
    from collections import Counter

    from vaults.domain.maintenance import eviction_need, eviction_outlook

    limits = vault.limits
    plan = await eviction_need.make_plan(vault, limits)
    outlook = await eviction_outlook.read_outlook(vault, None)
    size = await vault.db.read(lambda tx: tx.size())
    goes = [(each.candidate, each.reason) for each in plan.goes]
    problem = outlook.problem if outlook else None
    limit = f" of {_mb(limits.max_size)}" if limits.max_size is not None else ""
    head = f"{vault.name}: {_mb(size)}{limit}; " + (
        f"{_counted(Counter(one.kind for one, _ in goes))} would go, about {plan.size:,} characters"
        if goes
        else "nothing would go now"
    )
    if not limits.are_set:
        head = f"{vault.name}: {_mb(size)}; no limit is set, so nothing goes"
    elif outlook is not None and outlook.next_at and not goes:
        head += f"; the next one is too old at {outlook.next_at}"
    lines = [f"  {one.used[:10]}  {one.kind}  {one.title}  ({reason})" for one, reason in goes[:SHOWN]]
    more = [f"  … and {len(goes) - SHOWN:,} more"] if len(goes) > SHOWN else []
    pinned = [f"  {len(plan.pinned):,} stay: {_pins(plan.pinned)}"] if plan.pinned else []
    return {
        "bytes": size,
        "max_size": limits.max_size,
        "retention": outlook.retention if outlook else {},
        "would_go": [
            {
                "kind": one.kind, "id": one.id, "title": one.title, "characters": one.size, "last_used": one.used,
                "reason": reason,
            }
            for one, reason in goes
        ],
        "pinned": [{"kind": one.kind, "id": one.id, "title": one.title, "why": one.pin} for one in plan.pinned],
        "next_at": outlook.next_at if outlook else None,
        "problem": problem,
        "said": [head, *lines, *more, *pinned, *_problem(problem)],
    }  # fmt: skip


def _pins(pinned: list[Any]) -> str:
    from collections import Counter

    counts = Counter(one.pin for one in pinned)
    return ", ".join(f"{count:,} {why}" for why, count in counts.most_common())


async def _undo(vault: Vault) -> dict[str, Any]:
    from vaults.domain.maintenance import eviction, eviction_undo

    done = await eviction_undo.undo(vault)
    said = [f"{vault.name}: {done.restored:,} came back"] if done.restored else [f"{vault.name}: nothing came back"]
    if done.lost:
        said.append(f"  of {done.lost:,} no copy is left")
    if done.taken:
        said.append(f"  {done.taken:,} have something else in their place now")
    if await vault.db.read(lambda tx: eviction.is_above_size(vault, tx)):
        said.append("  the vault is above max_size now: raise it, or others go instead")
    return {"restored": done.restored, "lost": done.lost, "taken": done.taken, "said": said}


async def _log(vault: Vault) -> dict[str, Any]:
    from dataclasses import asdict

    from vaults.domain.maintenance import eviction_log

    rows = await vault.db.read(lambda tx: eviction_log.list_log(tx, None, eviction_log.ROWS_KEPT))
    head = f"{vault.name}: {len(rows):,} in the log" if rows else f"{vault.name}: nothing was let go"
    lines = [
        f"  {each.at[:19]}Z  {each.kind}  {each.title or each.id}  ({each.reason}"
        f"{', came back' if each.state == 'restored' else ', copy kept' if each.kept else ''})"
        for each in rows[:SHOWN]
    ]
    more = [f"  … and {len(rows) - SHOWN:,} more"] if len(rows) > SHOWN else []
    return {"log": [asdict(each) for each in rows], "said": [head, *lines, *more]}


async def _compact(vault: Vault) -> dict[str, Any]:
    from vaults.db import free_pages
    from vaults.errors import StorageFull

    before = vault.db.path.stat().st_size
    if not vault.disk.has_room_for(2 * before):  # the new file, and the log it goes through
        raise StorageFull("there is no room to rewrite the database", hint="free twice its size, then try again")
    await free_pages.compact(vault.db)
    after = vault.db.path.stat().st_size
    said = f"{vault.name}: {_mb(before)} before, {_mb(after)} now"
    return {"bytes_before": before, "bytes": after, "said": [said]}


async def _empty(vault: Vault) -> dict[str, Any]:
    from vaults.domain.maintenance import eviction_undo

    count = await eviction_undo.empty_copies(vault)
    return {"dropped": count, "said": [f"{vault.name}: {count:,} copies are gone for good"]}


def _problem(problem: str | None) -> list[str]:
    return [f"  {problem}"] if problem else []


def _counted(counts: Any) -> str:
    from vaults.domain.text.plurals import pluralize

    return ", ".join(pluralize(count, *_NOUNS.get(kind, (kind,))) for kind, count in sorted(counts.items()))


_NOUNS: dict[str, tuple[str, ...]] = {"code": ("code file",), "memory": ("memory", "memories")}


def _mb(size: int) -> str:
    return f"{size / MB:,.1f} MB"
