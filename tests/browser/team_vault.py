"""Fills a server with the week of ``team.py``: people, grants, tokens and agents' calls, and dates what came of it."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from tests.browser.site import Site
from tests.browser.team import AGENTS, NOW, PEOPLE, VAULT, Call, Sitting, sittings
from tests.work import PROGRAM_PATIENCE_S

ROLES = {"ada": "admin", "ben": "writer", "mia": "writer", "nightly-report": "writer"}


@dataclass
class TeamVault:
    """``ids``: of memories by title and of sessions by program and person; ``dated``: when calls were made, and when
    they would have been."""

    site: Site
    ids: dict[str, str] = field(default_factory=dict)
    dated: list[tuple[datetime, datetime]] = field(default_factory=list)
    _tokens: dict[str, str] = field(default_factory=dict)

    def fill(self, now: datetime) -> None:
        """A server that was just started and holds nothing."""
        run = self.site.run
        for vault in (VAULT, "support", "recipes"):
            run("vault", "create", vault)
        for who in (*PEOPLE, *AGENTS):
            made = run("token", "create", "--subject", who, "--vault", VAULT, "--role", ROLES[who], "--ttl", "30d")
            self._tokens[who] = made.out.split()[-1] if not made.out.startswith("{") else json.loads(made.out)["token"]
        for who, vault, role in (
            ("mia", "support", "admin"),
            ("ben", "support", "reader"),
            ("ada", "recipes", "admin"),
        ):
            run("grant", "set", who, vault, role)
        run("token", "create", "--subject", "label-printer", "--vault", "support", "--role", "reader", "--ttl", "5d")
        self._sit(sittings(now), now)
        self.site.stop()
        self._date()
        self.site.start()
        self._sit(NOW, now)
        run("backup", "--vault", VAULT)

    def _sit(self, week: Iterable[Sitting], now: datetime) -> None:
        for number, sitting in enumerate(week):
            handle = f"{sitting.client}-{sitting.who}-{sitting.ago}-{number}"
            for call, when in zip(sitting.calls, sitting.times(now), strict=True):
                self.dated.append((datetime.now(UTC), when))
                self._call(sitting, handle, call)

    def _call(self, sitting: Sitting, handle: str, call: Call) -> None:
        tool, arguments = call
        named = {key: self.ids.get(value, value) if key == "id" else value for key, value in arguments.items()}
        answer = self._post(tool, named, sitting, handle)
        if tool in ("remember", "memory_supersede"):
            self.ids[answer.get("title") or arguments.get("title", arguments.get("id", ""))] = answer["id"]

    def _post(self, tool: str, arguments: dict[str, Any], sitting: Sitting, handle: str) -> Any:
        headers = {
            "authorization": f"Bearer {self._tokens[sitting.who]}",
            "x-strongroom-client": sitting.client, "x-strongroom-session": handle,
        }  # fmt: skip
        address = f"{self.site.url}/v/{VAULT}/tools/{tool}"
        answer = httpx2.post(address, json=arguments, headers=headers, timeout=PROGRAM_PATIENCE_S)
        assert answer.status_code == 200, (tool, arguments, answer.text)
        return answer.json()

    def _date(self) -> None:
        """Every row and file, to when what made it would have happened."""
        folder = self.site.command.data / "vaults" / VAULT
        with closing(sqlite3.connect(folder / "vault.db")) as db:
            db.create_function("dated", 1, self._told, deterministic=True)
            for table, column in list(_times(db)):
                db.execute(f"UPDATE {table} SET {column} = dated({column}) WHERE {column} > ''")
            db.commit()
            changed = dict(db.execute(_CHANGED))
        for path, at in changed.items():
            stamp = datetime.fromisoformat(at).timestamp()
            os.utime(folder / "notes" / path, (stamp, stamp))

    def _told(self, made: str) -> str:
        at = datetime.fromisoformat(made)
        place = bisect_right(self.dated, at + timedelta(milliseconds=1), key=lambda each: each[0]) - 1
        if place < 0 or at > datetime.now(UTC):
            return made
        begun, told = self.dated[place]
        return (told + (at - begun)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def _times(db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%STRICT'").fetchall():
        for _, column, *_ in db.execute(f"PRAGMA table_info({table})").fetchall():
            if re.fullmatch(r"(\w+_)?at", column):
                yield table, column


_CHANGED = "SELECT f.path, MAX(c.at) FROM note_change_files f JOIN note_changes c ON c.seq = f.change GROUP BY f.path"
