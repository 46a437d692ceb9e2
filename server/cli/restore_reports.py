"""What a restore did, in lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ops.backup.restore import RestoreReport
    from ops.change_log.points import LogPoint

SHOWN = 20
"""Paths of notes listed of each kind; JSON has all."""


def describe_point(point: LogPoint) -> list[str]:
    """What a moment of the change log lacks."""
    if not point.complete:
        return ["the change log has a gap after that commit: later ones before --at may be missing"]
    return ["the change log holds no later commit"] if point.is_newest else []


def describe(report: RestoreReport) -> list[str]:
    """What was restored, and what is wrong with it."""
    found = report.verified
    sizes = f"{found.memories} memories, {found.notes} notes, {found.documents} documents"
    wrong = [f"{each.count} {each.message}" for each in found.findings if each.severity == "error"]
    proven = f"as it was then, with what was wrong: {'; '.join(wrong)}" if wrong else "agrees with itself"
    lines = [f"backup of {report.made_at}: {report.size:,} bytes, all as written; {proven}: {sizes}"]
    if report.schema_was != report.schema_is:
        lines.append(f"schema {report.schema_was} was brought to {report.schema_is}")
    if found.owed:
        lines.append(f"{found.owed} passages have no vector yet: a server computes them")
    if report.dry_run:
        what = "be made" if report.is_new else "be replaced"
        return [*lines, f"nothing was changed: vault {report.vault} would {what}"]
    what = "is in the place of what stood there" if report.replaced else "is there"
    lines.append(f"vault {report.vault}, as it was then, {what}")
    if report.archived:
        lines.append(f"vault {report.vault} is archived: nobody is served from it")
    if report.kept is not None:
        lines.append(f"what stood there cannot be removed: {report.kept}")
    lines += [f"granted: {each}" for each in report.grants]
    return [*lines, *_describe_notes(report)]


def _describe_notes(report: RestoreReport) -> list[str]:
    placed = report.notes
    if report.waiting is not None:
        return [f"its notes are NOT all written yet: {report.waiting}; whoever opens the vault next goes on"]
    if placed is None:
        return []
    lines = [
        f"{len(placed.written)} notes were written, {len(placed.removed)} are not in the backup and were taken away"
    ]
    lines += [f"  written: {path}" for path in placed.written[:SHOWN]]
    lines += [f"  taken away: {path}" for path in placed.removed[:SHOWN]]
    if placed.written or placed.removed:
        lines.append(f"what stood there is kept in {placed.aside}")
    return lines + [f"  NOT written: {path}: {reason}" for path, reason in placed.failed.items()]
