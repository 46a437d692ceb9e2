"""Stores lines that are files: notes and policies, as one change to the notes folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from vaults.context import run_in
from vaults.db.sql import Writer
from vaults.domain.actors import Actor
from vaults.domain.import_export import import_runs
from vaults.domain.import_export.import_runs import ImportedRecord
from vaults.domain.import_export.lines import NoteLine, PolicyLine
from vaults.domain.notes import policy_paths
from vaults.domain.notes.commit.journal import FileChange, NoteChange
from vaults.domain.notes.commit.transaction import commit
from vaults.domain.notes.edit import conflicts
from vaults.domain.notes.index.extraction import compute_digest, etag_of
from vaults.errors import AlreadyExists, InvalidArgument, NotFound, StrongroomError
from vaults.files.paths import to_note_path
from vaults.vault import Vault

TOOL = "import"

FileOutcome = Literal["stored", "updated", "known", "kept"]


@dataclass(frozen=True, slots=True)
class ReadyFile:
    """A file line ready to be written."""

    kind: str
    external_id: str
    hash: str
    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What is to be done about a file: ``change`` None: nothing."""

    outcome: FileOutcome
    change: FileChange | None = None


def prepare(vault: Vault, kind: str, line: NoteLine | PolicyLine, digest: str) -> ReadyFile:
    """Work out path and bytes. Raises ``InvalidArgument``."""
    if isinstance(line, NoteLine):
        data = line.content.encode()
        if len(data) > vault.notes.settings.max_note:
            raise InvalidArgument("content", f"must be at most {vault.notes.settings.max_note} bytes")
        return ReadyFile(kind, line.external_id, digest, to_note_path(line.path), data)
    path = policy_paths.policy_path(vault.notes.settings.policies, line.name)
    return ReadyFile(kind, line.external_id, digest, path, line.yaml.encode())


async def store_files(
    vault: Vault, actor: Actor, run: int, files: Sequence[ReadyFile]
) -> list[FileOutcome | StrongroomError]:
    """Write the files that are new, or changed at their source and not here; what became of each, in their order. A
    file with other text that no import brought is never replaced."""
    if not files:
        return []
    async with vault.notes.writing():
        keys = [(each.kind, each.external_id) for each in files]
        known = await vault.db.read(lambda tx: import_runs.find_records(tx, actor, keys))
        records = [known.get(key) for key in keys]
        plans = await run_in(vault.shared.pool, _plan, vault, files, records)
        changes = [plan.change for plan in plans if isinstance(plan, FilePlan) and plan.change is not None]

        def record(tx: Writer, _: str = "") -> None:
            for each, known, plan in zip(files, records, plans, strict=True):
                if isinstance(plan, FilePlan):
                    _record(tx, actor, run, each, known, plan)

        if changes:
            count = f"{len(changes)} file{'s' if len(changes) > 1 else ''}"
            await commit(vault, actor, NoteChange(TOOL, f"imported {count}", changes), record)
        elif any(each is None for each in records):
            await vault.db.write(record)
    return [plan.outcome if isinstance(plan, FilePlan) else plan for plan in plans]


def _record(tx: Writer, actor: Actor, run: int, file: ReadyFile, known: ImportedRecord | None, plan: FilePlan) -> None:
    state = etag_of(compute_digest(file.data))
    if known is None:
        new = ImportedRecord(
            kind=file.kind, external_id=file.external_id, run=run, key=(file.path,), hash=file.hash, state=state
        )
        import_runs.record_creations(tx, actor, [new])
    elif plan.change is not None:
        before = (plan.change.before or b"").decode("utf-8", "replace")
        import_runs.record_change(tx, actor, run, before, known, replace(known, hash=file.hash, state=state))


def _plan(
    vault: Vault, files: Sequence[ReadyFile], records: Sequence[ImportedRecord | None]
) -> list[FilePlan | StrongroomError]:
    planned: set[str] = set()
    plans: list[FilePlan | StrongroomError] = []
    for file, record in zip(files, records, strict=True):
        try:
            if file.path in planned:
                raise InvalidArgument("path", "is given twice")
            plans.append(_plan_one(vault, file, record))
            planned.add(file.path)
        except StrongroomError as failure:
            plans.append(failure)
    return plans


def _plan_one(vault: Vault, file: ReadyFile, record: ImportedRecord | None) -> FilePlan:
    try:
        present = vault.notes.tree.read(file.path, max(vault.notes.settings.max_note, policy_paths.MAX_BYTES))
    except NotFound:
        if record is not None and record.hash == file.hash:
            return FilePlan("kept")  # deleted here since
        _check_free(vault, file)
        return FilePlan("stored", FileChange(file.path, None, file.data))
    if present.data == file.data:
        return FilePlan("known")
    if record is None:
        raise InvalidArgument("path", f"'{file.path}' is a file with other text here, and was left alone")
    if record.hash == file.hash or record.state != etag_of(compute_digest(present.data)):
        return FilePlan("kept")  # changed here since, whatever its source says now
    return FilePlan("updated", FileChange(file.path, present.data, file.data, stamp=present.stamp))


def _check_free(vault: Vault, file: ReadyFile) -> None:
    if file.kind == "note":
        conflicts.check_free(vault, file.path)
    elif (existing := vault.notes.tree.collision(file.path)) is not None:
        raise AlreadyExists(f"'{existing}' is there already")
