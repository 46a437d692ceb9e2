"""Whether the audit can be written and is signed. Blocking; nothing is opened for writing."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from ops.audit.chain_files import FOLDER, file_of, list_chains
from ops.audit.entries import to_milliseconds
from ops.doctor.check import DoctorCheck
from vaults import clock
from vaults.db.connection import open_raw
from vaults.db.failures import translate_sqlite_errors
from vaults.errors import StrongroomError
from vaults.settings import StorageSettings

NAME = "audit"
SIGNED_WITHIN_S = 600.0
"""Seconds after which an entry that nobody signed is worth a word: a server signs every minute."""


def check_audit(data: Path, storage: StorageSettings) -> DoctorCheck:
    """Whether its files can be written, and the server signs them."""
    if not (data / FOLDER).exists():
        return DoctorCheck(NAME, "notice", "nothing was recorded yet", "the first change begins the audit")
    if not os.access(data / FOLDER, os.R_OK | os.W_OK | os.X_OK):
        todo = "check its owner and mode; until then nothing can be changed"
        return DoctorCheck(NAME, "error", f"{data / FOLDER} cannot be written", todo)
    broken, unsigned = [], []
    for chain in list_chains(data):
        try:
            if _is_unsigned(file_of(data, chain), storage):
                unsigned.append(chain)
        except StrongroomError as failure:
            broken.append(f"{chain}: {failure.message}")
    if broken:
        todo = "keep the file, and move it away: the next change begins another, and audit verify says what is missing"
        return DoctorCheck(NAME, "error", "chains cannot be read, and their vaults not changed", todo, broken)
    if unsigned:
        todo = "start the server once: it signs what is there; audit verify checks it before"
        return DoctorCheck(NAME, "notice", "the last entries are not signed", todo, unsigned)
    return DoctorCheck(NAME, "ok", "the audit can be written, and is signed")


def check_shared_audit(unsigned_before: Callable[[int], Sequence[str]]) -> DoctorCheck:
    """The same where servers share it. ``unsigned_before``: chains with entries from before a moment, in milliseconds
    since 1970, that nobody signed; it raises what keeps it from them."""
    try:
        unsigned = list(unsigned_before(to_milliseconds(clock.ago(SIGNED_WITHIN_S))))
    except StrongroomError as failure:
        todo = failure.hint or "until then nothing can be changed"
        return DoctorCheck(NAME, "error", f"the audit cannot be read: {failure.message}", todo)
    if unsigned:
        todo = "a server signs them within an hour, or when it starts; audit verify checks them before"
        return DoctorCheck(NAME, "notice", "the last entries are not signed", todo, unsigned)
    return DoctorCheck(NAME, "ok", "the audit lies in the cluster's database, and is signed")


def _is_unsigned(file: Path, storage: StorageSettings) -> bool:
    with translate_sqlite_errors(), closing(open_raw(file, storage, writer=False)) as raw:
        oldest = raw.execute(
            "SELECT MIN(at) FROM entries WHERE seq > COALESCE((SELECT MAX(seq) FROM checkpoints), 0)"
            " AND seq > COALESCE((SELECT MAX(seq) FROM anchors), 0)"
        ).fetchone()[0]
    return oldest is not None and oldest / 1000 < clock.seconds_since_1970(clock.ago(SIGNED_WITHIN_S))
