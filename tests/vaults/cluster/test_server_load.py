"""What a server uses is an average over what it may use, told apart by what its vaults were asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from vaults.cluster.server_load import LoadMeter, ServerLoad, usable_cores
from vaults.vault_hosting import VaultUse

OVER_S = 20.0


@dataclass
class Machine:
    """Of two cores, 1,000 bytes and a clock of its own."""

    now: float = 0.0
    used: float = 0.0
    uses: list[VaultUse] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.meter = LoadMeter(OVER_S, 1000, 2.0, lambda: self.now, lambda: self.used)

    def work(self, seconds: float, cores: float, **calls: int) -> ServerLoad:
        """With so many calls of each vault every second."""
        before = {each.vault: each.calls for each in self.uses}
        for second in range(1, int(seconds) + 1):
            self.now += 1
            self.used += cores
            self.uses = [
                VaultUse(vault, before.get(vault, 0) + second * many, 0.0, 100) for vault, many in calls.items()
            ]
            load = self.meter.sample(self.uses)
        return load


def test_load_is_the_share_of_all_cores_once_it_lasted() -> None:
    machine = Machine()
    assert machine.work(2, cores=1.0, a=1).cpu < 0.1
    assert machine.work(5 * OVER_S, cores=1.0, a=1).cpu == pytest.approx(0.5, abs=0.01)
    assert machine.work(5 * OVER_S, cores=0.0, a=0).cpu == pytest.approx(0.0, abs=0.01)


def test_each_vault_takes_of_it_what_its_calls_are_of_all() -> None:
    load = Machine().work(5 * OVER_S, cores=1.0, a=3, b=1, c=0)
    assert [(each.vault, round(each.cpu, 2)) for each in load.vaults] == [("a", 0.37), ("b", 0.12), ("c", 0.0)]


def test_a_vault_that_was_opened_anew_counts_from_the_beginning() -> None:
    machine = Machine()
    machine.work(OVER_S, cores=1.0, a=10, b=10)
    machine.uses = [each for each in machine.uses if each.vault == "b"]  # a was closed, and is opened again
    load = machine.work(1, cores=1.0, a=10, b=10)
    assert load.vaults[0].cpu == pytest.approx(load.vaults[1].cpu)


def test_a_vault_that_was_closed_is_none_of_it() -> None:
    machine = Machine()
    machine.work(OVER_S, cores=1.0, a=10, b=10)
    load = machine.work(1, cores=1.0, b=10)
    assert [each.vault for each in load.vaults] == ["b"]
    assert load.vaults[0].cpu == load.cpu


def test_memory_is_of_vectors_and_their_budget() -> None:
    machine = Machine()
    load = machine.meter.sample([VaultUse("a", 0, 0.0, 400), VaultUse("b", 0, 0.0, 100)])
    assert (load.memory, [each.memory for each in load.vaults]) == (0.5, [0.4, 0.1])
    assert machine.meter.sample([VaultUse("a", 0, 0.0, 4000)]).memory == 1.0


@pytest.mark.parametrize(("said", "cores"), [("50000 100000", 0.5), ("max 100000", None), ("nonsense", None)])
def test_a_container_may_use_what_it_was_given(tmp_path: Path, said: str, cores: float | None) -> None:
    (tmp_path / "cpu.max").write_text(said)
    assert usable_cores(tmp_path / "cpu.max") == (cores or usable_cores(tmp_path / "none"))
