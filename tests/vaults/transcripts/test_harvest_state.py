"""How far files were read is kept, privately and for one harvest at a time."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from vaults.errors import Conflict
from vaults.transcripts.harvest_state import FileState, HarvestState
from vaults.transcripts.transcript import ReadPlace

PLACE = ReadPlace(7, "mark", '{"a": 1}')


def test_states_are_there_when_it_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "harvest.db"
    odd = Path(os.fsdecode(b"/home/\xff/x.jsonl"))
    with HarvestState(path) as state:
        assert (state.stamps(), state.place_of(odd)) == ({}, ReadPlace())
        state.store({odd: FileState("s", PLACE), Path("/b"): FileState("t", PLACE, ("/p",))})
    with HarvestState(path) as state:
        assert state.stamps() == {odd: "s", Path("/b"): "t"}
        assert (state.place_of(odd), state.excluded()) == (PLACE, {Path("/b"): ("/p",)})
        state.store({odd: FileState("u")})
        assert (state.stamps()[odd], state.place_of(odd)) == ("u", ReadPlace())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nobody_else_may_use_it_meanwhile(tmp_path: Path) -> None:
    with HarvestState(tmp_path / "harvest.db"), pytest.raises(Conflict):
        HarvestState(tmp_path / "harvest.db")
    HarvestState(tmp_path / "harvest.db").close()


def test_a_damaged_one_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "harvest.db"
    path.write_bytes(b"no database, and long enough to be seen to be none" * 100)
    with HarvestState(path) as state:
        assert state.stamps() == {}
    assert path.with_name("harvest.db.damaged").exists()


def test_one_of_another_version_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with HarvestState(tmp_path / "harvest.db") as state:
        state.store({Path("/b"): FileState("t", PLACE)})
    monkeypatch.setattr("vaults.transcripts.harvest_state._VERSION", 99)
    with HarvestState(tmp_path / "harvest.db") as state:
        assert state.stamps() == {}
