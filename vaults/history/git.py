"""Version history of one vault: commits that touch nothing but an object store and one reference."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vaults.errors import InvalidArgument, TooLarge
from vaults.history import commit_objects, locations, pack_files
from vaults.history.commit_objects import CommitRecord
from vaults.history.commit_walk import CommitWalk, WalkBounds, WalkStart, WalkStep
from vaults.history.diffs import unified_diff
from vaults.history.errors import HistoryUnavailable, ObjectMissing, translate_git_errors
from vaults.history.object_store import ObjectStore
from vaults.history.refs import Refs, own_ref
from vaults.history.trees import EMPTY_TREE, Trees, is_keepable

_ATTEMPTS = 20  # each fails only because another process committed meanwhile
_LARGEST_NOTE = 16 * 1024 * 1024
_REF = re.compile(r"[0-9a-f]{7,40}")


@dataclass(frozen=True, slots=True)
class Commit:
    """One version."""

    id: str
    at: int  # seconds since the epoch
    author: str
    message: str
    paths: tuple[str, ...]  # vault-relative: the first 1,000 of the history's, of a branch's only the one asked for
    source: Literal["history", "branch"]
    parent: str | None  # the commit with the state before


@dataclass(frozen=True, slots=True)
class GitLog:
    """Newest first. Not ``complete``: older commits may exist that were out of reach or of the time allowed."""

    commits: list[Commit]
    complete: bool


@dataclass(frozen=True, slots=True)
class _OpenRepository:
    """An open repository: the parts that work on it."""

    objects: ObjectStore
    trees: Trees
    refs: Refs
    prefix: str


def open_history(root: Path, state: Path, ref_name: str, bounds: WalkBounds | None = None) -> GitHistory:
    """History of the notes in ``root``. Blocking, as are its methods; one caller at a time, any number of processes.

    A vault that has a history of its own (``state/history.git``) keeps it. Otherwise history goes into the repository
    the notes lie in, under ``refs/strongroom/<ref_name>``; if there is none, into a new one of the vault's own. Nothing
    is ever written among the notes. Raises HistoryUnavailable, InvalidArgument.
    """
    ref = own_ref(ref_name)
    with translate_git_errors("opening the repository"):
        around = locations.find_surrounding(root)
        branch = _open_parts(around) if around else None
        kept = branch if branch and not locations.has_own(state) else _open_parts(locations.ensure_own(state))
        return GitHistory(kept, branch, ref, bounds or WalkBounds())


def _open_parts(location: locations.RepositoryLocation) -> _OpenRepository:
    if location.prefix and not is_keepable(location.prefix[:-1]):
        raise HistoryUnavailable("git cannot keep the name of the vault's folder")
    objects = ObjectStore(location.common / "objects")
    return _OpenRepository(objects, Trees(objects), Refs(location.private, location.common), location.prefix)


class GitHistory:
    """Made by ``open_history``. Every failure of the repository is HistoryUnavailable; notes go on without it.

    The tree of a commit holds all that was ever given to ``commit``, at its place in the worktree. The first one starts
    from nothing, so that no commit needs objects this repository does not hold itself.
    """

    def __init__(self, kept: _OpenRepository, branch: _OpenRepository | None, ref: str, bounds: WalkBounds) -> None:
        self._kept = kept
        self._branch = branch
        self._ref = ref
        self._bounds = bounds

    def tip(self) -> str | None:
        """The latest commit of the history; None before the first."""
        with translate_git_errors("reading the history"):
            return self._kept.refs.read(self._ref)

    def commit(self, files: Mapping[str, bytes | None], message: str, author: str, when: int) -> str:
        """Record new bytes (None: gone) of vault-relative paths and return the commit's id; durable on return.

        Bytes go in as they are, paths literally. When nothing differs from the last commit, that one is returned.
        ``when`` in seconds since the epoch. Raises InvalidArgument for a path that is not ``is_keepable``.
        """
        with translate_git_errors("writing the history"):
            blobs = {
                self._path(path): None if data is None else self._kept.objects.write("blob", data)
                for path, data in files.items()
            }
            for _ in range(_ATTEMPTS):
                commit = self._try_commit(blobs, message, author, when)
                if commit is not None:
                    return commit
            raise HistoryUnavailable("others are writing to it")

    def log(self, path: str | None, limit: int, before: str | None = None) -> GitLog:
        """Commits of the history, newest first, after ``before`` in that order when given.

        With a path: those that changed it, including those of the branch checked out in the surrounding repository.
        Renames are not followed.
        """
        if path is not None and not is_keepable(path):
            raise InvalidArgument("path", "cannot be kept in a git history")
        mark = _parse_hex("before", before) if before is not None else None
        with translate_git_errors("reading the history"):
            walk = CommitWalk(self._lines(branch=path is not None), self._bounds)
            found: list[Commit] = []
            for step in walk:
                if mark is not None:
                    mark = None if step.id.startswith(mark) else mark
                elif path is None or self._touches(step, path, walk):
                    found.append(_to_commit(step, path))
                    if len(found) == limit:
                        break
            return GitLog(found, walk.complete)

    def content(self, ref: str, path: str) -> bytes | None:
        """A note's bytes as of a commit; None when the commit had no such note, or there is no such commit.

        ``ref`` is at least seven hexadecimal digits of a commit in the past of the history or the checked-out branch:
        other objects of the repository are out of reach. Raises InvalidArgument, TooLarge.
        """
        wanted = _parse_hex("ref", ref)
        if not is_keepable(path):
            raise InvalidArgument("path", "cannot be kept in a git history")
        with translate_git_errors("reading the history"):
            step = self._find_reachable(wanted)
            if step is None:
                return None
            repository = self._of(step)
            blob = repository.trees.note(step.record.tree, repository.prefix + path)
            if blob is None:
                return None
            if (repository.objects.size(blob) or 0) > _LARGEST_NOTE:
                raise TooLarge(f"This version of the note is larger than {_LARGEST_NOTE // 1024 // 1024} MB")
            return repository.objects.get(blob, "blob")

    def diff(self, path: str, from_ref: str, to_bytes: bytes) -> str:
        """Unified diff from the note as of a commit (empty, if it did not exist) to ``to_bytes``."""
        before = self.content(from_ref, path) or b""
        return unified_diff(before.decode("utf-8", "replace"), to_bytes.decode("utf-8", "replace"), path)

    def pack(self) -> int:
        """Pack the history's loose objects; returns how many. Seconds for thousands of commits; safe to kill."""
        with translate_git_errors("packing the history"):
            tip = self._kept.refs.read(self._ref)
            return pack_files.pack_objects(self._kept.objects, self._kept.trees, tip) if tip else 0

    def _path(self, path: str) -> str:
        if not is_keepable(path):
            raise InvalidArgument("path", "cannot be kept in a git history")
        return self._kept.prefix + path

    def _try_commit(self, blobs: Mapping[str, str | None], message: str, author: str, when: int) -> str | None:
        """One attempt on top of the current tip; None when another process moved it meanwhile."""
        kept = self._kept
        tip = kept.refs.read(self._ref)
        base = commit_objects.decode(kept.objects.get(tip, "commit")).tree if tip else EMPTY_TREE
        tree, touched = kept.trees.update(base, blobs)
        if tip and tree == base:
            return tip
        paths = tuple(path.removeprefix(kept.prefix) for path in touched)
        record = CommitRecord(
            tree=tree, parents=(tip,) if tip else (), author=author, at=when, message=message, paths=paths
        )
        commit = kept.objects.write("commit", commit_objects.encode(record))
        kept.objects.settle()
        return commit if kept.refs.move(self._ref, tip, commit) else None

    def _lines(self, *, branch: bool) -> list[WalkStart]:
        lines = []
        tip = self._kept.refs.read(self._ref)
        if tip:
            lines.append(WalkStart("history", self._kept.objects, tip))
        if branch and self._branch:
            head = self._branch.refs.head()
            if head:
                lines.append(WalkStart("branch", self._branch.objects, head))
        return lines

    def _of(self, step: WalkStep) -> _OpenRepository:
        return self._kept if step.line.source == "history" or self._branch is None else self._branch

    def _touches(self, step: WalkStep, path: str, walk: CommitWalk) -> bool:
        record = step.record
        if step.line.source == "history" and (record.all_paths or path in record.paths):
            return path in record.paths
        repository = self._of(step)
        whole = repository.prefix + path
        try:
            now = repository.trees.note(record.tree, whole)
            parents = [commit_objects.decode(repository.objects.get(oid, "commit")).tree for oid in record.parents]
            before = [repository.trees.note(tree, whole) for tree in parents] or [None]
        except ObjectMissing:
            if step.line.source == "history":
                raise
            walk.complete = False  # a clone that does not hold the earlier state
            return False
        return all(now != blob for blob in before)

    def _find_reachable(self, wanted: str) -> WalkStep | None:
        """The commit, if it is in the past of the history or of HEAD. An abbreviation must fit only one."""
        fitting: list[WalkStep] = []
        for step in CommitWalk(self._lines(branch=True), self._bounds):
            if step.id.startswith(wanted):
                fitting.append(step)
                if len(wanted) == 40:
                    break
        if len(fitting) > 1:
            raise InvalidArgument("ref", "fits several commits; give more digits")
        return fitting[0] if fitting else None


def _parse_hex(field: str, text: str) -> str:
    if not _REF.fullmatch(text.lower()):
        raise InvalidArgument(field, "must be 7 to 40 hexadecimal digits of a commit")
    return text.lower()


def _to_commit(step: WalkStep, path: str | None) -> Commit:
    record = step.record
    history = step.line.source == "history"
    paths = record.paths if history else (path,) if path is not None else ()
    return Commit(
        id=step.id,
        at=record.at,
        author=record.author,
        message=record.message,
        paths=paths,
        source="history" if history else "branch",
        parent=record.parents[0] if record.parents else None,
    )
