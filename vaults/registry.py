"""Which vaults exist: the table ``vaults`` of control.db and the rule for their names."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from uuid_utils import uuid7

from vaults import clock
from vaults.db.sql import Reader, Row, Writer
from vaults.db.transactions import Transactions
from vaults.errors import AlreadyExists, InvalidArgument, NotFound

DATABASE_FILE = "vault.db"
"""In the folder of a vault."""

STATE_FOLDER = ".strongroom"
"""What a folder with a vault of its own holds."""

NAME_PATTERN = re.compile(r"^[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?$")
"""A vault's name is a path segment, a URL segment and a label: lower case, no surprises on any system."""

NAME_RULE = "must be 1–63 of a–z 0–9 . _ - and start and end with a letter or digit"

_RESERVED = {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(1, 10))}
_COLUMNS = "name, vault_id, path, state, preset, write_mode, created_at, destructive"

WriteMode = Literal["auto", "ask", "off"]
Destructive = Literal["ask", "auto"]


@dataclass(frozen=True, slots=True)
class VaultEntry:
    """One registered vault."""

    name: str
    vault_id: str
    path: Path | None
    """None for a vault inside the data folder."""
    state: str
    preset: str
    write_mode: str
    created_at: str
    destructive: str = "ask"
    """``ask``: a person confirms what destroys, in any write mode; or ``auto``."""


@dataclass(frozen=True, slots=True)
class VaultRules:
    """New rules for writing in a vault; None leaves a rule as it is."""

    write_mode: WriteMode | None = None
    destructive: Destructive | None = None


def is_valid_name(name: str) -> bool:
    """Whether ``name`` may name a vault on every system."""
    return bool(NAME_PATTERN.fullmatch(name)) and ".." not in name and name.partition(".")[0] not in _RESERVED


def folder_of(data: Path, name: str, path: Path | None) -> Path:
    """Where a vault's state lies: in the data folder, or in ``.strongroom`` of a folder served in place."""
    return path.resolve() / STATE_FOLDER if path else data / "vaults" / name


def create(tx: Writer, name: str, path: Path | None = None, vault_id: str | None = None) -> VaultEntry:
    """Register a vault; ``vault_id`` is given where its files exist already. Raises ``InvalidArgument`` or
    ``AlreadyExists``."""
    if not is_valid_name(name):
        raise InvalidArgument("name", NAME_RULE)
    if tx.one("SELECT 1 FROM vaults WHERE name = :name", {"name": name}):
        raise AlreadyExists(f"vault {name} exists already")
    where = path.resolve() if path else None
    if where and tx.one("SELECT 1 FROM vaults WHERE path = :path AND state = 'active'", {"path": str(where)}):
        raise AlreadyExists("another vault serves this folder")
    entry = VaultEntry(
        name=name,
        vault_id=vault_id or str(uuid7()),
        path=where,
        state="active",
        preset="agent",
        write_mode="auto",
        created_at=clock.now(),
    )
    tx.run(
        f"INSERT INTO vaults ({_COLUMNS}) VALUES (:name, :vault_id, :path, :state, :preset, :write_mode, :created_at,"
        " :destructive)",
        {**asdict(entry), "path": str(where) if where else None},
    )
    return entry


def relocate(tx: Writer, name: str, path: Path) -> VaultEntry:
    """Record where a folder served in place lies now. Raises ``NotFound``."""
    entry = get(tx, name)
    tx.run("UPDATE vaults SET path = :path WHERE name = :name", {"path": str(path.resolve()), "name": name})
    return replace(entry, path=path.resolve())


def set_rules(tx: Writer, name: str, rules: VaultRules) -> VaultEntry:
    """Change the rules for writing in a vault. Raises ``NotFound``."""
    entry = get(tx, name)
    changed = replace(
        entry,
        write_mode=rules.write_mode or entry.write_mode,
        destructive=rules.destructive or entry.destructive,
    )
    tx.run(
        "UPDATE vaults SET write_mode = :write_mode, destructive = :destructive WHERE name = :name",
        {"write_mode": changed.write_mode, "destructive": changed.destructive, "name": name},
    )
    return changed


def copy_rules(tx: Writer, source: VaultEntry, name: str) -> VaultEntry:
    """Have a vault show tools and take writes as ``source`` does. Raises ``NotFound``."""
    rules = {"preset": source.preset, "write_mode": source.write_mode, "destructive": source.destructive}
    tx.run(
        "UPDATE vaults SET preset = :preset, write_mode = :write_mode, destructive = :destructive WHERE name = :name",
        {**rules, "name": name},
    )
    return get(tx, name)


def archive(tx: Writer, name: str) -> VaultEntry:
    """Take a vault out of service; its files stay. Raises ``NotFound``."""
    entry = get(tx, name)
    tx.run("UPDATE vaults SET state = 'archived' WHERE name = :name", {"name": name})
    return replace(entry, state="archived")


def unarchive(tx: Writer, name: str) -> VaultEntry:
    """Put an archived vault back into service. Raises ``NotFound``, or ``AlreadyExists`` if another one serves its
    folder by now."""
    entry = get(tx, name)
    served = {"path": str(entry.path), "name": name}
    if entry.path and tx.one("SELECT 1 FROM vaults WHERE path = :path AND state = 'active' AND name <> :name", served):
        raise AlreadyExists("another vault serves this folder")
    tx.run("UPDATE vaults SET state = 'active' WHERE name = :name", {"name": name})
    return replace(entry, state="active")


def rename(tx: Writer, old: str, new: str) -> VaultEntry:
    """Give a vault another name. Raises ``NotFound``, ``InvalidArgument`` or ``AlreadyExists``."""
    if not is_valid_name(new):
        raise InvalidArgument("name", NAME_RULE)
    entry = get(tx, old)
    if tx.one("SELECT 1 FROM vaults WHERE name = :name", {"name": new}):
        raise AlreadyExists(f"vault {new} exists already")
    tx.run("UPDATE vaults SET name = :new WHERE name = :old", {"old": old, "new": new})
    return replace(entry, name=new)


def remove(tx: Writer, name: str) -> VaultEntry:
    """Forget a vault; its files are the caller's. Raises ``NotFound``."""
    entry = get(tx, name)
    tx.run("DELETE FROM vaults WHERE name = :name", {"name": name})
    for mark in (_WORK, NEW):
        tx.run("DELETE FROM installation WHERE key = :key", {"key": mark + entry.vault_id})
    return entry


def get(tx: Reader, name: str) -> VaultEntry:
    """One entry. Raises ``NotFound``."""
    row = tx.one(f"SELECT {_COLUMNS} FROM vaults WHERE name = :name", {"name": name})
    if row is None:
        raise NotFound(f"no vault {name}")
    return _entry(row)


def list_vaults(tx: Reader) -> list[VaultEntry]:
    """Every entry, by name."""
    return [_entry(row) for row in tx.all(f"SELECT {_COLUMNS} FROM vaults ORDER BY name")]


_WORK = "work:"

NEW = "new:"
"""Before the id of a vault of several servers that none of them had made files of when it was registered."""


def announce_work(tx: Writer, vault_id: str) -> None:
    """Have running servers look into a vault soon, though nobody asks for it: a command left work there."""
    tx.run(
        "INSERT INTO installation (key, value) VALUES (:key, :now)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        {"key": _WORK + vault_id, "now": clock.now()},
    )


def list_announced_work(tx: Reader) -> dict[str, str]:
    """When work was last announced, by vault id."""
    rows = tx.all("SELECT key, value FROM installation WHERE key >= 'work:' AND key < 'work;'")
    return {key.removeprefix(_WORK): value for key, value in rows}


async def instance_id(control: Transactions) -> str:
    """The installation's own id, made at its first start."""

    def read_or_make(tx: Writer) -> str:
        tx.run(
            "INSERT INTO installation (key, value) VALUES ('instance_id', :made) ON CONFLICT (key) DO NOTHING",
            {"made": str(uuid7())},
        )
        return str(tx.value("SELECT value FROM installation WHERE key = 'instance_id'"))

    found = await control.read(lambda r: r.value("SELECT value FROM installation WHERE key = 'instance_id'"))
    return str(found) if found else await control.write(read_or_make)


def written_by(tx: Reader) -> str | None:
    """The version that last wrote control.db."""
    found = tx.value("SELECT value FROM installation WHERE key = 'version'")
    return None if found is None else str(found)


def note_version(tx: Writer, version: str) -> None:
    """Write down which version writes it now."""
    tx.run(
        "INSERT INTO installation (key, value) VALUES ('version', :version)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        {"version": version},
    )


JOINED = "joined_at"
"""The row of the installation that says since when it is one of several servers."""


def joined_at(tx: Reader) -> str | None:
    """Since when several servers serve this installation from the cluster's database; None: one machine does."""
    found: str | None = tx.value("SELECT value FROM installation WHERE key = :key", {"key": JOINED})
    return found


def note_joined(tx: Writer) -> None:
    """From now on they do."""
    tx.run(
        "INSERT INTO installation (key, value) VALUES (:key, :now) ON CONFLICT (key) DO NOTHING",
        {"key": JOINED, "now": clock.now()},
    )


def _entry(row: Row) -> VaultEntry:
    name, vault_id, path, *rest = row  # in the order of ``_COLUMNS``, which is that of the fields
    return VaultEntry(name, vault_id, Path(path) if path else None, *rest)
