"""Checks of a vault's notes: folder, files that are left out, frontmatter, copies, leftovers, history, watching."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from ops.doctor.check import DoctorCheck
from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.notes.index.extraction import SkippedFile
from vaults.domain.notes.verify import disk_state
from vaults.errors import VaultUnavailable
from vaults.files.tree import WalkResult
from vaults.files.watch.mounts import find_network_disk
from vaults.files.writes.temporary_files import is_temporary
from vaults.history.errors import HistoryUnavailable
from vaults.vault import Vault

READ = 500
"""Max files read of those that no process has looked at yet."""

AGE_S = 60.0
"""Seconds after which a temporary file must be a killed writer's."""

_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")
_COPY = re.compile(r"\.conflict-\d{8}T\d{6}Z(-\d+)?\.[^/]*$")


async def notes_folder(vault: Vault) -> DoctorCheck:
    """Whether it exists and can be listed."""
    name, root = "notes_folder", vault.notes.root
    try:
        walk = await run_in(vault.shared.pool, vault.notes.tree.walk)
    except VaultUnavailable:
        row = await vault.db.read(lambda tx: tx.one("SELECT 1 FROM vault_info WHERE key = 'notes'"))
        if row is None:
            return DoctorCheck(name, "notice", "it has no notes folder: it could never be written")
        return DoctorCheck(
            name, "error", f"{root} cannot be read", "mount it, or check its owner; no note is lost meanwhile"
        )
    if walk.unread:
        message = f"{len(walk.unread):,} folders of {root} cannot be listed"
        return DoctorCheck(name, "warning", message, "let the server read them", sorted(walk.unread))
    return DoctorCheck(name, "ok", f"{root}: {len(walk.found):,} Markdown files")


async def left_out(vault: Vault) -> DoctorCheck:
    """Which files are not in the index, each with its reason."""
    try:
        walk = await run_in(vault.shared.pool, vault.notes.tree.walk)
    except VaultUnavailable:
        return DoctorCheck("notes_left_out", "ok", "unknown: the notes folder cannot be read")
    known, reasons = await vault.db.read(_read_known)
    unread = [each.path for each in walk.found if each.path not in known and each.path not in reasons]
    odd = await run_in(vault.shared.pool, _find_odd, vault, unread[:READ])
    found = sorted({each.path: each.reason for each in _iter_odd(walk, reasons, odd)}.items())
    waiting = len(unread) - len(odd)
    message = f"{len(found):,} files are left out" if found else "no file is left out"
    message += f"; {waiting:,} are not read yet, as a running server does" if waiting else ""
    details = [f"{path}: {reason}" for path, reason in found]
    todo = "make them regular UTF-8 files of ordinary length, or exclude them in .strongroomignore" if found else ""
    return DoctorCheck("notes_left_out", "notice" if found or waiting else "ok", message, todo, details)


def _read_known(tx: Reader) -> tuple[set[str], dict[str, str]]:
    paths = {path for (path,) in tx.all("SELECT path FROM notes")}
    return paths, dict(tx.all("SELECT path, reason FROM notes_skipped"))


def _find_odd(vault: Vault, paths: list[str]) -> list[SkippedFile]:
    return [
        SkippedFile(each.path, each.left_out) for each in disk_state.read_disk_states(vault, paths) if each.left_out
    ]


def _iter_odd(walk: WalkResult, reasons: dict[str, str], odd: list[SkippedFile]) -> Iterator[SkippedFile]:
    yield from (SkippedFile(each.path, str(each.reason)) for each in walk.skipped)
    yield from (SkippedFile(each.path, reasons[each.path]) for each in walk.found if each.path in reasons)
    yield from odd


async def frontmatter(vault: Vault) -> DoctorCheck:
    """Which notes have frontmatter that cannot be read."""
    rows = await vault.db.read(
        lambda tx: tx.all("SELECT path, problem FROM notes WHERE problem IS NOT NULL ORDER BY path")
    )
    if not rows:
        return DoctorCheck("frontmatter", "ok", "all frontmatter can be read")
    message = f"{len(rows):,} notes have frontmatter that cannot be read; their text is found, their properties are not"
    return DoctorCheck("frontmatter", "notice", message, "mend the YAML", [f"{path}: {why}" for path, why in rows])


async def conflict_copies(vault: Vault) -> DoctorCheck:
    """Other versions of notes, kept next to them because two wrote at once."""
    rows = await vault.db.read(lambda tx: tx.all("SELECT path FROM notes WHERE path LIKE '%.conflict-%' ORDER BY path"))
    found = [path for (path,) in rows if _COPY.search(path)]
    if not found:
        return DoctorCheck("conflict_copies", "ok", "there is none")
    message = f"{len(found):,} other versions are kept beside their notes"
    return DoctorCheck("conflict_copies", "notice", message, "take over what is missing, then delete them", found)


async def temporaries(vault: Vault) -> DoctorCheck:
    """Temporary files left by killed writers."""
    found = await run_in(vault.shared.pool, lambda: sorted(_iter_temporaries(vault.notes.root, time.time() - AGE_S)))
    if not found:
        return DoctorCheck("temporaries", "ok", "there is none")
    message = f"{len(found):,} temporary files were left by writers that were killed"
    return DoctorCheck("temporaries", "notice", message, f"run: strongroom doctor --repair --vault {vault.name}", found)


def _iter_temporaries(root: Path, before: float) -> Iterator[str]:
    for here, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (Path(here, name) for name in names if is_temporary(name)):
            try:
                if path.lstat().st_ctime < before:
                    yield str(path.relative_to(root))
            except FileNotFoundError:
                continue  # its writer is alive


async def history(vault: Vault) -> DoctorCheck:
    """Whether changes can be committed, if they are to be: an existing repository is opened, its last commit read."""
    name, settings = "history", vault.notes.settings
    if settings.history == "off":
        return DoctorCheck(name, "ok", f"no Git history; the last {settings.versions:,} changes can be undone")
    try:
        async with vault.history.turn:
            repository = await run_in(vault.shared.pool, vault.history.find)
            if repository is not None:
                await run_in(vault.shared.pool, repository.log, None, 1)
    except HistoryUnavailable as failure:
        message = f"the Git history is unavailable: {failure.reason}"
        return DoctorCheck(
            name, "warning", message, "mend the repository; changes are saved and can be undone all the same"
        )
    pending = int(await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM note_changes WHERE git = ''")))
    if pending:
        return DoctorCheck(
            name, "notice", f"{pending:,} changes are not committed yet", "a running server commits them"
        )
    return DoctorCheck(name, "ok", f"Git history, {settings.history}")


async def watching(vault: Vault) -> DoctorCheck:
    """How changes by other programs are noticed."""
    name, settings = "watching", vault.notes.settings
    if settings.watch == "off":
        return DoctorCheck(
            name, "notice", "off: changes by other programs are found at the next start", "set notes.watch"
        )
    if settings.watch == "poll":
        return DoctorCheck(name, "ok", f"polling, every {settings.poll_s:g} s")
    if (kind := find_network_disk(vault.notes.root)) is not None:
        return DoctorCheck(name, "notice", f"polling, every {settings.poll_s:g} s: the notes are on a {kind} disk")
    folders = await run_in(vault.shared.pool, lambda: sum(1 for _ in _iter_folders(vault.notes.root)))
    limit = _watch_limit()
    if limit is not None and folders > limit:
        message = f"{folders:,} folders are more than the system watches ({limit:,}): they are polled"
        return DoctorCheck(name, "warning", message, "raise fs.inotify.max_user_watches")
    return DoctorCheck(name, "ok", f"by events, {folders:,} folders")


def _iter_folders(root: Path) -> Iterator[str]:
    for here, folders, _ in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield here


def _watch_limit() -> int | None:
    try:
        return int(_WATCHES.read_text())
    except (OSError, ValueError):
        return None


NOTES: tuple[Callable[[Vault], Awaitable[DoctorCheck]], ...] = (
    notes_folder,
    left_out,
    frontmatter,
    conflict_copies,
    temporaries,
    history,
    watching,
)
