"""What ``strongroom import`` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.cli.output import say, say_json, say_on_stderr, say_table
from vaults.domain.import_export import rejections

if TYPE_CHECKING:
    from vaults.domain.import_export.import_runs import ImportRun
    from vaults.domain.import_export.run_undo import UndoTally
    from vaults.domain.import_export.source_import import ImportPlan, ImportTally

SAMPLE_CHARACTERS = 100


def describe_counts(tally: ImportTally) -> str:
    """How far an import is, on one line."""
    parts = [f"{tally.stored} stored"]
    if updated := tally.count("updated"):
        parts.append(f"{updated} updated")
    return ", ".join([*parts, f"{tally.known} known already", f"{tally.rejected} rejected"])


def show_tally(plan: ImportPlan, tally: ImportTally, *, as_json: bool) -> None:
    """What became of an import."""
    if as_json:
        say_json({"counts": tally.counts, "rejected": tally.rejected, "left": tally.left})
        return
    say(describe_counts(tally))
    if tally.counts and set(tally.counts) != {"memory"}:
        _show_kinds(tally.counts)
    if merged := tally.count("merged"):
        say_on_stderr(f"{merged} of those known told tags or other details that were not there yet")
    if kept := tally.count("kept"):
        say_on_stderr(f"{kept} of those known were changed here since, and stay as they are")
    _show_left(tally.left)
    for each in tally.unwritten:
        where = f"line {each.place}" if isinstance(each.place, int) else each.place
        say_on_stderr(f"{where}: {each.reason}")
    if tally.rejected > len(tally.unwritten):
        say_on_stderr(f"see {plan.path.name}{rejections.SUFFIX}")


def show_preview(tally: ImportTally, *, as_json: bool) -> None:
    """What an import would bring."""
    if as_json:
        counts = {kind: found["stored"] for kind, found in tally.counts.items()}
        say_json({"counts": counts, "rejected": tally.rejected, "left": tally.left, "samples": tally.samples})
        return
    say(f"{tally.stored} to import, {tally.rejected} that cannot be taken; nothing was stored")
    for kind, found in sorted(tally.counts.items()):
        say(f"{found['stored']:>9} {_to_words(kind)}")
        for sample in tally.samples.get(kind, ()):
            say(f"          {_to_sample(sample)}")
    _show_left(tally.left)
    for each in tally.unwritten:
        where = f"line {each.place}" if isinstance(each.place, int) else each.place
        say_on_stderr(f"{where}: {each.reason}")


def _show_kinds(counts: Mapping[str, Mapping[str, int]]) -> None:
    outcomes = ("stored", "updated", "known", "rejected")
    rows = []
    for kind, found in sorted(counts.items()):
        known = found.get("known", 0) + found.get("merged", 0) + found.get("kept", 0)
        numbers = {**found, "known": known}
        rows.append([_to_words(kind), *[numbers.get(outcome, 0) or "" for outcome in outcomes]])
    say_table(("kind", *outcomes), rows)


def _show_left(left: Mapping[str, int]) -> None:
    for what, number in sorted(left.items()):
        say_on_stderr(f"not carried over: {what} ({number})")


def _to_words(kind: str) -> str:
    return kind.replace("_", " ")


_USUALLY_TELLING = ("title", "content", "goal", "summary", "reason", "message", "wrong", "entity", "name", "resource")
_TELLING = {"note": ("path",), "event": ("tool", "type")}


def _to_sample(fields: Mapping[str, Any]) -> str:
    """A record on one line: its most telling text."""
    names = _TELLING.get(fields.get("kind", "memory"), _USUALLY_TELLING)
    told = next((str(fields[name]) for name in names if fields.get(name)), str(fields.get("external_id", "")))
    line = " ".join(told.split())
    return line if len(line) <= SAMPLE_CHARACTERS else f"{line[:SAMPLE_CHARACTERS]}…"


def show_sources(found: Sequence[tuple[str, Path]], *, as_json: bool) -> None:
    """Sources on this machine and how to import each; then all that can be read."""
    from vaults.sources.known import SOURCES

    if as_json:
        known = [{"source": each.name, "system": each.system, "path": each.path} for each in SOURCES.values()]
        say_json({"found": [{"source": name, "path": str(path)} for name, path in found], "sources": known})
        return
    say("found on this machine:" if found else "nothing was found on this machine")
    for name, path in found:
        say(f"  strongroom import {name} {_quote(path)} --vault VAULT --dry-run")
    say()
    say_table(("source", "system", "PATH"), [(each.name, each.system, each.path) for each in SOURCES.values()])


def _quote(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))


def show_runs(runs: Sequence[ImportRun], *, as_json: bool) -> None:
    """Former imports."""
    if as_json:
        say_json([asdict(run) for run in runs])
        return
    if not runs:
        say("no imports yet")
        return
    rows = [(run.id, run.source, run.path, run.started_at, run.brought, _describe_state(run)) for run in runs]
    say_table(("run", "source", "path", "started", "stored", "state"), rows)


def _describe_state(run: ImportRun) -> str:
    if run.undone_at is not None:
        return f"undone {run.undone_at}"
    return "done" if run.ended_at is not None else "not ended"


def show_undone(tally: UndoTally, *, as_json: bool) -> None:
    """What became of an undone run."""
    if as_json:
        say_json({"removed": tally.removed, "restored": tally.restored, "kept": tally.kept})
        return
    if tally.total == 0:
        say("nothing of it is left to take back")
        return
    say(
        f"{tally.removed.total()} removed, {tally.restored.total()} as before,"
        f" {tally.kept.total()} changed here since and kept"
    )
