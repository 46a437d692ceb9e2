"""Checks of the installation: folder, disk, SQLite, control.db, model. Blocking; nothing is opened for writing."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from ops.doctor.audit import check_audit
from ops.doctor.check import DoctorCheck
from ops.doctor.embedding_endpoint import check_endpoint
from ops.doctor.keys import check_keys
from vaults.db.connection import open_raw
from vaults.db.engine import is_safe, sqlite
from vaults.db.failures import translate_sqlite_errors
from vaults.disk_reserve import free_bytes
from vaults.durations import parse_size
from vaults.embed.engines import model_info
from vaults.errors import StrongroomError
from vaults.files.watch.mounts import find_network_disk
from vaults.settings import EmbeddingSettings, StorageSettings

MB = 1024 * 1024
NEARLY_FULL_FACTOR = 4
"""Free disk below this many times the reserve is a warning."""

CONTROL = "control.db"


@dataclass(frozen=True, slots=True)
class Machine:
    """What the checks look at. ``data`` is the folder of all data."""

    data: Path
    storage: StorageSettings
    embedding: EmbeddingSettings
    key_passphrase_file: str | None = None


def data_folder(machine: Machine) -> DoctorCheck:
    """Whether it exists, is ours, and can be written."""
    name, data = "data_folder", machine.data
    if not data.is_dir():
        return DoctorCheck(name, "notice", f"{data} does not exist yet", "the first start makes it")
    if not os.access(data, os.R_OK | os.W_OK | os.X_OK):
        todo = "check its owner and how it is mounted; until then what is stored can be read at most"
        return DoctorCheck(name, "error", f"{data} cannot be written", todo)
    if (kind := find_network_disk(data)) is not None:
        todo = "SQLite's log needs a local disk: keep the data on one; folders of notes may lie anywhere"
        return DoctorCheck(name, "warning", f"{data} is on a {kind} disk", todo)
    return DoctorCheck(name, "ok", f"{data} can be written")


def disk_space(machine: Machine) -> DoctorCheck:
    """Whether more is free than the reserve below which nothing is written, and than is left by what can wait."""
    there = next(folder for folder in (machine.data, *machine.data.parents) if folder.is_dir())
    found, reserve, least = free_bytes(there), machine.storage.reserve_mb, parse_size(machine.storage.min_free_disk)
    if found is None:
        return DoctorCheck(
            "disk_space", "notice", "the system does not say how much is free: disk safety checks are off"
        )
    free = found // MB
    message = f"{free:,} MB are free; below {reserve:,} MB nothing is written"
    if free < reserve:
        return DoctorCheck("disk_space", "error", message, "free space: writes answer storage_full")
    if found < least:
        waits = f"below {least // MB:,} MB harvests, imports, reindexing and vectors wait"
        return DoctorCheck("disk_space", "warning", f"{message}; {waits}", "free space")
    if free < NEARLY_FULL_FACTOR * reserve:
        return DoctorCheck("disk_space", "warning", message, "free space soon")
    return DoctorCheck("disk_space", "ok", message)


def sqlite_version(_machine: Machine) -> DoctorCheck:
    """Whether it is a version that does not damage databases."""
    name, version = "sqlite", sqlite.sqlite_version
    if is_safe():
        return DoctorCheck(name, "ok", f"SQLite {version}")
    todo = "install the package pysqlite3, or a Python with SQLite 3.51.3 or later"
    return DoctorCheck(name, "warning", f"SQLite {version} can damage a database that several connections write", todo)


def control_database(machine: Machine) -> DoctorCheck:
    """Whether the database of grants and vaults is readable and whole."""
    name, path = "control_db", machine.data / CONTROL
    if not path.exists():
        return DoctorCheck(name, "notice", "there is no control.db yet", "the first start makes it")
    try:
        with translate_sqlite_errors(), closing(open_raw(path, machine.storage, writer=False)) as raw:
            mode = str(raw.execute("PRAGMA journal_mode").fetchone()[0])
            found = [str(said) for (said,) in raw.execute("PRAGMA quick_check(20)") if said != "ok"]
            dangling = len(raw.execute("PRAGMA foreign_key_check").fetchall())
            raw.execute("SELECT COUNT(*) FROM vaults")
    except StrongroomError as failure:
        return DoctorCheck(name, "error", f"control.db cannot be used: {failure.message}", "restore a backup")
    if found or dangling:
        return DoctorCheck(name, "error", "control.db is damaged", "restore a backup", found)
    if mode != "wal":
        return DoctorCheck(name, "warning", f"control.db is in {mode} mode", "start the server once: it sets WAL")
    return DoctorCheck(name, "ok", "control.db is whole")


def model(machine: Machine) -> DoctorCheck:
    """Whether the embedding model is there and intact, or its endpoint answers."""
    if machine.embedding.engine == "endpoint":
        return check_endpoint(machine.embedding, machine.data)
    return _model_here(machine)


def _model_here(machine: Machine) -> DoctorCheck:
    name = "model"
    try:
        info = model_info(machine.embedding)
    except StrongroomError as failure:
        return DoctorCheck(name, "error", failure.message, failure.hint or "run: strongroom model prepare")
    if info.engine == "off":
        return DoctorCheck(name, "notice", "embeddings are off: search is by keyword alone")
    if info.intact is False:
        return DoctorCheck(
            name, "error", f"the prepared copy of {info.model} is damaged", "run: strongroom model prepare"
        )
    if info.prepared is None and info.source is None:
        return DoctorCheck(name, "error", f"{info.model} is not on this machine", "run: strongroom model prepare")
    if info.prepared is None and machine.embedding.engine in ("auto", "onnx"):
        return DoctorCheck(
            name, "warning", f"{info.model} is not prepared: starts are slow", "run: strongroom model prepare"
        )
    return DoctorCheck(name, "ok", f"{info.model}, by {info.engine}")


def audit(machine: Machine) -> DoctorCheck:
    """Whether the audit can be written, and is signed."""
    return check_audit(machine.data, machine.storage)


def keys(machine: Machine) -> DoctorCheck:
    """Whether the keys open, and lie as they should."""
    return check_keys(machine.data, machine.key_passphrase_file)


MACHINE: tuple[Callable[[Machine], DoctorCheck], ...] = (
    data_folder,
    disk_space,
    sqlite_version,
    control_database,
    keys,
    audit,
    model,
)

MachineReport: TypeAlias = list[DoctorCheck]


def examine_machine(machine: Machine) -> MachineReport:
    """Every check, in order."""
    return [check(machine) for check in MACHINE]
