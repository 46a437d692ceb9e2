"""Every server names the same one for a vault, and few vaults move when servers come and go."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from vaults.cluster.rendezvous import SCHEMA_MARK, prefer, prefer_after, schema_of
from vaults.cluster.server_watch import ServerBeat

VAULTS = [f"vault-{number}" for number in range(900)]
A, B, C = (ServerBeat(f"{name}-1", f"{name}:1", "1", 5, 3.0, name) for name in "abc")


def chosen(*servers: ServerBeat) -> dict[str, str]:
    found = {vault: prefer(vault, servers) for vault in VAULTS}
    return {vault: server.id for vault, server in found.items() if server is not None}


def test_vaults_are_spread_and_the_order_of_servers_is_none_of_it() -> None:
    counts = Counter(chosen(A, B, C).values())
    assert min(counts.values()) > 250
    assert chosen(C, A, B) == chosen(A, B, C)


def test_a_server_that_goes_moves_its_own_vaults_only() -> None:
    before, after = chosen(A, B, C), chosen(A, B)
    assert {vault: to for vault, to in after.items() if before[vault] != "c-1"} == {
        vault: to for vault, to in before.items() if to != "c-1"
    }


def test_after_its_holder_a_vault_is_for_whom_it_is_for_once_that_one_is_gone() -> None:
    for vault, home in chosen(A, B, C).items():
        rest = [server for server in (A, B, C) if server.id != home]
        assert prefer_after(vault, home, (A, B, C)) == prefer(vault, rest)
        for away in (rest[0].id, "gone", None):  # where it is elsewhere, or nowhere
            assert prefer_after(vault, away, (A, B, C)) == prefer(vault, (A, B, C))
        assert prefer_after(vault, home, (A, B, C), rest[1].name) == rest[1]


def test_who_has_a_copy_is_preferred_to_any_while_it_serves_and_may_migrate_nothing() -> None:
    assert {prefer(vault, (A, B, C), "a", "b-1") for vault in VAULTS} == {B}
    assert prefer("vault", (A, replace(B, state="draining"), C), "a", "b-1") == A
    assert prefer("vault", (A, replace(B, version=f"2{SCHEMA_MARK}18"), C), "a", "b-1") == A


def test_only_servers_that_serve_are_preferred() -> None:
    drained, command = replace(A, state="draining"), replace(B, state="command")
    assert set(chosen(drained, command, C).values()) == {"c-1"}
    assert prefer("vault", [drained, command]) is None


def test_a_server_that_was_restarted_is_preferred_for_what_it_had() -> None:
    again = replace(A, id="a-2", beat=1)
    before, after = chosen(A, B, C), chosen(A, again, B, C)
    assert {vault: to.replace("a-2", "a-1") for vault, to in after.items()} == before
    assert "a-1" not in after.values()


def test_while_several_schemas_serve_vaults_go_to_the_oldest() -> None:
    old, new = replace(A, version=f"1.0{SCHEMA_MARK}17"), replace(B, version=f"1.1{SCHEMA_MARK}18")
    assert (schema_of(old), schema_of(new), schema_of(C)) == (17, 18, 0)
    assert set(chosen(old, new).values()) == {"a-1"}


def test_a_pinned_vault_goes_to_its_server_while_that_one_may_have_it_and_by_its_hash_otherwise() -> None:
    again = replace(B, id="b-2", beat=1)
    assert {prefer(vault, [A, B, again, C], "b") for vault in VAULTS} == {again}
    for servers in ([A, C], [A, replace(B, state="draining"), C], [A, replace(B, version=f"2{SCHEMA_MARK}9"), C]):
        assert {vault: prefer(vault, servers, "b") for vault in VAULTS} == {
            vault: prefer(vault, [A, C]) for vault in VAULTS
        }


def test_a_server_has_as_many_vaults_as_its_weight_says_and_another_weight_moves_its_own_alone() -> None:
    heavy = replace(A, weight=2.0)
    before, after = chosen(A, B, C), chosen(heavy, B, C)
    counts = Counter(after.values())
    assert 1.7 < counts["a-1"] / ((counts["b-1"] + counts["c-1"]) / 2) < 2.4
    assert {vault for vault in VAULTS if before[vault] != after[vault]} == {
        vault for vault in VAULTS if after[vault] == "a-1" != before[vault]
    }


def test_of_two_servers_of_one_name_the_younger_is_preferred_whatever_their_weights() -> None:
    again = replace(A, id="a-2", beat=1, weight=0.1)
    assert "a-1" not in chosen(replace(A, weight=100.0), again, B).values()
