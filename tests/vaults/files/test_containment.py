"""Faults 84, 85 and 36: whatever a path says and whatever is swapped under it, nothing outside is touched.

Covers vaults.files.writes.renames.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.work import PATIENCE_S, examples
from vaults.errors import InvalidArgument, StrongroomError
from vaults.files.tree import FileStamp, Tree
from vaults.files.writes.renames import FolderEntry, exchange

SECRET = b"canary 7f3a"
NOBODY = FileStamp(len(SECRET), 0, 0, 0)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault with a sibling whose name starts alike, and a folder outside."""
    (tmp_path / "vault/folder").mkdir(parents=True)
    (tmp_path / "vault/folder/note.md").write_bytes(b"ours")
    for outside in (tmp_path / "vault2", tmp_path / "outside"):
        (outside / "sub").mkdir(parents=True)
        (outside / "note.md").write_bytes(SECRET)
        (outside / "sub/note.md").write_bytes(SECRET)
    return tmp_path / "vault"


def outside_of(vault: Path) -> dict[str, tuple[bytes | None, int]]:
    return {
        str(path): (path.read_bytes() if path.is_file() else None, path.stat().st_mtime_ns)
        for folder in ("vault2", "outside")
        for path in (vault.parent / folder, *(vault.parent / folder).rglob("*"))
    }


def operations(tree: Tree, path: str, stamp: FileStamp = NOBODY) -> dict[str, Callable[[], object]]:
    return {
        "read": lambda: tree.read(path, 100),
        "create": lambda: tree.create(path, b"planted"),
        "replace": lambda: tree.replace(path, b"planted", stamp),
        "remove": lambda: tree.remove(path, stamp),
        "move from": lambda: tree.move(path, "stolen.md", stamp),
        "move to": lambda: tree.move("folder/note.md", path, tree.read("folder/note.md", 9).stamp),
    }


@contextmanager
def untouched(vault: Path) -> Iterator[None]:
    before = outside_of(vault)
    yield
    assert outside_of(vault) == before


HOSTILE = [
    "../outside/note.md",
    "../vault2/note.md",
    "folder/../../outside/note.md",
    "..",
    ".",
    "",
    "/etc/passwd",
    "//outside/note.md",
    "folder//note.md",
    "folder/",
    "a\0.md",
    "\ud800.md",
    "x" * 300 + ".md",
]


@pytest.mark.parametrize("path", HOSTILE, ids=ascii)
def test_the_tree_itself_refuses_paths_that_climb(vault: Path, path: str) -> None:
    tree = Tree(vault)
    with untouched(vault):
        for operation in operations(tree, path).values():
            with pytest.raises(InvalidArgument):
                operation()
    assert (vault / "folder/note.md").read_bytes() == b"ours"


@given(st.lists(st.sampled_from(["..", ".", "", "a", "folder", "note.md", "link", "\0", "~"]), max_size=6))
@settings(suppress_health_check=list(HealthCheck), max_examples=examples(60), deadline=None)
def test_no_path_reads_outside(vault: Path, parts: list[str]) -> None:
    if not (vault / "link").is_symlink():
        (vault / "link").symlink_to("../outside")
    with suppress(StrongroomError):
        assert Tree(vault).read("/".join(parts), 100).data == b"ours"


@pytest.mark.parametrize(
    "link", ["note.md", "folder/note.md", "through/note.md", "through/sub/note.md", "chain/note.md"]
)
def test_links_are_never_followed(vault: Path, link: str) -> None:
    tree = Tree(vault)
    (vault / "folder/note.md").rename(vault / "folder/own.md")
    for place in ("note.md", "folder/note.md"):
        (vault / place).symlink_to(vault.parent / "outside/note.md")
    (vault / "through").symlink_to("../outside")
    (vault / "chain").symlink_to("through")
    target = (vault / link).stat()
    stamp = FileStamp(target.st_size, target.st_mtime_ns, target.st_ino, target.st_dev)
    with untouched(vault):
        for name, operation in operations(tree, link, stamp).items():
            if name != "move to":
                with pytest.raises(StrongroomError):
                    operation()
        with pytest.raises(StrongroomError):
            tree.move("folder/own.md", link, tree.read("folder/own.md", 9).stamp)
    assert tree.stamp(link) is None
    assert (vault / "folder/own.md").read_bytes() == b"ours"


def test_a_hard_link_to_the_outside_is_parted_not_written_through(vault: Path) -> None:
    os.link(vault.parent / "outside/note.md", vault / "linked.md")
    tree = Tree(vault)
    content = tree.read("linked.md", 100)
    tree.replace("linked.md", b"new", content.stamp)
    assert (vault.parent / "outside/note.md").read_bytes() == SECRET


def test_odd_files_are_refused_without_waiting(vault: Path) -> None:
    tree = Tree(vault)
    os.mkfifo(vault / "pipe.md")
    kinds = ["pipe.md", "folder"]
    try:
        os.mknod(vault / "device.md", 0o020600, os.makedev(1, 5))  # /dev/zero: endless
        kinds.append("device.md")
    except (PermissionError, AttributeError):
        pass
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(vault)
        try:
            server.bind("socket.md")
        finally:
            os.chdir(here)
    for path in (*kinds, "socket.md"):
        for name, operation in operations(tree, path).items():
            with pytest.raises(StrongroomError) as caught:
                operation()
            if name in ("read", "replace", "remove", "move from"):
                assert caught.value.code == "invalid_argument"
        assert tree.stamp(path) is None


def test_a_folder_swapped_for_a_link_under_a_call_leads_nowhere_else(vault: Path) -> None:
    """The folder and a link to the outside change places without end, while every operation is tried."""
    (vault / ".link").symlink_to("../outside")
    tree = Tree(vault)
    over = threading.Event()
    swaps = 0

    def swap() -> None:
        nonlocal swaps
        descriptor = os.open(vault, os.O_RDONLY)
        try:
            while not over.is_set():
                assert exchange(FolderEntry(descriptor, "folder"), FolderEntry(descriptor, ".link"))
                swaps += 1
        finally:
            os.close(descriptor)

    if not _exchanges(vault):
        pytest.skip("this file system cannot exchange names")
    done = {"read": 0, "create": 0, "replace": 0, "remove": 0, "refused": 0}
    with untouched(vault):
        thread = threading.Thread(target=swap)
        thread.start()
        try:
            until = time.monotonic() + PATIENCE_S
            while (swaps <= 1000 or min(done.values()) <= 10) and time.monotonic() < until:
                _try_all(tree, done)
        finally:
            over.set()
            thread.join()
    assert swaps > 1000
    assert min(done.values()) > 10, done


def _exchanges(vault: Path) -> bool:
    descriptor = os.open(vault, os.O_RDONLY)
    try:
        return exchange(FolderEntry(descriptor, "folder"), FolderEntry(descriptor, ".link")) and exchange(
            FolderEntry(descriptor, "folder"), FolderEntry(descriptor, ".link")
        )
    finally:
        os.close(descriptor)


def _try_all(tree: Tree, done: dict[str, int]) -> None:
    def attempt(name: str, operation: Callable[[], object]) -> object:
        try:
            result = operation()
        except StrongroomError:
            done["refused"] += 1
            return None
        done[name] += 1
        return result

    content = None
    for _ in range(10):
        content = attempt("read", lambda: tree.read("folder/note.md", 100)) or content
        assert content is None or content.data != SECRET  # type: ignore[attr-defined]
    attempt("read", lambda: tree.read("folder/sub/note.md", 100))
    for found in tree.walk().found:
        assert found.stamp.size != len(SECRET)
    if content is not None:
        attempt("replace", lambda: tree.replace("folder/note.md", b"again", content.stamp))  # type: ignore[attr-defined]
    stamp = attempt("create", lambda: tree.create("folder/deep/new.md", b"planted"))
    stamp = stamp or tree.stamp("folder/deep/new.md")
    if isinstance(stamp, FileStamp):
        attempt("remove", lambda: tree.remove("folder/deep/new.md", stamp))
