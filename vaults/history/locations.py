"""Where history lives: the repository the notes lie in, or a bare one of the vault's own."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from vaults.files.atomic import sync_folder, write_atomic
from vaults.files.permissions import FOLDER_MODE, tighten_permissions
from vaults.history import git_config
from vaults.history.errors import HistoryUnavailable
from vaults.history.refs import read_small_file

OWN_FOLDER = "history.git"
"""The vault's own repository, in its state folder."""

_OWN_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n\tlogallrefupdates = false\n"


@dataclass(frozen=True, slots=True)
class RepositoryLocation:
    """``prefix`` is the vault's folder within the worktree, with a slash at its end, or empty."""

    private: Path
    common: Path
    prefix: str


def find_surrounding(root: Path) -> RepositoryLocation | None:
    """The repository whose worktree holds ``root``, searched for upwards within one file system.

    None if there is none, or if it is bare or has its worktree elsewhere. A ``.git`` that exists but is not usable
    raises HistoryUnavailable: going on upwards would put private notes into a repository nobody meant.
    """
    root = root.resolve()
    device = root.stat().st_dev
    for folder in (root, *root.parents):
        if folder.stat().st_dev != device:
            return None
        try:
            kind = (folder / ".git").lstat().st_mode
        except FileNotFoundError:
            continue
        return _open_location(folder, kind, root)
    return None


def ensure_own(state: Path) -> RepositoryLocation:
    """The vault's own bare repository in its state folder, made or completed if needed."""
    folder = state / OWN_FOLDER
    if not folder.is_symlink() and not (folder / "HEAD").exists():
        # HEAD comes last: without it the next call starts over, so a kill in between leaves nothing half-made.
        folder.mkdir(mode=0o700, exist_ok=True)
        for part in ("objects/info", "objects/pack", "refs/heads", "refs/strongroom"):
            (folder / part).mkdir(mode=0o700, parents=True, exist_ok=True)
        for part in ("objects", "refs"):
            (folder / part).chmod(0o700)
        write_atomic(folder / "config", _OWN_CONFIG)
        write_atomic(folder / "HEAD", b"ref: refs/heads/main\n")
        sync_folder(state)
    tighten_permissions(folder, FOLDER_MODE)
    _check_location(folder, folder, state)
    return RepositoryLocation(folder, folder, "")


def has_own(state: Path) -> bool:
    return (state / OWN_FOLDER / "HEAD").exists()


def _open_location(folder: Path, kind: int, root: Path) -> RepositoryLocation | None:
    link = folder / ".git"
    if stat.S_ISDIR(kind):
        private = common = link
        if root.is_relative_to(link):
            return None
    elif stat.S_ISREG(kind):
        private, common = _follow_link(link)
    else:
        raise HistoryUnavailable("the repository's .git is neither a folder nor a file")
    _check_location(private, common, root)
    found = git_config.read_config(private, common)
    is_worktree = private != common
    if git_config.is_bare(found) and not is_worktree:
        return None
    if not is_worktree and not _is_worktree_of(folder, private, found):
        if private == link:
            return None
        raise HistoryUnavailable("the repository does not name this folder as its own")
    inner = root.relative_to(folder).as_posix()
    return RepositoryLocation(private, common, "" if inner == "." else f"{inner}/")


def _follow_link(link: Path) -> tuple[Path, Path]:
    """The folders a ``.git`` file names. Those of a linked worktree must point back, or the file could name any."""
    text = os.fsdecode(read_small_file(link) or b"")
    if not text.startswith("gitdir:"):
        raise HistoryUnavailable("the repository is damaged")
    private = (link.parent / text[7:].strip()).resolve()
    shared = read_small_file(private / "commondir")
    if shared is None:
        return private, private
    common = (private / os.fsdecode(shared).strip()).resolve()
    back = os.fsdecode(read_small_file(private / "gitdir") or b"").strip()
    if not back or (private / back).resolve() != link or private.parent != common / "worktrees":
        raise HistoryUnavailable("the repository does not name this folder as its own")
    return private, common


def _is_worktree_of(folder: Path, private: Path, found: dict[str, str]) -> bool:
    worktree = found.get("core.worktree")
    if worktree is None:
        return private == folder / ".git"
    return (private / worktree).resolve() == folder


def _check_location(private: Path, common: Path, vault: Path) -> None:
    """Raises HistoryUnavailable unless it is a whole repository of this process's user or of the vault's owner.

    libgit2 would require this process's user, because it acts on the configuration. Here the danger is another one: a
    stranger's repository in a folder above would be given the notes. In a container, where notes and repository belong
    to the host's user, both have one owner.
    """
    objects = common / "objects"
    for path in (private, common, objects):
        try:
            status = path.lstat()
        except FileNotFoundError as failure:
            raise HistoryUnavailable("the repository is damaged") from failure
        if not stat.S_ISDIR(status.st_mode):
            raise HistoryUnavailable("the repository is damaged")
        if status.st_uid not in (os.geteuid(), vault.stat().st_uid):
            raise HistoryUnavailable("the repository belongs to another user")
    if read_small_file(private / "HEAD") is None or not (common / "refs").is_dir():
        raise HistoryUnavailable("the repository is damaged")
