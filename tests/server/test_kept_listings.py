"""Listings of an earlier start are used as long as they are whole, and of this very code."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from auth.roles import Role
from server import kept_listings
from server.audience import audience_of
from server.kept_listings import KeptListings, keep_in
from server.mcp_bridge.catalogue import ToolCatalogue
from server.tool_registry import ToolRegistry
from server.tool_spec import ToolSpec
from server.tools import discover, discover_kept

ADMIN = (Role.ADMIN, "full", "auto")


def unwanted() -> object:
    raise AssertionError("made anew")


def only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def test_what_is_kept_is_not_made_again(tmp_path: Path) -> None:
    assert KeptListings(tmp_path / "a", "1").get("tools", lambda: ["recall é"]) == ["recall é"]
    assert KeptListings(tmp_path / "a", "1").get("tools", unwanted) == ["recall é"]
    assert only_file(tmp_path / "a").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "harm",
    [
        lambda raw: raw[:-2],
        lambda raw: raw.replace(b"recall", b"remove"),
        lambda raw: b"",
        lambda raw: b"\xff" + raw,
        lambda raw: raw.partition(b"\n")[2],
    ],
)
def test_a_file_that_was_changed_is_made_anew(tmp_path: Path, harm) -> None:
    KeptListings(tmp_path, "1").get("tools", lambda: ["recall"])
    file = only_file(tmp_path)
    file.write_bytes(harm(file.read_bytes()))
    assert KeptListings(tmp_path, "1").get("tools", lambda: ["anew"]) == ["anew"]
    assert KeptListings(tmp_path, "1").get("tools", unwanted) == ["anew"]


def test_what_other_code_or_another_listing_says_is_not_believed(tmp_path: Path) -> None:
    KeptListings(tmp_path, "1").get("tools", lambda: ["old"])
    assert KeptListings(tmp_path, "2").get("tools", lambda: ["new"]) == ["new"]
    file = only_file(tmp_path)
    KeptListings(tmp_path, "2").get("other", lambda: ["other"])
    (other,) = set(tmp_path.iterdir()) - {file}
    file.write_bytes(other.read_bytes())
    assert KeptListings(tmp_path, "2").get("tools", lambda: ["new"]) == ["new"]


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert keep_in(tmp_path).get("tools", lambda: [1]) == [1]


def test_no_data_folder_is_made_for_them_and_theirs_are_private(tmp_path: Path) -> None:
    assert keep_in(tmp_path / "data").get("tools", lambda: [1]) == [1]
    assert not (tmp_path / "data").exists()
    keep_in(tmp_path).get("tools", lambda: [1])
    assert {(tmp_path / each).stat().st_mode & 0o777 for each in ("cache", "cache/listings")} == {0o700}


def test_any_file_of_the_program_that_changes_makes_listings_old(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(kept_listings, "_ROOT", tmp_path / "program")
    for package in kept_listings.PACKAGES:
        (tmp_path / "program" / package / "deep").mkdir(parents=True)
    source = tmp_path / "program" / "vaults" / "deep" / "module.py"
    source.write_text("ONE = 1")
    keep_in(tmp_path, "moltbook").get("tools", lambda: ["old"])
    assert keep_in(tmp_path, "moltbook").get("tools", unwanted) == ["old"]
    assert keep_in(tmp_path).get("tools", lambda: ["without"]) == ["without"]
    keep_in(tmp_path, "moltbook").get("tools", lambda: ["old"])
    os.utime(source, ns=(1, 1))
    assert keep_in(tmp_path, "moltbook").get("tools", lambda: ["new"]) == ["new"]


def test_kept_listings_say_what_the_tools_say_and_no_tool_is_imported_for_them(tmp_path: Path, monkeypatch) -> None:
    whole = ToolCatalogue(discover()).page(ADMIN, None)
    assert ToolCatalogue(discover_kept(tmp_path)).page(ADMIN, None) == whole
    monkeypatch.setattr(ToolRegistry, "load", unwanted)
    later = discover_kept(tmp_path)
    assert ToolCatalogue(later).page(ADMIN, None) == whole
    assert later.get("no_such_tool") is None
    monkeypatch.undo()
    recall = later.get("recall")
    assert recall is not None
    assert recall.name == "recall"


def test_a_call_imports_its_own_group_and_the_others_follow_when_asked(tmp_path: Path) -> None:
    first = discover_kept(tmp_path)
    audience = audience_of(first, ADMIN)
    asked: list[str] = []
    registry = ToolRegistry(_Watched(discover_kept(tmp_path), asked), first.kept)
    assert not registry.is_used
    assert audience_of(registry, ADMIN) == audience
    assert registry.get("recall") is registry.get("recall")
    assert asked == ["server.tools.memory_read"]
    assert [spec.name for spec in registry] == list(first.names)
    assert asked[1:] == [group for group in first.groups if group != "server.tools.memory_read"]


@dataclass(frozen=True)
class _Watched:
    """The tools of a registry, and which of its groups were asked for."""

    registry: ToolRegistry
    asked: list[str]

    @property
    def groups(self) -> list[str]:
        raise AssertionError("the groups are kept")

    def tools_of(self, group: str) -> list[ToolSpec]:
        self.asked.append(group)
        return list(self.registry.load(group).values())
