"""What ``verify`` says of what it found: a message for each code, and what helps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from vaults.domain.maintenance.disagreements import SOURCE_CHANGED
from vaults.domain.notes.index.extraction import SkippedFile

REINDEX_COMMAND = "run: strongroom reindex --vault {vault}"

DAMAGED = "database_damaged"

MODEL_AWAY = "model_away"

MAX_REASONS = 3
"""Max skipped files a finding names."""


@dataclass(frozen=True, slots=True)
class VerificationFinding:
    """Something that disagrees (``error``) or is worth knowing (``notice``). ``todo`` says what helps."""

    code: str
    severity: Literal["error", "notice"]
    count: int
    message: str
    todo: str


_MESSAGES = {
    DAMAGED: "the database file is damaged",
    "rows_dangling": "rows refer to rows that are gone",
    SOURCE_CHANGED: "memories or documents differ from the hash that was taken of them",
    "tags_differ": "memories or documents differ from the tags and fields that searches filter by",
    "notes_unavailable": "the notes folder cannot be read; no note was compared",
    "notes_unindexed": "files are not in the index",
    "notes_gone": "notes in the index have no file, or one that is left out",
    "notes_stale": "the index knows another text than the file holds",
    "note_files_differ": "files of the notes folder are not what the vault's database keeps of them",
    "notes_differ": "notes differ from what is read of their file",
    "links_differ": "links, tasks, tags or fields differ from what is read of their note",
    "skipped_differ": "files are listed as left out for what is no reason now",
    "notes_unfinished": "long notes wait for their links and tasks to be read",
    "changes_unfinished": "changes of notes were begun and not ended",
    "versions_damaged": "kept versions of notes cannot be read",
    "symbols_differ": "symbols of source code are not those of their file's text, or are missing",
    "passages_missing": "memories, notes or documents have no passages",
    "passages_stale": "passages were cut from an earlier text of their memory",
    "passages_differ": "passages are not what is cut from their memory, note or document",
    "neighbours_differ": "passages do not know the text around them",
    "passages_orphaned": "passages belong to memories, notes or documents that are gone",
    "tags_orphaned": "tags or fields belong to memories, notes or documents that are gone",
    "text_index_differs": "the full-text index does not match the passages",
    "vectors_missing": "passages have no vector, and none is queued",
    "vectors_stale": "vectors belong to an earlier text or another model, and no new one is queued",
    "vectors_misshapen": "vectors are not unit vectors of the model's width",
    "change_clock_behind": "vectors have change numbers from the future",
    "projection_differs": "the vector index replayed from the rows does not hold what the rows hold",
    "snapshot_differs": "the saved vector index does not hold what the rows hold",
    MODEL_AWAY: "the vault's own model cannot serve here; keyword search finds everything",
    "vectors_owed": "passages wait for their vector; keyword search finds them",
    "vectors_given_up": "passages were refused by the model; keyword search finds them",
    "snapshot_unused": "the saved vector index is from another state and will be built anew",
    "notes_behind": "files were saved just now and are not in the index yet",
    "folders_unread": "folders of notes cannot be listed; what is known of them was not compared",
    "notes_skipped": "files are left out of the index",
    "versions_missing": "changes name versions of notes that are not kept; they cannot be taken back",
    "versions_unnamed": "versions of notes are kept that no change names",
}
_NOTICES = {
    MODEL_AWAY: "bring it back, or run: strongroom vault update {vault} --model default",
    "vectors_owed": "a running server pays them; or run: strongroom reindex --vault {vault}",
    "vectors_given_up": REINDEX_COMMAND,
    "snapshot_unused": "nothing",
    "notes_behind": "a running server reads them in a moment",
    "notes_unfinished": "a running server reads them in a moment",
    "folders_unread": "let the server read them",
    "notes_skipped": "run: strongroom doctor --verbose --vault {vault}",
    "versions_missing": "nothing",
    "versions_unnamed": "nothing; they are forgotten in time",
}
_TODO = {
    DAMAGED: "run: strongroom salvage --vault {vault}",
    SOURCE_CHANGED: (
        "compare with a backup: strongroom restore BACKUP --vault {vault} --memory ID; strongroom reindex would take"
        " what is there as right"
    ),
    "versions_damaged": "restore a backup",
    "note_files_differ": "a running server settles it with its next look at the folder",
    "notes_unavailable": "bring the folder back",
    "changes_unfinished": "run: strongroom doctor --repair --vault {vault}",
}


def to_findings(
    counts: Mapping[str, int],
    changed: Sequence[str],
    skipped: Sequence[SkippedFile],
    vault: str,
    away: str | None = None,
) -> list[VerificationFinding]:
    """The findings, in order. ``changed``: ids of the first items that differ from their hash. ``away``: why the
    vault's own model cannot serve."""
    if away is not None:
        counts = {**counts, MODEL_AWAY: 1}
    found = [_to_finding(code, counts[code], vault) for code in _MESSAGES if counts.get(code)]
    found = [_naming(each, changed) if each.code == SOURCE_CHANGED else each for each in found]
    found = [_naming(each, [away]) if away is not None and each.code == MODEL_AWAY else each for each in found]
    if not skipped:
        return found
    some = (f"{each.path} ({each.reason})" for each in skipped[:MAX_REASONS])
    return [*found, _naming(_to_finding("notes_skipped", len(skipped), vault), some)]


def _to_finding(code: str, count: int, vault: str) -> VerificationFinding:
    severity: Literal["error", "notice"] = "notice" if code in _NOTICES else "error"
    todo = _NOTICES.get(code, _TODO.get(code, REINDEX_COMMAND))
    return VerificationFinding(code, severity, count, _MESSAGES[code], todo.format(vault=vault))


def _naming(finding: VerificationFinding, names: Iterable[str]) -> VerificationFinding:
    """The finding, with the first of what it is about."""
    listed = list(names)
    more = ", …" if len(listed) < finding.count else ""
    return replace(finding, message=f"{finding.message}: {', '.join(listed)}{more}") if listed else finding
