"""Folder listings: applies changes of notes to a tree, touching only the folders on their paths."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from vaults.errors import InvalidArgument
from vaults.history.errors import HistoryUnavailable
from vaults.history.object_store import ObjectStore

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
DEEPEST = 100  # folder levels; each costs an object per commit
_FOLDER, _FILE = b"40000", b"100644"
_NOTES = (b"100644", b"100755", b"100664")
_ENTRY = re.compile(rb"([0-7]{5,6} ([^\0/]+)\0.{20})", re.DOTALL)
_CACHED_ENTRIES = 50_000  # about 10 MB: the folders a vault's commits keep coming back to

# Planned changes by name: a blob's id, None for removal, or (key ending in a slash) a folder with changes of its own.
TreePlan: TypeAlias = "dict[bytes, str | TreePlan | None]"


@dataclass(frozen=True, slots=True)
class TreeEntries:
    """One tree. ``keys`` are names in git's order, where a folder's ends in a slash; ``entries`` their raw bytes."""

    keys: list[bytes]
    entries: list[bytes]

    def entry(self, key: bytes) -> bytes | None:
        at = bisect_left(self.keys, key)
        return self.entries[at] if at < len(self.keys) and self.keys[at] == key else None

    def put(self, key: bytes, entry: bytes | None) -> None:
        at = bisect_left(self.keys, key)
        there = at < len(self.keys) and self.keys[at] == key
        if entry is None:
            if there:
                del self.keys[at], self.entries[at]
        elif there:
            self.entries[at] = entry
        else:
            self.keys.insert(at, key)
            self.entries.insert(at, entry)


class Trees:
    """Trees of one object store; caches the recently used ones, parsed."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._parsed: OrderedDict[str, TreeEntries] = OrderedDict()

    def note(self, tree: str, path: str) -> str | None:
        """Id of the note's blob; None when the path leads nowhere, or to a folder, link or submodule."""
        *folders, name = split_path(path)
        oid = tree
        for folder in folders:
            entry = self._folder(oid).entry(folder + b"/")
            if entry is None:
                return None
            oid = entry[-20:].hex()
        entry = self._folder(oid).entry(name)
        return entry[-20:].hex() if entry is not None and entry[:6] in _NOTES else None

    def update(self, tree: str, files: Mapping[str, str | None]) -> tuple[str, list[str]]:
        """``tree`` with the blobs of ``files`` (None: gone), and the paths that really differ.

        Folders left empty vanish, as git has none. A note may replace a folder of its name, and a folder a note.
        """
        touched: list[bytes] = []
        oid = self._apply(tree, plan_changes(files), b"", touched)
        return oid or self._objects.write("tree", b""), sorted(path.decode("utf-8") for path in touched)

    def list_added(self, tree: str, base: str | None) -> list[tuple[str, bool]]:
        """The direct entries of ``tree`` that ``base`` lacks: the id of each, and whether it is a folder."""
        known = set(self._folder(base).entries) if base else set()
        fresh = [entry for entry in self._folder(tree).entries if entry not in known]
        return [(entry[-20:].hex(), entry.startswith(_FOLDER)) for entry in fresh if not entry.startswith(b"16")]

    def folders(self, tree: str) -> dict[bytes, str]:
        """Folders directly in ``tree`` by name."""
        folder = self._folder(tree)
        pairs = zip(folder.keys, folder.entries, strict=True)
        return {key: entry[-20:].hex() for key, entry in pairs if key.endswith(b"/")}

    def _apply(self, tree: str | None, plan: TreePlan, within: bytes, touched: list[bytes]) -> str | None:
        base = self._folder(tree) if tree else TreeEntries([], [])
        new = TreeEntries(base.keys.copy(), base.entries.copy())
        for name, wanted in sorted(plan.items(), key=_rank):
            if isinstance(wanted, dict):
                self._apply_folder(new, name, wanted, (within, touched))
            elif _put_note(new, name, wanted):
                touched.append(within + name)
        if not new.entries:
            return None
        if new.entries == base.entries and tree:
            return tree
        oid = self._objects.write("tree", b"".join(new.entries))
        self._remember(oid, new)
        return oid

    def _apply_folder(self, into: TreeEntries, key: bytes, plan: TreePlan, where: tuple[bytes, list[bytes]]) -> None:
        within, touched = where
        before = into.entry(key)
        after = self._apply(before[-20:].hex() if before else None, plan, within + key, touched)
        if after is None:
            into.put(key, None)
        else:
            into.put(key[:-1], None)
            into.put(key, b"%s %s\0%s" % (_FOLDER, key[:-1], bytes.fromhex(after)))

    def _folder(self, oid: str) -> TreeEntries:
        found = self._parsed.get(oid)
        if found is None:
            found = parse_tree(b"" if oid == EMPTY_TREE else self._objects.get(oid, "tree"))
            self._remember(oid, found)
        else:
            self._parsed.move_to_end(oid)
        return found

    def _remember(self, oid: str, folder: TreeEntries) -> None:
        self._parsed[oid] = folder
        cached = sum(len(kept.keys) for kept in self._parsed.values()) if len(self._parsed) > 1 else 0
        while cached > _CACHED_ENTRIES and len(self._parsed) > 1:
            cached -= len(self._parsed.popitem(last=False)[1].keys)


def parse_tree(data: bytes) -> TreeEntries:
    """The entries of a raw tree. Raises HistoryUnavailable when it is not one."""
    pairs = _ENTRY.findall(data)
    entries = [entry for entry, _ in pairs]
    if sum(map(len, entries)) != len(data):
        raise HistoryUnavailable("an object of the history is damaged")
    keys = [name + b"/" if entry.startswith(_FOLDER) else name for entry, name in pairs]
    return TreeEntries(keys, entries)


def split_path(path: str) -> list[bytes]:
    """Segments of a vault-relative path, taken literally. Raises InvalidArgument for what git cannot hold."""
    if not is_keepable(path):
        raise InvalidArgument("path", "cannot be kept in a git history")
    return path.encode("utf-8").split(b"/")


_DOT_GIT = re.compile(r"(?:^|[/\\])(?:\.git|git~\d)[ .]*(?:$|[/\\:])", re.IGNORECASE)
_IGNORED_BY_HFS = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")


def is_keepable(path: str) -> bool:
    """Whether git can hold a file of this vault-relative path. Names that some system takes for ``.git`` are refused:
    ``git fsck`` would call the repository damaged.
    """
    segments = path.split("/")
    return (
        not any(segment in ("", ".", "..") for segment in segments)
        and len(segments) <= DEEPEST
        and "\0" not in path
        and not any("\ud800" <= character <= "\udfff" for character in path)
        and not _DOT_GIT.search(_IGNORED_BY_HFS.sub("", path))
    )


def plan_changes(files: Mapping[str, str | None]) -> TreePlan:
    """Nested changes; a folder's key ends in a slash, so that a removed note and a new folder of one name do not clash.
    Raises InvalidArgument when one name would be both.
    """
    plan: TreePlan = {}
    for path, blob in sorted(files.items(), key=lambda item: item[1] is not None):
        *folders, name = split_path(path)
        inner = plan
        for folder in folders:
            below = inner.setdefault(folder + b"/", {})
            clash = blob is not None and inner.get(folder) is not None
            if clash or not isinstance(below, dict):
                raise InvalidArgument("path", "is both a note and a folder of this change")
            inner = below
        if blob is not None and _has_notes(inner.get(name + b"/")):
            raise InvalidArgument("path", "is both a note and a folder of this change")
        inner[name] = blob
    return plan


def _has_notes(plan: str | TreePlan | None) -> bool:
    return any(map(_has_notes, plan.values())) if isinstance(plan, dict) else plan is not None


def _rank(item: tuple[bytes, str | TreePlan | None]) -> int:
    """Order of changes: removed notes make room for folders, and removed folders for notes."""
    return 0 if item[1] is None else 1 if isinstance(item[1], dict) else 2


def _put_note(into: TreeEntries, name: bytes, blob: str | None) -> bool:
    """Set or remove one name; whether that changed anything."""
    before = into.entry(name)
    if blob is None:
        into.put(name, None)
        return before is not None
    mode = before[:6] if before is not None and before[:6] in _NOTES else _FILE
    entry = b"%s %s\0%s" % (mode, name, bytes.fromhex(blob))
    into.put(name + b"/", None)
    into.put(name, entry)
    return before != entry
