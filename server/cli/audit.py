"""``strongroom audit …``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ops.audit.entries import StoredEntry
    from ops.audit.searching import AuditQuery
    from ops.audit.verification import ChainReport
    from server.settings import LoadedSettings

VaultName = Annotated[str | None, typer.Option("--vault", help="a vault's chain; a vault id for one that is gone")]
Installation = Annotated[bool, typer.Option("--installation", help="the chain of what concerns no single vault")]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for programs")]
Subject = Annotated[str | None, typer.Option("--subject", help="only of this subject")]
Tool = Annotated[str | None, typer.Option("--tool", help="only of this tool, or kind of act: grant, token, vault")]
Since = Annotated[str | None, typer.Option("--since", help="only from this time on, such as 2026-11-25")]
Until = Annotated[str | None, typer.Option("--until", help="only before this time")]
Target = Annotated[str | None, typer.Option("--id", help="only about this id or path")]
Outcome = Annotated[str | None, typer.Option("--outcome", help="only with this outcome: ok, or the code of an error")]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(name="audit", help="Read and check the record of who did what.", no_args_is_help=True)
    group.command("verify")(verify)
    group.command("search")(search)
    group.command("export")(export)
    app.add_typer(group)


def verify(
    ctx: typer.Context, vault: VaultName = None, installation: Installation = False, as_json: Json = False
) -> None:
    """Check that nothing was removed, changed or forged. All chains, unless one is named; exit code 1 if one is bad."""
    from server.cli.output import say, say_json
    from server.cli.runtime import load_settings, run_async

    reports, names = run_async(_verify(load_settings(ctx), vault, installation=installation))
    if as_json:
        say_json({"ok": all(each.ok for each in reports), "chains": [_report_row(each, names) for each in reports]})
    else:
        for each in reports:
            say(_describe(each, names.get(each.chain, each.chain)))
    raise typer.Exit(0 if all(each.ok for each in reports) else 1)


async def _verify(
    loaded: LoadedSettings, vault: str | None, *, installation: bool
) -> tuple[list[ChainReport], dict[str, str]]:
    from ops.audit import verification
    from server.cli.admin_acts import open_audit

    names = await _names(loaded)
    chosen = None if vault is None and not installation else [_chain(names, vault, installation=installation)]
    async with open_audit(loaded) as audit:
        return await verification.verify(audit, chosen), names


async def _names(loaded: LoadedSettings) -> dict[str, str]:
    """Vaults by id."""
    from server.cli.runtime import open_control
    from vaults import registry

    async with open_control(loaded) as control:
        return {entry.vault_id: entry.name for entry in await control.read(registry.list_vaults)}


def _chain(names: dict[str, str], vault: str | None, *, installation: bool) -> str:
    from ops.audit.links import INSTALLATION
    from vaults.errors import InvalidArgument, NotFound

    if (vault is None) != installation:
        raise InvalidArgument("--vault", "or --installation is needed, and not both")
    if vault is None:
        return INSTALLATION
    found = [key for key, name in names.items() if vault in (key, name)]
    if found:
        return found[0]
    if _is_id(vault):  # of a vault that was deleted: what was done to it is still known
        return vault
    raise NotFound(f"no vault {vault}", hint="vault list shows what there is")


def _is_id(text: str) -> bool:
    from uuid import UUID

    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def _report_row(report: ChainReport, names: dict[str, str]) -> dict[str, Any]:
    return {
        "chain": report.chain,
        "vault": names.get(report.chain),
        "ok": report.ok,
        "entries": report.entries,
        "first": report.first,
        "last": report.last,
        "signed": report.signed,
        "faults": [{"seq": each.seq, "kind": each.kind} for each in report.faults],
    }


def _describe(report: ChainReport, name: str) -> str:
    if report.ok:
        unsigned = report.last - report.signed
        later = f", {unsigned} of them not signed yet" if unsigned else ""
        return f"{name}: {report.entries} entries, as they were written{later}"
    first = report.faults[0]
    more = f", and {len(report.faults) - 1} more faults" if len(report.faults) > 1 else ""
    return f"{name}: entry {first.seq} {first.kind.replace('_', ' ')}{more}"


def search(
    ctx: typer.Context,
    *,
    vault: VaultName = None,
    installation: Installation = False,
    subject: Subject = None,
    tool: Tool = None,
    since: Since = None,
    until: Until = None,
    target: Target = None,
    outcome: Outcome = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="entries at most, the newest")] = 100,
    as_json: Json = False,
) -> None:
    """Find who did what. Newest first."""
    from server.cli.output import say_json, say_table
    from server.cli.runtime import load_settings, run_async

    query = _query(subject, tool, since, until, target, outcome, limit)
    found = run_async(_search(load_settings(ctx), vault, query, installation=installation))
    entries = [each.fields() | {"seq": each.seq} for each in found]
    if as_json:
        say_json({"entries": entries})
        return
    say_table(("SEQ", "AT", "SUBJECT", "ROLE", "WHAT", "OUTCOME", "CONSENT", "ABOUT"), [_row(each) for each in entries])


def _query(
    subject: str | None,
    tool: str | None,
    since: str | None,
    until: str | None,
    target: str | None,
    outcome: str | None,
    limit: int,
) -> AuditQuery:
    from ops.audit.searching import AuditQuery
    from vaults import clock

    return AuditQuery(
        subject=subject,
        tool=tool,
        since=clock.parse(since, "--since") if since else None,
        until=clock.parse(until, "--until") if until else None,
        target=target,
        outcome=outcome,
        limit=limit,
    )


async def _search(
    loaded: LoadedSettings, vault: str | None, query: AuditQuery, *, installation: bool
) -> list[StoredEntry]:
    from ops.audit import searching
    from server.cli.admin_acts import open_audit

    chain = _chain(await _names(loaded), vault, installation=installation)
    async with open_audit(loaded) as audit:
        return await searching.search(audit, chain, query)


def _row(fields: dict[str, Any]) -> tuple[str, ...]:
    from ops.audit.export_formats import to_shown

    what = " ".join(filter(None, (fields.get("tool"), fields.get("action"))))
    about = dict.fromkeys([*fields.get("targets", ()), *(each[1] for each in fields.get("changes", ()))])
    told = list(about)[:3] or [
        f"{name}={value}" for name, value in fields.get("details", {}).items() if name != "heads"
    ]
    more = f" and {len(about) - 3} more" if len(about) > 3 else ""
    row = (
        fields["seq"],
        fields["at"],
        fields.get("subject", ""),
        fields.get("role", ""),
        what,
        fields["outcome"],
        fields.get("consent", {}).get("answer", ""),
        ", ".join(map(str, told)) + more,
    )
    return tuple(to_shown(str(each)) for each in row)


def export(
    ctx: typer.Context,
    to: Annotated[Path, typer.Option(metavar="FILE", help="where to write it; - for stdout")],
    *,
    vault: VaultName = None,
    installation: Installation = False,
    since: Since = None,
    until: Until = None,
    form: Annotated[
        Literal["jsonl", "csv"], typer.Option("--format", help="jsonl can be checked later; csv is for spreadsheets")
    ] = "jsonl",
) -> None:
    """Write entries to a file, oldest first. JSON lines hold their hashes: the file can be checked alone."""
    from server.cli.output import say_on_stderr
    from server.cli.runtime import load_settings, run_async

    query = _query(None, None, since, until, None, None, 1)
    count = run_async(_export(load_settings(ctx), vault, query, to, form, installation=installation))
    say_on_stderr(f"{count} entries")


async def _export(
    loaded: LoadedSettings, vault: str | None, query: AuditQuery, to: Path, form: str, *, installation: bool
) -> int:
    import sys

    from ops.audit import export_formats, searching
    from server.cli.admin_acts import open_audit

    chain = _chain(await _names(loaded), vault, installation=installation)
    write = export_formats.FORMATS[form]
    async with open_audit(loaded) as audit:
        entries: AsyncIterator[StoredEntry] = searching.export(audit, chain, query)
        if str(to) == "-":
            return await write(entries, sys.stdout)
        with export_formats.open_private(to) as target:
            return await write(entries, target)
