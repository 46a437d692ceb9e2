"""Which folders may be collections (vaults.domain.collections.file_kinds, of which files in them)."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaults.domain.collections import file_kinds, roots
from vaults.domain.collections.collection_model import Collection, CollectionFields, CollectionKind
from vaults.domain.collections.roots import RootRules
from vaults.errors import InvalidArgument, NotFound


def rules(tmp_path: Path, allowed: tuple[Path, ...] | None = None) -> RootRules:
    data = tmp_path / "data"
    return RootRules(allowed, (data, tmp_path / "theirs", tmp_path / "project" / ".strongroom"), tmp_path / "project")


def fields(root: Path, kind: CollectionKind = "markdown") -> CollectionFields:
    return CollectionFields(name="new", kind=kind, root=root)


@pytest.mark.parametrize(
    "root",
    ["data", "data/vaults/main/notes", "theirs", "theirs/sub", ".", "project/.strongroom", "project/.strongroom/x"],
)
def test_what_a_server_keeps_for_itself_is_refused(tmp_path: Path, root: str) -> None:
    with pytest.raises(InvalidArgument, match="keeps for itself") as refused:
        roots.check_free(fields(tmp_path / root), (), rules(tmp_path))
    assert "theirs" not in refused.value.message


@pytest.mark.parametrize("root", ["project", "project/sub"])
def test_notes_are_read_once_and_code_beside_them_without_them(tmp_path: Path, root: str) -> None:
    with pytest.raises(InvalidArgument, match="notes folder"):
        roots.check_free(fields(tmp_path / root), (), rules(tmp_path))
    code = roots.without_notes(fields(tmp_path / root, "code"), rules(tmp_path))
    roots.check_free(code, (), rules(tmp_path))
    assert code.exclude == ("*.md", "*.markdown")
    assert roots.without_notes(code, rules(tmp_path)) == code


def test_a_root_overlaps_with_no_other(tmp_path: Path) -> None:
    other = Collection(1, 1, "owner", "", "", fields(tmp_path / "docs" / "api"))
    for root in ("docs", "docs/api", "docs/api/v1"):
        with pytest.raises(InvalidArgument, match="overlaps with that of collection new"):
            roots.check_free(fields(tmp_path / root), (other,), rules(tmp_path))
    roots.check_free(fields(tmp_path / "docs" / "api2"), (other,), rules(tmp_path))


def test_only_folders_below_those_of_the_operator_where_there_are_bounds(tmp_path: Path) -> None:
    inside, outside = tmp_path / "srv" / "docs", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir(parents=True)
    bound = rules(tmp_path, (tmp_path / "srv",))
    assert roots.resolve_root(str(inside), bound) == inside
    (tmp_path / "srv" / "link").symlink_to(outside)
    for path in (outside, tmp_path / "srv" / "link", tmp_path / "srv" / ".." / "outside", tmp_path / "nothing"):
        with pytest.raises(NotFound, match="in none of the folders"):
            roots.resolve_root(str(path), bound)
    with pytest.raises(NotFound, match="over the network"):
        roots.resolve_root(str(inside), rules(tmp_path, ()))
    with pytest.raises(InvalidArgument, match="absolute"):
        roots.resolve_root("docs", rules(tmp_path))
    with pytest.raises(InvalidArgument, match="no folder"):
        roots.resolve_root(str(tmp_path / "nothing"), rules(tmp_path))


def why(path: str, kind: CollectionKind, **more: tuple[str, ...]) -> str | None:
    return file_kinds.make_rules(CollectionFields(name="c", kind=kind, root=Path("/c"), **more)).why_left_out(path)


def test_each_kind_reads_its_own() -> None:
    assert why("guides/a.MD", "markdown") is None
    assert why("guides/a.txt", "markdown") == file_kinds.OTHER_KIND
    assert why("a.html", "documents") is None
    assert why("src/app.py", "code") is why("Dockerfile", "code") is why("README.md", "code") is None
    assert why("logo.png", "code") == file_kinds.OTHER_KIND
    assert why("guides/a.txt", "markdown", include=("guides/*.txt",)) is None
    assert why("a.md", "markdown", include=("guides/**",)) == file_kinds.OTHER_KIND


def test_dependencies_and_builds_are_not_entered() -> None:
    for folder in ("node_modules/", "lib/node_modules/", "dist/", "src/__pycache__/", "vendor/", "target/", ".next/"):
        assert why(folder, "code"), folder
    for file in ("app.min.js", "app.js.map", "poetry.lock", "go.sum"):
        assert why(file, "code"), file
    assert why("src/", "code") is None
    assert why("dist/", "documents") is None
    names = file_kinds.make_watched_names(CollectionFields(name="c", kind="code", root=Path("/c")))
    assert [names.folder(each) for each in ("src", "node_modules", ".git")] == [True, False, False]
    assert [names.file(each) for each in ("a.py", ".gitignore", ".a.py.swp", "a.png")] == [True, True, False, False]
