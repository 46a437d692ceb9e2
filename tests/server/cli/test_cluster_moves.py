"""``strongroom cluster join`` and ``cluster export``: in, and out again. Covers server.cli.cluster_address."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.blanks import lay_out
from tests.cluster.postgres_server import PostgresServer
from tests.server.cli.command import Strongroom


@pytest.fixture
def url(postgres: PostgresServer, strongroom: Strongroom) -> str:
    url = postgres.create_database()
    assert strongroom("cluster", "init", "--url", url).code == 0
    return url


@pytest.fixture
def house(strongroom: Strongroom) -> Strongroom:
    """An installation of one machine with vault main, a memory and a note."""
    strongroom.data.mkdir()
    lay_out(strongroom.data, ("main",))
    assert strongroom("vault", "create", "main").code == 0
    assert strongroom("call", "remember", '{"content": "we chose PostgreSQL"}', "--vault", "main").code == 0
    note = '{"path": "plans/one.md", "content": "# One\\n"}'
    assert strongroom("call", "note_write", note, "--vault", "main").code == 0
    return strongroom


def test_an_installation_moves_in_once_and_out_again_whole(url: str, house: Strongroom, tmp_path: Path) -> None:
    moved = house("cluster", "join", "--url", url)
    assert moved.code == 0, moved.err
    assert "1 vault in the database" in moved.out
    assert "is the cluster's" in moved.out
    again = house("cluster", "join", "--url", url)
    assert (again.code, "was the cluster's already" in again.out) == (0, True)
    placed = house("cluster", "status", "--vaults", "--json", "--url", url).json["placements"]
    assert [each["name"] for each in placed] == ["main"]

    out = Strongroom(tmp_path / "out")
    gone = house("cluster", "export", "--to", str(out.data), "--url", url)
    assert gone.code == 0, gone.err
    assert "1 vault with 1 note in" in gone.out
    assert (out.data / "vaults" / "main" / "notes" / "plans" / "one.md").read_text() == "# One\n"
    found = out("call", "recall", '{"query": "PostgreSQL"}', "--vault", "main").json["hits"]
    assert [each["content"] for each in found] == ["we chose PostgreSQL"]
    assert out("verify", "--vault", "main").code == 0


def test_one_vault_comes_out_alone_and_into_no_folder_that_holds_something(
    url: str, house: Strongroom, tmp_path: Path
) -> None:
    assert house("cluster", "join", "--json", "--url", url).json["is_joined"]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    refused = house("cluster", "export", "--to", str(tmp_path / "full"), "--vault", "main", "--url", url)
    assert refused.code == 1
    assert "holds something already" in refused.err
    assert [each.name for each in (tmp_path / "full").iterdir()] == ["mine"]
    alone = house("cluster", "export", "--to", str(tmp_path / "alone"), "--vault", "main", "--json", "--url", url).json
    assert [(each["name"], each["files"]) for each in alone["vaults"]] == [("main", 1)]
    missing = house("cluster", "export", "--to", str(tmp_path / "other"), "--vault", "none", "--url", url)
    assert missing.code == 1
    assert "none" in missing.err


def test_what_only_one_machine_has_does_not_move_in(url: str, house: Strongroom) -> None:
    refused = house("cluster", "join", "--url", url, STRONGROOM_NOTES__HISTORY="auto")
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert "history" in refused.err


def test_without_an_address_nothing_moves(house: Strongroom) -> None:
    for words in (("join",), ("export", "--to", "somewhere")):
        assert "cluster.url_file" in house("cluster", *words).err
