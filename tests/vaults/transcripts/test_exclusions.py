"""What is left out: by ignore files, patterns and projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaults.errors import InvalidArgument
from vaults.transcripts.exclusions import Exclusions, HarvestRules


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "work" / "secret" / "deep").mkdir(parents=True)
    (home / "work" / "open").mkdir()
    return home


def is_out(home: Path, project: str, **rules: tuple[str, ...]) -> bool:
    return Exclusions(home, HarvestRules(**rules)).exclude_project(str(home / project))


def ignore(folder: Path, *lines: str) -> None:
    (folder / ".strongroomignore").write_text("\n".join(lines))


def test_nothing_is_left_out_unless_somebody_says_so(home: Path) -> None:
    assert not is_out(home, "work/open")
    exclusions = Exclusions(home, HarvestRules())
    assert not exclusions.exclude_project(None)
    assert not exclusions.exclude_project("1a2b3c4d5e6f")
    assert not exclusions.exclude_project("/gone/long/ago")


def test_an_ignore_file_in_the_project_or_above(home: Path) -> None:
    ignore(home / "work" / "secret", "*")
    assert is_out(home, "work/secret")
    assert is_out(home, "work/secret/deep")
    assert not is_out(home, "work/open")
    ignore(home, "work/op*/", "*.log")
    assert is_out(home, "work/open")
    ignore(home / "work" / "secret" / "deep", "!*")
    assert not is_out(home, "work/secret/deep")


def test_an_ignore_file_that_is_about_notes_leaves_conversations_alone(home: Path) -> None:
    ignore(home / "work" / "open", "drafts/", "*.tmp.md", "# *", "")
    assert not is_out(home, "work/open")
    ignore(home / "work" / "open", ".transcripts/")
    assert is_out(home, "work/open")


def test_one_above_home_says_nothing_about_home(home: Path) -> None:
    ignore(home.parent, "*")
    assert not is_out(home, "work/open")
    assert Exclusions(home, HarvestRules()).exclude_project(str(home.parent / "elsewhere"))


def test_a_project_is_known_by_where_it_really_is(home: Path) -> None:
    ignore(home / "work" / "secret", "*")
    (home / "alias").symlink_to(home / "work" / "secret")
    assert is_out(home, "alias")
    assert is_out(home, "alias/deep")


@pytest.mark.parametrize("how", ["folder", "link", "large"])
def test_an_ignore_file_that_cannot_be_read_hides_everything(home: Path, how: str) -> None:
    path = home / "work" / "secret" / ".strongroomignore"
    if how == "large":
        path.write_text("x\n" * 100_000)
    elif how == "folder":
        path.mkdir()
    else:
        path.symlink_to(path)
    assert is_out(home, "work/secret")


def test_projects_from_the_settings(home: Path) -> None:
    for project in ("~/work/secret", "work/secret", str(home / "work" / "secret")):
        assert is_out(home, "work/secret/deep", projects=(project,))
        assert not is_out(home, "work/secretive", projects=(project,))
    assert is_out(home, "work/open", projects=("~",))


def test_patterns_from_the_settings(home: Path) -> None:
    assert is_out(home, "work/secret/deep", patterns=("secret/",))
    exclusions = Exclusions(home, HarvestRules(patterns=(".codex/", "*-x.jsonl")))
    assert exclusions.exclude_file(home / ".codex" / "sessions" / "a.jsonl")
    assert exclusions.exclude_file(home / ".claude" / "projects" / "p" / "a-x.jsonl")
    assert not exclusions.exclude_file(home / ".claude" / "projects" / "p" / "a.jsonl")
    assert not exclusions.exclude_file(Path("/elsewhere/a-x.jsonl"))
    with pytest.raises(InvalidArgument):
        Exclusions(home, HarvestRules(patterns=("!",)))


def test_a_harvest_of_one_folder_takes_what_was_said_there_and_nothing_else(home: Path) -> None:
    only = Exclusions(home, HarvestRules(only=home / "work"))
    assert not only.exclude_project(str(home / "work"))
    assert not only.exclude_project(str(home / "work" / "secret" / "deep"))
    assert only.exclude_project(str(home))
    assert only.exclude_project(str(home / "workshop"))
    assert only.exclude_project(None)
    assert only.exclude_project("1a2b3c4d5e6f")


def test_a_project_below_with_a_vault_of_its_own_keeps_its_conversations(home: Path) -> None:
    (home / "work" / "secret" / ".strongroom").mkdir()
    (home / "work" / ".strongroom").mkdir()
    only = Exclusions(home, HarvestRules(only=home / "work"))
    assert only.exclude_project(str(home / "work" / "secret" / "deep"))
    assert not only.exclude_project(str(home / "work" / "open"))


def test_a_link_leads_nothing_into_a_harvest_of_one_folder(home: Path) -> None:
    (home / "work" / "open" / "link").symlink_to(home)
    (home / "way").symlink_to(home / "work" / "open")
    only = Exclusions(home, HarvestRules(only=home / "work" / "open"))
    assert only.exclude_project(str(home / "work" / "open" / "link"))
    assert not only.exclude_project(str(home / "way"))
