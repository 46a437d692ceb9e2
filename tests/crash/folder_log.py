"""A vault's log as files in a folder, whole or absent after a kill. Covers nothing by itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from vaults.cluster.held_lease import HeldLease
from vaults.cluster.page_log import HeldVault, PageLog
from vaults.cluster.restore import restore
from vaults.cluster.vault_log import LogEntry, Placement
from vaults.errors import StrongroomError
from vaults.settings import StorageSettings

VAULT = "main"
SEP = b"\n--part--\n"


class FolderLog:
    """Implements ``VaultLog`` for one vault and one holder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    @property
    def placement(self) -> Placement:
        return Placement(VAULT, "a", 1, max(self._numbers("entry-"), default=0))

    def append(self, placement: Placement, payload: bytes) -> Placement:
        self._place(f"entry-{placement.head + 1}", payload)
        return self.placement

    def entries(self, vault: str, after: int) -> Iterator[LogEntry]:
        assert vault == VAULT
        for seq in sorted(self._numbers("entry-")):
            if seq > after:
                yield LogEntry(seq, 1, (self._folder / f"entry-{seq}").read_bytes())

    def base(self, vault: str) -> tuple[int, Iterator[bytes]] | None:
        assert vault == VAULT
        newest = max(self._numbers("base-"), default=None)
        if newest is None:
            return None
        folder = self._folder / f"base-{newest}"
        return newest, ((folder / str(part)).read_bytes() for part in range(len(list(folder.iterdir()))))

    def replace_base(self, placement: Placement, seq: int, parts: Iterable[bytes]) -> None:
        made = self._folder / "making"
        made.mkdir()
        for number, part in enumerate(parts):
            (made / str(number)).write_bytes(part)
        made.rename(self._folder / f"base-{seq}")

    def _place(self, name: str, data: bytes) -> None:
        temporary = self._folder / "being-written"
        temporary.write_bytes(data)
        os.rename(temporary, self._folder / name)  # noqa: PTH104

    def _numbers(self, prefix: str) -> list[int]:
        return [int(each.name.removeprefix(prefix)) for each in self._folder.iterdir() if each.name.startswith(prefix)]


def logged(path: Path, settings: StorageSettings, log: FolderLog) -> PageLog:
    """The log of a database whose files are what it ends with."""
    start = restore(log, VAULT, path.with_name("compared.db"), log.placement.head)
    lease = HeldLease(86_400.0)
    lease.renew(lease.clock())

    def refuse(failure: StrongroomError) -> None:
        raise AssertionError("the log was lost") from failure

    return PageLog(path, settings, HeldVault(log.placement, log, lease), start, refuse)
