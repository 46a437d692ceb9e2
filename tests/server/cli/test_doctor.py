"""``strongroom doctor``, ``verify`` and ``vault info`` as a person or a script runs them.

Covers server.cli.maintenance.
"""

from __future__ import annotations

import os
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

from tests.noted import folder, put
from tests.server.cli.command import Strongroom
from vaults.db.engine import sqlite

ORPHAN = ".strongroom-new-0123abcd.tmp"


def test_a_doctor_before_the_first_start_says_so_and_makes_nothing(strongroom: Strongroom) -> None:
    ran = strongroom("doctor")
    assert ran.code == 0, ran.out
    assert "notice  control_db: there is no control.db yet" in ran.out
    assert not strongroom.data.exists()


def test_a_doctor_looks_at_every_vault_and_repairs_when_asked(strongroom: Strongroom) -> None:
    for name in ("main", "other"):
        strongroom("vault", "create", name)
    root = folder(strongroom.data)
    put(root, {"a.md": "# A\n", ORPHAN: "x", **{f"odd{number:02}.md": b"\xff" for number in range(30)}})
    ran = strongroom("doctor")
    assert (ran.code, ran.err) == (0, "")
    assert "notice  main: notes_left_out: 30 files are left out" in ran.out
    assert "odd19.md: " in ran.out
    assert "odd20.md: " not in ran.out
    assert "… and 10 more: --verbose shows all" in ran.out
    assert "ok      other: opens: it opens" in ran.out
    assert "ok      drills: no drills are scheduled" in ran.out
    assert "odd29.md: " in strongroom("doctor", "--verbose", "--vault", "main").out
    assert (root / ORPHAN).exists()
    repaired = strongroom("doctor", "--repair", "--json", "--vault", "main")
    assert repaired.code == 0
    assert {each["vault"] for each in repaired.json["checks"]} == {None, "main"}
    assert not (root / ORPHAN).exists()
    held = next(each for each in repaired.json["checks"] if each["name"] == "holds")
    assert "1 notes" in held["message"]
    assert strongroom("doctor", "--vault", "nowhere").code == 1


def test_a_doctor_fails_where_somebody_has_to_act(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "main")
    (strongroom.data / "vaults" / "main" / "vault.db").write_bytes(b"")
    ran = strongroom("doctor", "--json")
    assert (ran.code, ran.json["well"]) == (1, False)
    assert [each["name"] for each in ran.json["checks"] if each["status"] == "error"] == ["opens"]
    wrong = strongroom("doctor", STRONGROOM_NOTES__WATCH="sometimes")
    assert wrong.code == 1
    assert "error   settings: notes.watch" in wrong.out
    (strongroom.data / "control.db").write_bytes(b"no database, but long enough to be taken for one" * 100)
    damaged = strongroom("doctor")
    assert damaged.code == 1
    assert "error   control_db: control.db" in damaged.out
    assert "Traceback" not in damaged.out + damaged.err


def test_verify_reindex_and_info_tell_of_notes(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "main")
    root = folder(strongroom.data)
    put(root, {"a.md": "# A\n", "b.md": "# B\n", "odd.md": b"\xff"})
    info = strongroom("vault", "info", "main")
    assert f"notes      2 in {root}, 1 files left out" in info.out
    assert "watching   events" in info.out or "watching   polling" in info.out
    assert strongroom("vault", "info", "main", "--json").json["notes_folder"] == str(root)
    proved = strongroom("verify")
    assert proved.code == 0, proved.out
    assert "main: agrees; 0 memories, 2 notes, 2 passages" in proved.out
    assert "odd.md (not UTF-8 at byte 0)" in proved.out
    assert strongroom("verify", "--json").json["vaults"][0]["notes"] == 2
    rebuilt = strongroom("reindex", "--vault", "main")
    assert (rebuilt.code, rebuilt.err) == (0, "")
    assert rebuilt.out.startswith("0 memories, 2 notes, 2 passages")
    old = time.time() - 60
    root.rename(root.with_name("away"))
    os.utime(root.with_name("away"), (old, old))
    away = strongroom("reindex", "--vault", "main")
    assert away.code == 1
    assert "the notes were left as they are" in away.err
    assert away.out.startswith("0 memories, 2 notes, 2 passages")
    assert "unavailable" in strongroom("vault", "info", "main").out
    broken = strongroom("verify")
    assert (broken.code, "notes_unavailable" in broken.out) == (1, True)


def test_a_doctor_warns_two_weeks_before_a_token_in_use_ends(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "main")
    words = ("token", "create", "--subject", "ann", "--vault", "main", "--role", "writer", "--json", "--ttl")
    token = strongroom(*words, "30d").json
    with closing(sqlite.connect(strongroom.data / "control.db")) as raw, raw:
        days = [f"{datetime.now(UTC) + timedelta(days=count):%Y-%m-%dT%H:%M:%SZ}" for count in (-17, 13)]
        raw.execute("UPDATE tokens SET created_at = ?, expires_at = ?", days)
    assert "ok      tokens: no token in use ends within 14 days" in strongroom("doctor").out
    with closing(sqlite.connect(strongroom.data / "control.db")) as raw, raw:
        raw.execute(
            "INSERT INTO usage_days VALUES (?, ?, 1)", (f"token:{token['id']}", f"{datetime.now(UTC):%Y-%m-%d}")
        )
    warned = strongroom("doctor")
    assert warned.code == 1
    assert "warning tokens: tokens that are in use end within 14 days: 1; make new ones" in warned.out
    assert f"ann, writer of main: {datetime.now(UTC) + timedelta(days=13):%Y-%m-%d}" in warned.out
