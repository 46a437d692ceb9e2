"""``strongroom model recommend``: the models of this machine, tried on what a vault holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from server.settings import LoadedSettings
    from vaults.domain.insights.judged_sample import JudgedSample
    from vaults.domain.insights.model_comparison import ModelComparison

BIAS = "judged by titles, or first sentences, that ask for their text: near figures tell no models apart"


def recommend(
    ctx: typer.Context,
    vault: Annotated[str, typer.Option(help="on whose notes and memories they are tried")] = "main",
    also: Annotated[
        list[str] | None, typer.Option(help="try this model, too: a name or folder, or endpoint:NAME")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False,
) -> None:
    """Try the models of this machine on a vault's own titles: quality, speed and memory. Changes nothing."""
    from server.cli.output import say_json
    from server.cli.runtime import load_settings, run_async

    found = run_async(_compare(load_settings(ctx), vault, also or []))
    if as_json:
        say_json(_to_json(vault, found))
    else:
        show(found, vault)


def show(found: ModelComparison, vault: str) -> None:
    """Print it for people."""
    from server.cli.output import say, say_table

    say_table(("MODEL", "WIDTH", "R@1", "R@10", "MRR", "TEXTS/S", "QUERY MS", "MIB", ""), _rows(found))
    for line in _remarks(vault, found):
        say(line)


async def _compare(loaded: LoadedSettings, name: str, also: list[str]) -> ModelComparison:
    from server.cli.output import progress
    from server.cli.runtime import open_all, require_vault
    from vaults.domain.insights import model_comparison

    async with open_all(loaded) as services, services.pool.lease(require_vault(services, name)) as vault:
        with progress("trying models") as advance:
            return await model_comparison.compare(vault, also, lambda tried, done, total: advance(done, total, tried))


def _rows(found: ModelComparison) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for each in found.tried:
        trial, serves = each.trial, "serves now" if each.serves else ""
        if isinstance(trial, str):
            rows.append((each.shown, *("-",) * 7, f"{trial}"))
            continue
        quality = trial.quality
        shares = (quality.recall_at_1, quality.recall_at_10, quality.mrr) if quality else ("-",) * 3
        speed = trial.texts_per_s, trial.query_ms, trial.memory_mib
        rows.append((each.shown, trial.width, *shares, *speed, serves))
    return rows


def _remarks(vault: str, found: ModelComparison) -> list[str]:
    from vaults.domain.insights.judged_sample import FEWEST

    sample = found.sample
    lines = [
        f"{len(sample.judged.questions)} questions ({_origin(sample)}) over {len(sample.judged.texts)} texts; {BIAS}"
    ]
    if sample.titles < FEWEST:
        lines.append(f"vault {vault} has {sample.titles} titles that can be asked for: too few to judge by ({FEWEST})")
    if found.better is None:
        return [*lines, "no model that was tried is clearly better than the one that serves"]
    return [*lines, f"{found.better} found more; to change to it: {_command(vault, found.better)}"]


def _origin(sample: JudgedSample) -> str:
    return f"{sample.titles} titles, {sample.sentences} first sentences"


def _command(vault: str, model: str) -> str:
    import shlex

    return f"strongroom vault update {vault} --model {shlex.quote(model)}"


def _to_json(vault: str, found: ModelComparison) -> dict[str, Any]:
    from dataclasses import asdict

    from vaults.domain.insights.judged_sample import FEWEST

    sample = found.sample
    return {
        "vault": vault,
        "titles": sample.titles,
        "sentences": sample.sentences,
        "texts": len(sample.judged.texts),
        "too_few": sample.titles < FEWEST,
        "bias": BIAS,
        "models": [
            {
                "model": each.name,
                "serves": each.serves,
                **({"failed": each.trial} if isinstance(each.trial, str) else asdict(each.trial)),
            }
            for each in found.tried
        ],
        "better": found.better,
        "command": _command(vault, found.better) if found.better else None,
    }
