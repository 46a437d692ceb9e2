"""``strongroom verify`` and ``strongroom reindex``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from server.services import Services
    from server.settings import LoadedSettings
    from vaults.domain.maintenance.reindexing import ReindexResult
    from vaults.domain.maintenance.verification import VerificationReport


def add_to(app: typer.Typer) -> None:
    app.command("verify")(verify)
    app.command("reindex")(reindex)


def verify(
    ctx: typer.Context,
    vault: Annotated[str | None, typer.Option(help="this vault only; default: every vault")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False,
) -> None:
    """Prove that vaults agree with themselves. Compares notes, memories, passages, text index and vectors. Exit code 1:
    they do not agree."""
    from dataclasses import asdict

    from server.cli.output import say_json
    from server.cli.runtime import load_settings, run_async

    reports = run_async(_verify_all(load_settings(ctx), vault))
    agrees = all(report.agrees for report in reports)
    if as_json:
        say_json({"agrees": agrees, "vaults": [asdict(report) for report in reports]})
    else:
        for report in reports:
            _show(report)
    raise typer.Exit(0 if agrees else 1)


async def _verify_all(loaded: LoadedSettings, vault: str | None) -> list[VerificationReport]:
    from server.cli.runtime import open_all
    from vaults.errors import NotFound

    async with open_all(loaded) as services:
        names = [entry.name for entry in services.registry_cache.entries()]
        if vault is not None and vault not in names:
            raise NotFound(f"no vault {vault}", hint="vault list shows what there is")
        return [await _verify_one(services, name) for name in ([vault] if vault else names)]


async def _verify_one(services: Services, name: str) -> VerificationReport:
    from server.cli.output import progress
    from vaults.domain.maintenance.verification import VerificationFinding, VerificationReport, verify
    from vaults.errors import StrongroomError

    try:
        async with services.pool.lease(services.registry_cache.entry(name)) as vault:
            with progress(f"verifying {name}") as advance:
                return await verify(vault, lambda done, total: advance(done, total, f"{done} compared"))
    except StrongroomError as failure:
        finding = VerificationFinding(failure.code, "error", 1, failure.message, failure.hint or "restore a backup")
        return VerificationReport(name, agrees=False, memories=0, passages=0, vectors=0, owed=0, findings=[finding])


def _show(report: VerificationReport) -> None:
    from server.cli.output import say

    verdict = "agrees" if report.agrees else "DISAGREES"
    say(
        f"{report.vault}: {verdict}; {report.memories} memories, {report.notes} notes,"
        f" {report.passages} passages, {report.vectors} vectors, {report.owed} owed"
    )
    for finding in report.findings:
        say(f"  {finding.severity} {finding.code} ({finding.count}): {finding.message}; {finding.todo}")


def reindex(ctx: typer.Context, vault: Annotated[str, typer.Option(help="the vault")]) -> None:
    """Build everything derived anew. That is passages, text index and vectors, from memories and notes. Safe beside a
    running server, and to be stopped and run again."""
    from server.cli.output import say, say_on_stderr
    from server.cli.runtime import load_settings, run_async

    loaded = load_settings(ctx)
    done = run_async(_reindex(loaded, vault))
    counts = f"{done.memories} memories, {done.notes} notes, {done.passages} passages"
    say(f"{counts}, {done.owed} without a vector yet")
    if done.problem:
        say_on_stderr(f"strongroom: the notes were left as they are: {done.problem}")
    off = loaded.settings.embedding.engine == "off"
    raise typer.Exit(1 if done.problem or (done.owed and not off) else 0)


async def _reindex(loaded: LoadedSettings, name: str) -> ReindexResult:
    from server.cli.output import progress
    from server.cli.runtime import change_vault
    from vaults.domain.maintenance.reindexing import reindex

    async with change_vault(loaded, name, "reindex") as vault:
        with progress(f"reindexing {name}") as advance:

            def show(what: str, done: int, total: int, /) -> Any:
                advance(done, total, f"{done} {what}")

            return await reindex(vault, show)
