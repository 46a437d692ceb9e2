"""A busy server gives vaults to one with less to do, never more than evens them out, and all of them come to rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from vaults.cluster.load_moves import GAP, LoadMove, choose_move
from vaults.cluster.server_load import ServerLoad, VaultLoad
from vaults.cluster.server_watch import ServerBeat

BUSY_AT = 0.7
Placed = dict[str, dict[str, float]]
"""Of each server its vaults, each with the share of the cores it takes, wherever it is."""


def server(name: str, cpu: float, memory: float = 0.0) -> ServerBeat:
    return ServerBeat(name, f"{name}:1", "1", 5, 3.0, name, cpu=cpu, memory=memory)


def anywhere(_vault: str, _server: str) -> bool:
    return True


def chosen(
    here: ServerBeat, *others: ServerBeat, may_go: Callable[[str, str], bool] = anywhere, **vaults: Any
) -> tuple[str, str] | None:
    """Which vault goes where. ``vaults``: the share of cores that each takes, or of cores and memory."""
    loads = [
        VaultLoad(name, *took) if isinstance(took, tuple) else VaultLoad(name, took, 0.0)
        for name, took in vaults.items()
    ]
    move = choose_move(here.id, (here, *others), ServerLoad(here.cpu, here.memory, tuple(loads)), BUSY_AT, may_go)
    return None if move is None else (move.vault, move.server.id)


A, B, C = server("a", 0.9), server("b", 0.1), server("c", 0.4)


def test_the_vault_that_evens_out_most_goes_to_the_server_with_least_to_do() -> None:
    assert chosen(A, B, C, large=0.45, middle=0.35, small=0.1) == ("middle", "b")


def test_a_server_that_is_not_busy_keeps_what_it_has() -> None:
    assert chosen(replace(A, cpu=BUSY_AT), B, half=0.3) is None


def test_where_all_have_much_to_do_nothing_moves() -> None:
    assert chosen(A, replace(B, cpu=A.cpu - GAP * BUSY_AT + 0.01), small=0.05) is None


def test_a_vault_that_would_only_carry_the_load_elsewhere_stays() -> None:
    assert chosen(A, B, whole=0.8, nothing=0.001) is None


def test_pinned_vaults_and_large_ones_without_a_copy_there_stay() -> None:
    assert chosen(A, B, may_go=lambda vault, to: (vault, to) == ("free", "b"), held=0.4, free=0.1) == ("free", "b")


def test_where_two_are_busy_the_busier_one_is_relieved_all_the_same() -> None:
    assert chosen(server("a", 1.0), server("b", BUSY_AT + 0.05), small=0.1) == ("small", "b")


def test_memory_counts_as_much_as_cores() -> None:
    full, empty = server("a", 0.1, 0.95), server("b", 0.1, 0.05)
    assert chosen(full, empty, index=(0.0, 0.3), busy=(0.05, 0.0)) == ("index", "b")


def test_a_server_that_is_short_of_the_other_thing_is_given_nothing_that_takes_it() -> None:
    assert chosen(A, server("b", 0.1, 0.65), vectors=(0.3, 0.1), calls=(0.2, 0.01)) == ("calls", "b")


def test_each_busy_server_gives_to_another_one() -> None:
    both = [server("a", 0.95), server("b", 0.9), server("c", 0.2), server("d", 0.1)]
    moves = [choose_move(each.id, both, loaded(0.1, each.cpu), BUSY_AT, anywhere) for each in both]
    assert [move and move.server.id for move in moves] == ["d", "c", None, None]


def loaded(took: float, cpu: float) -> ServerLoad:
    return ServerLoad(cpu, 0.0, (VaultLoad("v", took, 0.0),))


def test_a_server_the_others_do_not_count_gives_nothing() -> None:
    assert choose_move("a", (B, C), loaded(0.2, 0.9), BUSY_AT, anywhere) is None


def test_the_log_says_why() -> None:
    assert str(LoadMove("v", B, "cpu", 0.9)) == "vault v goes to b: cpu 90% here, 10% there"


shares = st.lists(st.floats(0.0, 0.6), max_size=12)


@given(st.lists(shares, min_size=2, max_size=6))
def test_servers_come_to_rest_and_the_busiest_is_never_busier(many: list[list[float]]) -> None:
    placed = {f"s{n}": {f"v{n}-{k}": took for k, took in enumerate(each)} for n, each in enumerate(many)}
    for _ in range(100):
        busiest = max(cpu_of(placed).values())
        moves = {each: move for each in placed if (move := move_of(each, placed)) is not None}
        if not moves:
            return
        assert len({move.server.id for move in moves.values()}) == len(moves)
        for each, move in moves.items():
            placed[move.server.id][move.vault] = placed[each].pop(move.vault)
        assert max(cpu_of(placed).values()) <= busiest + 1e-9
    raise AssertionError("vaults move for ever")


def cpu_of(placed: Placed) -> dict[str, float]:
    return {name: sum(vaults.values()) for name, vaults in placed.items()}


def move_of(name: str, placed: Placed) -> LoadMove | None:
    servers = [server(each, cpu) for each, cpu in cpu_of(placed).items()]
    vaults = tuple(VaultLoad(vault, took, 0.0) for vault, took in placed[name].items())
    return choose_move(name, servers, ServerLoad(cpu_of(placed)[name], 0.0, vaults), BUSY_AT, anywhere)
