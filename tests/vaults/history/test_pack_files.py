"""Packing: the same history in less space."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

from tests.work import PATIENCE_S
from vaults.history import pack_files


def _loose(folder: Path) -> int:
    return len([path for path in folder.glob("objects/??/*") if path.is_file()])


def _filled(history, commits: int) -> dict[str, dict[str, bytes]]:
    """Random edits; what each commit must hold."""
    pick, now, expected = random.Random(3), {}, {}
    for number in range(commits):
        edits: dict[str, bytes | None] = {
            f"{pick.choice('ab')}/{pick.choice('cd')}/{pick.randrange(9)}.md": pick.choice([None, os.urandom(30)])
            for _ in range(pick.randrange(1, 4))
        }
        commit = history.commit(edits, f"Change {number}", "ann", number)
        now = {path: data for path, data in (now | edits).items() if data is not None}
        expected[commit] = now
    return expected


def test_packed_history_reads_the_same(vault, git_at) -> None:
    history, folder = vault.open(), vault.state / "history.git"
    expected = _filled(history, 25)
    log = history.log(None, 1000)
    assert history.pack() == packed_once(folder)
    assert _loose(folder) == 0
    assert history.pack() == 0
    for reader in (history, vault.open()):
        assert reader.log(None, 1000) == log
        for commit, notes in expected.items():
            for path in {path for notes in expected.values() for path in notes}:
                assert reader.content(commit, path) == notes.get(path)
    git_at(folder)("fsck", "--strict", "--full")


def packed_once(folder: Path) -> int:
    """Objects in the packs, by git's own count."""
    shown = subprocess.run(
        ["git", "count-objects", "-v"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout
    return int(next(line for line in shown.splitlines() if line.startswith("in-pack")).split()[1])


def test_packing_goes_on_from_the_last_time(vault, git_at) -> None:
    history, folder = vault.open(), vault.state / "history.git"
    expected = _filled(history, 10)
    history.pack()
    reader = vault.open()
    expected |= _filled(history, 10)
    assert 0 < history.pack() < 60
    assert all(
        reader.content(commit, path) == data for commit, notes in expected.items() for path, data in notes.items()
    )
    git_at(folder)("fsck", "--strict", "--full")


def test_an_owners_loose_objects_stay_theirs(vault, repository) -> None:
    folder = vault.root.parent / ".git"
    (vault.root / "b.md").write_bytes(b"the owner's\n")
    repository("add", ".")
    before = set(folder.glob("objects/??/*"))
    history = vault.open()
    history.commit({"c.md": b"ours\n"}, "Ours", "ann", 1_800_000_000)
    assert history.pack() == 4
    assert set(folder.glob("objects/??/*")) == before
    repository("fsck", "--strict", "--full")
    assert repository("show", "refs/strongroom/vault-1:notes/c.md") == "ours\n"


def test_leftovers_of_killed_writers_are_swept_when_old(vault) -> None:
    history, folder = vault.open(), vault.state / "history.git/objects"
    history.commit({"a.md": b"1"}, "First", "ann", 1)
    (folder / "ab").mkdir(exist_ok=True)
    old, new, foreign = (folder / "ab" / name for name in ("tmp_obj_strongroom_1", "tmp_obj_strongroom_2", "tmp_obj_x"))
    for path in (old, new, foreign):
        path.touch()
    (folder / "tmp_strongroom_old").mkdir()
    for path in (old, foreign, folder / "tmp_strongroom_old"):
        os.utime(path, (1, 1))
    history.pack()
    assert [old.exists(), new.exists(), foreign.exists()] == [False, True, True]
    assert not (folder / "tmp_strongroom_old").exists()


def test_libgit2_reads_nobodys_configuration_while_packing(tmp_path: Path) -> None:
    """A FIFO in the place of every configuration file would stop the process that opens it."""
    home = tmp_path / "home"
    (home / ".config/git").mkdir(parents=True)
    for name in (".gitconfig", ".config/git/config"):
        os.mkfifo(home / name)
    code = (
        "import sys; from pathlib import Path; from vaults.history.git import open_history\n"
        "history = open_history(Path(sys.argv[1]), Path(sys.argv[1]), 'v')\n"
        "history.commit({'a.md': b'1'}, 'First', 'ann', 1); assert history.pack() == 3\n"
    )
    repository = Path(pack_files.__file__).parents[2]
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=repository, env=environment, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0
