"""Paths inside a backup: which are allowed. Pure; what an archive says is a stranger's word."""

from __future__ import annotations

from collections.abc import Container, Iterable

from vaults.errors import InvalidArgument

MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"
VAULT_DATABASE = "vault.db"
SETTINGS = "settings.json"
NOTES = "notes"
POLICIES = "policies"
HISTORY = "history"
CONTROL_DATABASE = "control.db"
KEYS = "keys"
AUDIT = "audit"
LICENCE = "licence.jwt"
SETTINGS_FILE = "strongroom.toml"

MAX_PATH_BYTES = 4096
MAX_NAME_BYTES = 255

VAULT_ROOTS = frozenset({VAULT_DATABASE, SETTINGS, NOTES, POLICIES, HISTORY})
CONTROL_ROOTS = frozenset({CONTROL_DATABASE, KEYS, AUDIT, LICENCE, SETTINGS_FILE})


def why_unusable(path: str) -> str | None:
    """Why no member may have this path; None if one may."""
    if not path or path.startswith("/"):
        return "is empty or absolute"
    if "\0" in path or "\\" in path:
        return "holds what no path may hold"
    names = path.split("/")
    if any(name in ("", ".", "..") for name in names):
        return "climbs or holds an empty name"
    try:
        sizes = [len(name.encode()) for name in names]
    except UnicodeEncodeError:
        return "is not valid Unicode"
    if max(sizes) > MAX_NAME_BYTES or sum(sizes) + len(sizes) > MAX_PATH_BYTES:
        return "is too long"
    return None


_FILES = frozenset({VAULT_DATABASE, SETTINGS, CONTROL_DATABASE, LICENCE, SETTINGS_FILE})
"""Roots that are files; the others are folders."""


def check_paths(paths: Iterable[str], roots: frozenset[str]) -> None:
    """Raise ``InvalidArgument`` unless all of ``paths`` may stand in one backup: each usable and below one of
    ``roots``, none twice, none the folder of another."""
    seen: set[str] = set()
    folders: set[str] = set()
    for path in paths:
        reason = why_unusable(path)
        root, _, below = path.partition("/")
        if reason is None and (root not in roots or (root in _FILES) == bool(below)):
            reason = "is none that a backup has"
        if reason is None and path in seen:
            reason = "stands in it twice"
        if reason is not None:
            raise InvalidArgument("archive", f"names a member that {reason}")
        seen.add(path)
        folders |= _folders_above(path, folders)
    if seen & folders:
        raise InvalidArgument("archive", "names a member that is a file and a folder")


def _folders_above(path: str, known: Container[str]) -> set[str]:
    """The folders on the way to ``path``, from the last one up to one that is known."""
    found: set[str] = set()
    above = path.rpartition("/")[0]
    while above and above not in known:
        found.add(above)
        above = above.rpartition("/")[0]
    return found
