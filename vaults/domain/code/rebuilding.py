"""Makes what is derived of source code anew from the text of its documents, by the process that reads files."""

from __future__ import annotations

import asyncio

from vaults.code.code_outline import CodeOutline
from vaults.code.languages import PLAIN
from vaults.db.sql import Reader, Writer
from vaults.domain.code import code_rows
from vaults.domain.code.intake import store_code
from vaults.domain.code.symbol_lookup import read_text
from vaults.errors import Overloaded
from vaults.formats.parsed_document import ParseFailed
from vaults.vault import Vault

PAGE = 50

TURN_S = 1.0
"""Seconds until a worker is asked again, where too many files wait."""


async def rebuild_code(vault: Vault, *, all_of_it: bool = True) -> int:
    """Read the documents of kind ``code`` again and write their symbols; returns how many. ``all_of_it`` false: only
    those whose symbols are missing or of an earlier text."""
    if all_of_it:
        await vault.db.write(_drop_all)
    after, done = 0, 0
    while page := await vault.db.read(lambda tx, after=after: code_rows.find_stale(tx, after, PAGE)):  # type: ignore[misc]
        for seq in page:
            await _rebuild_one(vault, seq)
        after, done = page[-1], done + len(page)
    return done


def _drop_all(tx: Writer) -> None:
    for table in code_rows.TABLES:
        tx.run(f"DELETE FROM {table}")


async def _rebuild_one(vault: Vault, seq: int) -> None:
    found = await vault.db.read(lambda tx: _read_source(tx, seq))
    if found is None:
        return
    path, digest, text = found
    outline = await _outline(vault, text, path)

    def write(tx: Writer) -> None:
        if tx.value("SELECT hash FROM documents WHERE seq = :seq", {"seq": seq}) == digest:  # else it was stored anew
            store_code(vault, tx, seq, outline)

    await vault.db.write(write)


def _read_source(tx: Reader, seq: int) -> tuple[str, str, str] | None:
    row = tx.one("SELECT COALESCE(uri, title), hash FROM documents WHERE seq = :seq", {"seq": seq})
    return None if row is None else (row[0], row[1], read_text(tx, seq))


async def _outline(vault: Vault, text: str, path: str) -> CodeOutline:
    """What a file defines; nothing where it cannot be read any more: its text is found all the same."""
    while True:
        try:
            return await vault.parsers.outline(text.encode(), path)
        except Overloaded:
            await asyncio.sleep(TURN_S)
        except ParseFailed:
            return CodeOutline(PLAIN, False, text.count("\n") + 1, ())
