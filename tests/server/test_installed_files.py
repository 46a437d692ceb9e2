"""The files a server was started from are told from those of an upgrade."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from server.installed_files import FOLDERS, MARKS, ROOT, look_at_files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An installation of little files."""
    for name in (*MARKS, *(f"{folder}/page.py" for folder in FOLDERS), "server/ui/templates/page.html"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("old", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ["server/ui/page.py", "server/ui/templates/page.html", "vaults/__init__.py"])
def test_a_file_that_is_replaced_is_seen_even_if_it_looks_as_old(root: Path, name: str) -> None:
    before, old = look_at_files(root), (root / name).stat()
    new = root / "new"
    new.write_text("new", encoding="utf-8")
    os.utime(new, ns=(old.st_atime_ns, old.st_mtime_ns))
    new.replace(root / name)
    assert look_at_files(root) != before


def test_a_file_that_comes_or_goes_is_seen(root: Path) -> None:
    before = look_at_files(root)
    (root / "server/ui/more.py").touch()
    assert look_at_files(root) != before
    (root / "server/ui/more.py").unlink()
    assert look_at_files(root) == before
    (root / "server/ui/page.py").unlink()
    assert look_at_files(root) != before


def test_compiled_modules_and_permissions_change_nothing(root: Path) -> None:
    before = look_at_files(root)
    (root / "server/ui/__pycache__").mkdir()
    (root / "server/ui/__pycache__/page.pyc").touch()
    (root / "server/ui/page.py").chmod(0o600)
    assert look_at_files(root) == before


def test_the_files_of_this_program_are_looked_at() -> None:
    assert all((ROOT / mark).is_file() for mark in MARKS)
    assert str(ROOT / "server/ui/templates/frame.html") in look_at_files()
