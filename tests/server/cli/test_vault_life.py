"""Renaming, archiving and deleting vaults by command, and ending a subject's tokens.

Covers server.cli.vaults, server.cli.tokens.
"""

from __future__ import annotations

import pytest
import typer

from server.cli import vault_life
from tests.server.cli.command import Strongroom


def _vaults(strongroom: Strongroom) -> dict[str, str]:
    return {each["name"]: each["state"] for each in strongroom("vault", "list", "--json").json["vaults"]}


def test_a_vault_is_renamed_with_what_goes_by_its_name(strongroom: Strongroom) -> None:
    assert strongroom("vault", "create", "old").code == 0
    assert strongroom("call", "remember", '{"content": "kept"}', "--vault", "old").code == 0
    strongroom("token", "create", "--subject", "alice", "--vault", "old", "--role", "reader")
    done = strongroom("vault", "rename", "old", "new", STRONGROOM_STORAGE__VAULTS='{"old": {"retention": "30d"}}')
    assert (done.code, done.out) == (0, "vault old is new now: /v/new/mcp\n")
    assert "storage.vaults" in done.err
    assert _vaults(strongroom) == {"new": "active"}
    assert strongroom.memories("new") == 1
    assert [each["vault"] for each in strongroom("grant", "list", "--json").json["grants"]] == ["new"]
    assert strongroom("token", "list", "--json").json["tokens"][0]["vaults"] == ["new"]
    assert strongroom("vault", "rename", "old", "newer").code == 1
    assert strongroom("vault", "rename", "new", "Not A Name").code == 2


def test_an_archived_vault_is_put_back_into_service(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "one")
    strongroom("vault", "archive", "one")
    assert _vaults(strongroom) == {"one": "archived"}
    assert strongroom("vault", "unarchive", "one").code == 0
    assert _vaults(strongroom) == {"one": "active"}
    assert strongroom("vault", "unarchive", "none").code == 1


def test_a_vault_is_deleted_once_its_name_is_said_again(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "one")
    refused = strongroom("vault", "delete", "one", "--no-backup")
    assert refused.code == 1
    assert "--confirm one" in refused.err
    assert strongroom("vault", "delete", "one", "--confirm", "two", "--no-backup").code == 1
    assert _vaults(strongroom) == {"one": "active"}
    assert strongroom("vault", "delete", "one", "--confirm", "one", "--no-backup").code == 0
    assert _vaults(strongroom) == {}
    assert not list((strongroom.data / "vaults").iterdir())


def test_every_token_of_a_subject_is_ended_at_once(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "one")
    for subject in ("alice", "alice", "bob"):
        strongroom("token", "create", "--subject", subject, "--vault", "one", "--role", "reader")
    assert len(strongroom("token", "list", "--subject", "alice", "--json").json["tokens"]) == 2
    assert strongroom("token", "revoke", "--subject", "alice").out == "2 tokens of alice are revoked\n"
    revoked = {each["subject"] for each in strongroom("token", "list", "--json").json["tokens"] if each["revoked_at"]}
    assert revoked == {"alice"}
    assert strongroom("token", "revoke", "--subject", "alice").out == "0 tokens of alice are revoked\n"
    assert strongroom("token", "revoke", "--subject", "nobody").code == 1
    assert strongroom("token", "revoke").code == 2
    assert strongroom("token", "revoke", "some-id", "--subject", "bob").code == 2


def test_an_answer_that_is_not_given_deletes_nothing(strongroom: Strongroom, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()

    def leave(text: str, **_: object) -> str:
        asked.append(text)
        raise typer.Abort

    monkeypatch.setattr(typer, "prompt", leave)
    monkeypatch.setattr(vault_life, "_is_at_a_terminal", lambda: True)
    strongroom("vault", "create", "one")
    assert strongroom("vault", "delete", "two").code == 1
    assert asked == [], "nobody is asked about a vault that does not exist"
    assert strongroom("vault", "delete", "one").code == 130
    assert len(asked) == 1
    assert _vaults(strongroom) == {"one": "active"}
