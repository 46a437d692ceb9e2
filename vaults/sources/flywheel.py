"""Flywheel: the folder ``.flywheel`` of an Obsidian vault, with its database and its policies. As of 2.12.20."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vaults.errors import InvalidArgument
from vaults.sources.flywheel_policies import to_policy, to_yaml
from vaults.sources.flywheel_tables import to_readings
from vaults.sources.flywheel_templates import PolicyUnsayable
from vaults.sources.record_fields import clean_text
from vaults.sources.source import SearchPlaces, Source, SourceItem, SourceReading, SourceRecord, UnreadableRecord
from vaults.sources.sqlite_tables import open_tables

FILE = "state.db"
FOLDER = ".flywheel"
POLICIES = "policies"
MAX_POLICY = 256 * 1024


@contextmanager
def _open(path: Path) -> Iterator[SourceReading]:
    file = _find_file(path)
    policies = _find_policies(file.parent) if file.parent.name == FOLDER else []
    with open_tables([file], to_readings) as tables:
        total = tables.total + len(policies)
        yield SourceReading(total, _read(tables, policies), tables.left)


def _find_file(path: Path) -> Path:
    """The file itself, or that of a folder: ``.flywheel``, or the vault that holds it."""
    if not path.is_dir():
        return path
    found = next((each for each in (path / FILE, path / FOLDER / FILE) if each.is_file()), None)
    if found is None:
        raise InvalidArgument("PATH", f"{path} holds no {FOLDER}/{FILE}")
    return found


def _find_policies(folder: Path) -> list[Path]:
    """The files of policies, also those that early versions kept elsewhere; of two with one name the newer place."""
    found: dict[str, Path] = {}
    for place in (folder / POLICIES, folder.parent / ".claude" / POLICIES):
        if place.is_dir() and not place.is_symlink():
            for path in sorted(place.iterdir()):
                if path.suffix in (".yaml", ".yml") and path.is_file() and not path.is_symlink():
                    found.setdefault(path.stem, path)
    return list(found.values())


def _read(tables: SourceReading, policies: list[Path]) -> Iterator[SourceItem]:
    yield from tables.items
    for done, path in enumerate(policies, tables.total + 1):
        yield _read_policy(path, done)


def _read_policy(path: Path, done: int) -> SourceItem:
    place = f"policy {path.name}"
    try:
        with path.open("rb") as file:
            data = file.read(MAX_POLICY + 1)
    except OSError as failure:
        return UnreadableRecord(place, f"cannot be read: {failure.strerror}", done)
    if len(data) > MAX_POLICY:
        return UnreadableRecord(place, f"has more than {MAX_POLICY >> 10} KB", done)
    text = clean_text(data.decode("utf-8-sig", "replace"))
    try:
        policy = to_policy(text)
    except PolicyUnsayable as unsayable:
        return UnreadableRecord(place, str(unsayable), done, text)
    name = policy["name"]
    fields = {"kind": "policy", "external_id": f"flywheel:policy:{path.stem}"[:200], "name": name}
    return SourceRecord(place, {**fields, "yaml": to_yaml(policy)}, done)


def _find(places: SearchPlaces) -> Iterator[Path]:
    vaults = [places.current, places.home]
    for folder in (places.home, places.home / "Documents"):
        vaults += sorted(each for each in folder.glob("[!.]*") if each.is_dir()) if folder.is_dir() else []
    for vault in dict.fromkeys(vaults):
        if (path := vault / FOLDER / FILE).is_file():
            yield path


SOURCE = Source("flywheel", "Flywheel", "an Obsidian vault with .flywheel, or its state.db", _find, _open)
