"""After a kill: what was never acknowledged goes, and what another program wrote is kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vaults.files import atomic
from vaults.files.tree import Tree

KILLED = """
import os, signal, sys
from pathlib import Path
from vaults.files.writes import replacement, name_changes, prepared_changes, temporary_files
from vaults.files.tree import Tree

root, moment, outside = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
tree = Tree(root)
note = root / "folder/note.md"
stamp = tree.read("folder/note.md", 100).stamp

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def save():
    if outside == "saved":
        (root / "save").write_bytes(b"typed by hand")
        (root / "save").replace(note)

if moment == "writing":
    temporary_files.write_all = die
    tree.replace("folder/note.md", b"new", stamp)
if moment == "prepared":
    tree.prepare("folder/note.md", b"new", stamp)
    tree.prepare_create("folder/new.md", b"new")
    die()
if moment == "exchanged":
    real = replacement.exchange
    def exchange(one, other):
        save()
        real(one, other)
        die()
    replacement.exchange = exchange
    tree.replace("folder/note.md", b"new", stamp)
if moment == "removing":
    real = name_changes.rename_exclusive
    def rename(one, other):
        save()
        real(one, other)
        die()
    name_changes.rename_exclusive = rename
    tree.remove("folder/note.md", stamp)
"""


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def killed(root: Path, moment: str, outside: str = "quiet") -> None:
    here = Path(atomic.__file__).parents[2]
    result = subprocess.run(
        [sys.executable, "-c", KILLED, str(root), moment, outside], cwd=here, capture_output=True, check=False
    )
    assert result.returncode == -9, result.stderr


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Tree(tmp_path).create("folder/note.md", b"old")
    return tmp_path


@pytest.mark.parametrize(("moment", "orphans"), [("writing", 1), ("prepared", 2)])
def test_what_was_not_published_is_swept_away(root: Path, moment: str, orphans: int) -> None:
    killed(root, moment)
    assert len(contents(root / "folder")) == 1 + orphans
    swept = Tree(root).sweep()
    assert (swept.removed, swept.kept) == (orphans, [])
    assert contents(root / "folder") == {"note.md": b"old"}


def test_the_replaced_version_is_swept_away(root: Path) -> None:
    killed(root, "exchanged")
    swept = Tree(root).sweep()
    assert (swept.removed, swept.kept) == (1, [])
    assert contents(root / "folder") == {"note.md": b"new"}


def test_a_save_that_slipped_in_before_a_killed_exchange_is_kept_beside_the_note(root: Path) -> None:
    killed(root, "exchanged", "saved")
    swept = Tree(root).sweep()
    (kept,) = swept.kept
    assert kept.startswith("folder/note.conflict-")
    assert contents(root / "folder") == {"note.md": b"new", kept.removeprefix("folder/"): b"typed by hand"}
    assert len(Tree(root).walk().found) == 2


def test_a_removed_note_is_gone_and_a_save_that_slipped_in_is_kept(root: Path) -> None:
    killed(root, "removing")
    assert Tree(root).sweep().removed == 1
    assert contents(root / "folder") == {}
    Tree(root).create("folder/note.md", b"old")
    killed(root, "removing", "saved")
    (kept,) = Tree(root).sweep().kept
    assert (root / kept).read_bytes() == b"typed by hand"


def test_a_writer_at_work_and_other_programs_files_are_spared(root: Path) -> None:
    tree = Tree(root)
    prepared = tree.prepare_create("folder/new.md", b"new")
    for name in (".note.md.tmp", ".strongroom.tmp", ".strongroom-new-xyz.tmp", "strongroom-new-01234567.tmp"):
        (root / "folder" / name).write_bytes(b"theirs")
    assert tree.sweep().removed == 0
    assert Tree(root).sweep().removed == 0
    prepared.publish()
    assert Tree(root).sweep().removed == 0
    assert len(contents(root / "folder")) == 6
