"""Putting the files of a change in place, one after another, and rolling that back. Blocking."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from vaults.domain.notes.commit.journal import FileChange
from vaults.domain.notes.index.extraction import compute_digest
from vaults.errors import AlreadyExists, Conflict, Internal, NotFound, StrongroomError
from vaults.files.paths import join_path, parent_folder
from vaults.files.tree import FileStamp, PreparedChange, Tree
from vaults.files.writes.temporary_files import outgoing_name

CHUNK_FILES = 64
"""Max files prepared at a time: each holds a file descriptor until it is published."""


@dataclass(slots=True)
class PlacedFiles:
    """Files that are in place."""

    tree: Tree
    done: list[tuple[FileChange, FileStamp]] = field(default_factory=list)  # stamps as placed; if removed, as before
    since: dict[str, int] = field(default_factory=dict)  # by path: the time just before it was placed, in nanoseconds
    folders: set[str] = field(default_factory=set)

    def all(self, files: Sequence[FileChange], first: Sequence[PreparedChange]) -> None:
        """Put all in place; ``first`` are already prepared. If one fails, those before it are rolled back. Raises what
        stopped it."""
        try:
            for start in range(0, len(files), CHUNK_FILES):
                some = files[start : start + CHUNK_FILES]
                self._publish(some, first if start == 0 else prepare_changes(self.tree, some))
            self.tree.sync(self.folders)
        except BaseException:
            self.take_back()
            raise

    def _publish(self, files: Sequence[FileChange], steps: Sequence[PreparedChange]) -> None:
        try:
            for each, step in zip(files, steps, strict=True):
                self.folders.update(step.folders)
                self.since[each.target] = time.time_ns()
                self.done.append((_first_step(each), step.publish_unsynced()))
                if each.to is not None and each.after != each.before and each.after is not None:
                    # Unsynced, too: a failed sync could not be told from a change that did not happen.
                    with self.tree.prepare(each.to, each.after, self.done[-1][1]) as edit:
                        self.done[-1] = (each, edit.publish_unsynced())
        finally:
            for step in steps:
                step.discard()

    @property
    def stamps(self) -> dict[str, FileStamp]:
        """By path, of the files that are in place; of a removed one, as it was."""
        return {each.target: stamp for each, stamp in self.done}

    @property
    def hides(self) -> bool:
        """Whether removed files still exist under hidden names."""
        return any(each.after is None for each, _ in self.done)

    def finish(self) -> None:
        """Delete removed files for good, now that nothing will be rolled back."""
        for each, stamp in self.done:
            if each.after is None:
                with suppress(StrongroomError):  # a later sweep deletes it
                    self.tree.forget(_hidden_path(each, stamp), each.path, stamp)

    def take_back(self) -> None:
        """Undo what was put in place, newest first. A file that another program has changed since stays as that
        program left it: its text matters more than a complete rollback, and the versions are in the journal."""
        while self.done:
            each, stamp = self.done.pop()
            try:
                _take_back(self.tree, each, stamp)
            except (AlreadyExists, Conflict, NotFound):
                continue


def _first_step(each: FileChange) -> FileChange:
    """The part of a change that is done once its file has its new name."""
    return each if each.to is None else replace(each, after=each.before)


def prepare_changes(tree: Tree, files: Sequence[FileChange]) -> list[PreparedChange]:
    """Write and sync everything under hidden names. Raises what stops one, after discarding the others."""
    found: list[PreparedChange] = []
    try:
        for each in files:
            found.append(_prepare_change(tree, each))
    except BaseException:
        for step in found:
            step.discard()
        raise
    return found


def _prepare_change(tree: Tree, each: FileChange) -> PreparedChange:
    if each.to is not None:
        return tree.prepare_move(each.path, each.to, _stamp(each))
    if each.before is None and each.after is not None:
        return tree.prepare_create(each.path, each.after)
    if each.after is None:  # hidden first: writing it again on a rollback would take space that a full disk lacks
        return tree.prepare_move(each.path, _hidden_path(each, _stamp(each)), _stamp(each))
    return tree.prepare(each.path, each.after, _stamp(each))


def _hidden_path(each: FileChange, stamp: FileStamp) -> str:
    """Where a removed file is kept until the change is done."""
    return join_path(parent_folder(each.path), outgoing_name(stamp, compute_digest(each.path.encode())))


def _stamp(each: FileChange) -> FileStamp:
    if each.stamp is None:
        raise Internal("a change of a note that was not read")
    return each.stamp


def _take_back(tree: Tree, each: FileChange, stamp: FileStamp) -> None:
    if each.before is None:
        tree.remove(each.path, stamp)
    elif each.after is None:
        tree.move(_hidden_path(each, stamp), each.path, stamp)
    else:
        if each.after != each.before:
            stamp = tree.replace(each.target, each.before, stamp)
        if each.to is not None:
            tree.move(each.to, each.path, stamp)
