"""``strongroom audit``: a day is told from the audit alone, and each tampering is found.

Covers server.cli.audit, server.cli.admin_acts.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from auth.principal import Principal, local_names
from auth.roles import Role, parse_role
from auth.tokens import IssuedToken
from ops.audit.chain_files import file_of, list_chains
from server.call import Caller
from server.cli.serve import _acts
from server.dispatch import dispatch
from server.services import open_services
from server.settings import load
from server.setup.first_start import FirstStart
from server.tools import discover
from tests.conftest import QUIET
from tests.ops.audit.chains import tamper
from tests.server.cli.command import Ran, Strongroom
from vaults.files.permissions import make_private_folder

Call = tuple[Caller, str, dict[str, Any]]


def who(subject: str, token: str | None = None, **more: Any) -> Caller:
    principal = Principal(subject, "local", local_names(subject), token_id=token)
    return Caller(principal, "main", Role.READER, "http", client="editor", address="192.0.2.7", **more)


def serve(data: Path, *calls: Call) -> list[str | None]:
    """What a server answers to calls: ids of what was stored, or codes of errors."""

    async def run() -> list[str | None]:
        loaded = load(data, flags={**QUIET, "embedding.engine": "off"}, environment={})
        async with open_services(loaded.settings, loaded.data, discover()) as services:
            outcomes = [await dispatch(services, *call) for call in calls]
        return [each.content.get("id") if each.ok else each.code for each in outcomes]

    return asyncio.run(run())


def the_day(strongroom: Strongroom) -> dict[str, Any]:
    """A day with two agents: rights change, somebody agrees, somebody does not."""

    def did(*args: str) -> Ran:
        done = strongroom(*args)
        assert done.code == 0, done.err
        return done

    data = strongroom.data
    did("vault", "create", "main", "--destructive", "ask")
    token = did("token", "create", "--subject", "ana", "--vault", "main", "--role", "writer", "--json").json["id"]
    did("grant", "set", "bob", "main", "reader", "--issuer", "local")
    stored, refused = serve(
        data,
        (who("ana", token), "remember", {"content": "the harbour opens at nine"}),
        (who("bob"), "remember", {"content": "x"}),
    )
    did("grant", "set", "bob", "main", "admin", "--issuer", "local")
    purge = {"ids": [stored], "purge": True}
    asked, declined, gone = serve(
        data,
        (who("bob"), "memory_forget", purge),
        (who("bob", person="declined"), "memory_forget", purge),
        (who("bob", person="agreed"), "memory_forget", purge),
    )
    noted = serve(data, (who("bob"), "note_write", {"path": "quay.md", "content": "a quiet place"}))
    did("grant", "remove", "bob", "main", "--issuer", "local")
    did("token", "revoke", token)
    did("plan", "set", "free", "--vault", "main")
    after = serve(data, (who("bob"), "remember", {"content": "x"}))
    assert (refused, asked, declined, gone, after) == (
        "forbidden", "confirmation_required", "confirmation_required", None, ["not_found"]
    )  # fmt: skip
    assert noted
    return {"token": token, "memory": stored}


@dataclass
class Auditor:
    """Reads exports, and nothing else."""

    acts: list[dict[str, Any]]
    calls: list[dict[str, Any]]
    grants: dict[str, Role] = field(default_factory=dict)

    @classmethod
    def of(cls, strongroom: Strongroom) -> Auditor:
        def exported(*which: str) -> list[dict[str, Any]]:
            lines = strongroom("audit", "export", "--to", "-", *which).out.splitlines()
            return [json.loads(line)["entry"] for line in lines]

        acts = [each for each in exported("--installation") if each["kind"] == "act"]
        return cls(acts, exported("--vault", "main"))

    def moments(self) -> Iterator[tuple[dict[str, Any], Role | None]]:
        """Each call, with what its subject was allowed at that moment."""
        for each in sorted([*self.acts, *self.calls], key=lambda said: said["at"]):
            if each["kind"] == "call":
                yield each, self.grants.get(each["subject"])
            else:
                self._learn(each)

    def _learn(self, act: dict[str, Any]) -> None:
        about = act.get("details", {})
        match act["tool"], act["action"]:
            case ("grant", "set") | ("token", "create"):
                self.grants[about["subject"]] = parse_role(about["role"])
            case ("grant", "remove"):
                self.grants.pop(about["subject"], None)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of such a day."""
    folder = tmp_path_factory.mktemp("day") / "data"
    (folder.parent / "day.json").write_text(json.dumps(the_day(Strongroom(folder))))
    return folder


def test_a_day_is_told_from_the_audit_alone(told: Path) -> None:
    day = json.loads((told.parent / "day.json").read_text())
    auditor = Auditor.of(Strongroom(told))
    told = [
        (
            each["subject"],
            each["tool"],
            each["outcome"],
            each.get("consent", {}).get("answer"),
            None if allowed is None else allowed.label,
        )
        for each, allowed in auditor.moments()
    ]
    assert told == [
        ("ana", "remember", "ok", None, "writer"),
        ("bob", "remember", "forbidden", None, "reader"),
        ("bob", "memory_forget", "confirmation_required", "missing", "admin"),
        ("bob", "memory_forget", "confirmation_required", "declined", "admin"),
        ("bob", "memory_forget", "ok", "protocol", "admin"),
        ("bob", "note_write", "ok", None, "admin"),
    ]
    assert all(each["role"] == allowed.label for each, allowed in auditor.moments() if allowed is not None)
    first, gone = auditor.calls[0], auditor.calls[4]
    ((kind, identity, before, after),) = first["changes"]
    assert (kind, identity, before) == ("memory", day["memory"], None)
    assert gone["changes"] == [["memory purged", day["memory"], after, None]]
    assert gone["targets"] == [day["memory"]]
    assert [first[name] for name in ("token", "client", "address", "issuer")] == [
        day["token"], "editor", "192.0.2.7", "local"
    ]  # fmt: skip
    assert [(each["tool"], each["action"]) for each in auditor.acts] == [
        ("vault", "create"), ("token", "create"), ("grant", "set"), ("grant", "set"), ("grant", "remove"),
        ("token", "revoke"), ("plan", "set"),
    ]  # fmt: skip
    assert {each["subject"].partition(":")[0] for each in auditor.acts} == {"cli"}
    assert auditor.acts[1]["details"]["token"] == day["token"]


def test_nothing_that_was_written_stands_in_it(told: Path) -> None:
    kept = b"".join(file_of(told, chain).read_bytes() for chain in list_chains(told))
    assert b"quay.md" in kept
    assert not [word for word in (b"harbour", b"nine", b"quiet") if word in kept]


def _vault(data: Path) -> str:
    return next(each for each in list_chains(data) if each != "installation")


TAMPERINGS: dict[str, Callable[[Path], object]] = {
    "removed": lambda data: tamper(data, lambda raw: raw.execute("DELETE FROM entries WHERE seq = 2"), _vault(data)),
    "changed": lambda data: tamper(
        data,
        lambda raw: raw.execute("UPDATE entries SET body = replace(body, 'bob', 'eve') WHERE seq = 5"),
        _vault(data),
    ),
    "agreed": lambda data: tamper(
        data, lambda raw: raw.execute("UPDATE entries SET body = replace(body, 'declined', 'protocol')"), _vault(data)
    ),
    "promoted": lambda data: tamper(
        data, lambda raw: raw.execute("UPDATE entries SET body = replace(body, 'reader', 'writer')"), "installation"
    ),
    "truncated": lambda data: tamper(
        data, lambda raw: raw.executescript("DELETE FROM entries WHERE seq > 4; DELETE FROM checkpoints"), _vault(data)
    ),
    "gone": lambda data: file_of(data, _vault(data)).unlink(),
}


@pytest.mark.parametrize("tampering", TAMPERINGS)
def test_each_tampering_is_found(told: Path, tmp_path: Path, tampering: str) -> None:
    strongroom = Strongroom(tmp_path / "data")
    shutil.copytree(told, strongroom.data)
    assert strongroom("audit", "verify").code == 0
    TAMPERINGS[tampering](strongroom.data)
    found = strongroom("audit", "verify", "--json")
    assert (found.code, found.json["ok"]) == (1, False)
    assert strongroom("audit", "verify").code == 1


def test_one_chain_is_checked_and_searched(told: Path, tmp_path: Path) -> None:
    strongroom = Strongroom(tmp_path / "data")
    shutil.copytree(told, strongroom.data)
    assert "6 entries, as they were written" in strongroom("audit", "verify", "--vault", "main").out
    (report,) = strongroom("audit", "verify", "--installation", "--json").json["chains"]
    assert (report["chain"], report["ok"]) == ("installation", True)
    found = strongroom("audit", "search", "--vault", "main", "--subject", "bob", "--outcome", "ok", "--json").json
    assert [each["tool"] for each in found["entries"]] == ["note_write", "memory_forget"]
    assert "quay.md" in strongroom("audit", "search", "--vault", "main", "--tool", "note_write").out
    assert "role=admin" in strongroom("audit", "search", "--installation", "--tool", "grant").out
    assert strongroom("audit", "search", "--vault", _vault(strongroom.data), "--limit", "1").code == 0
    table = tmp_path / "day.csv"
    assert strongroom("audit", "export", "--vault", "main", "--format", "csv", "--to", str(table)).code == 0
    assert len(table.read_text().splitlines()) == 7


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("verify", "--vault", "nowhere"), 1),
        (("search",), 2),
        (("search", "--vault", "main", "--installation"), 2),
        (("search", "--vault", "main", "--since", "soon"), 2),
        (("export", "--vault", "main", "--to", "-", "--format", "xml"), 2),
    ],
)
def test_what_makes_no_sense_is_refused(told: Path, args: Sequence[str], code: int) -> None:
    assert Strongroom(told)("audit", *args).code == code


def test_an_act_that_cannot_be_recorded_is_not_done(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "main")
    shutil.rmtree(strongroom.data / "audit")
    (strongroom.data / "audit").write_text("no folder")
    refused = strongroom("grant", "set", "bob", "main", "admin", "--issuer", "local")
    assert refused.code == 1
    assert strongroom("grant", "list", "--json").json["grants"] == []
    (strongroom.data / "audit").unlink()
    make_private_folder(strongroom.data / "audit")
    assert strongroom("grant", "set", "bob", "main", "admin", "--issuer", "local").code == 0


def test_commands_that_do_much_at_once_are_one_entry_of_the_vault(strongroom: Strongroom, tmp_path: Path) -> None:
    strongroom("vault", "create", "main")
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps({"content": f"fact {n}"}) + "\n" for n in range(3)))
    assert strongroom("import", "jsonl", str(lines), "--vault", "main").code == 0
    assert strongroom("export", "--vault", "main", "--to", str(tmp_path / "out")).code == 0
    assert strongroom("reindex", "--vault", "main").code == 0
    assert strongroom("evict", "--vault", "main").code == 0
    assert strongroom("evict", "--vault", "main", "--dry-run").code == 0
    entries = strongroom("audit", "search", "--vault", "main", "--json").json["entries"]
    told = [(each["tool"], each.get("action"), each["outcome"], len(each.get("changes", ()))) for each in entries]
    assert told == [
        ("evict", "evict", "ok", 0),
        ("reindex", None, "ok", 0),
        ("export", None, "ok", 0),
        ("import", None, "ok", 5),
    ]


def test_a_start_is_recorded_with_what_was_set_and_no_secret(tmp_path: Path) -> None:
    flags = {"server.port": 8701, "audit.webhook": "https://ann:s3cr3t@siem.example/in"}
    loaded = load(tmp_path, flags=flags, environment={})
    token = IssuedToken("the-token-itself", "id-1", "owner", ("main",), Role.ADMIN, "2027-01-01T00:00:00Z")
    vault, first, start = _acts(loaded, FirstStart(token))
    assert [(each.tool, each.action) for each in (vault, first, start)] == [
        ("vault", "create"), ("token", "create"), ("server", "start"),
    ]  # fmt: skip
    assert start.details is not None
    assert start.details["settings"]["server.port"] == 8701
    assert "s3cr3t" not in str(start)
    assert "the-token-itself" not in str(first)


def test_what_changes_vaults_and_keys_is_one_entry_each(strongroom: Strongroom) -> None:
    acts = (
        ("vault", "create", "main"), ("vault", "copy", "main", "two"), ("vault", "rename", "two", "three"),
        ("vault", "archive", "three"), ("vault", "unarchive", "three"), ("backup", "--vault", "main"),
        ("vault", "delete", "three", "--confirm", "three", "--no-backup"), ("key", "rotate"),
        ("token", "create", "--subject", "ana", "--vault", "main", "--role", "reader"),
        ("token", "revoke", "--subject", "ana"),
    )  # fmt: skip
    for act in acts:
        done = strongroom(*act)
        assert done.code == 0, done
    entries = strongroom("audit", "search", "--installation", "--json").json["entries"]
    told = [(each["tool"], each["action"]) for each in reversed(entries) if each["kind"] == "act"]
    assert told == [(act[0], "run" if act[0] == "backup" else act[1]) for act in acts]
    assert all(each["subject"].startswith("cli:") for each in entries if each["kind"] == "act")
