"""The Git history of an open vault."""

from __future__ import annotations

import asyncio
from pathlib import Path

from vaults.history import locations
from vaults.history.git import GitHistory, open_history


class VaultHistory:
    """Opened when it is first needed, used by one at a time: who does holds ``turn``. ``root`` holds the notes,
    ``state`` is the vault's own folder, ``mode`` says how changes are to be kept."""

    def __init__(self, root: Path, state: Path, vault_id: str, mode: str) -> None:
        self.turn = asyncio.Lock()
        self.problem: str | None = None
        """Why changes cannot be committed now. They are saved anyway, and committed later."""
        self._root = root
        self._folder = state
        self._vault_id = vault_id
        self._mode = mode
        self._opened: GitHistory | None = None

    @property
    def status(self) -> str:
        """How changes are kept in Git: off, auto, batch, or unavailable and why."""
        return f"unavailable: {self.problem}" if self.problem else self._mode

    def open(self) -> GitHistory:
        """The history; one is made where there is none. Blocking. Raises ``HistoryUnavailable``."""
        if self._opened is None:
            self._opened = open_history(self._root, self._folder, self._vault_id)
        return self._opened

    def find(self) -> GitHistory | None:
        """The history for reading; None where there is none, for reading makes none. Blocking. Raises
        ``HistoryUnavailable``."""
        exists = self._opened or locations.has_own(self._folder) or locations.find_surrounding(self._root)
        return self.open() if exists else None

    def close(self) -> None:
        """Open it afresh the next time, as after a failure."""
        self._opened = None
