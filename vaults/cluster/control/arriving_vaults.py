"""Vaults whose content is put into the cluster before they are registered: one that never gets there whole is listed
nowhere, and goes with the next look.

Until then whoever brings it holds it, under a mark that says so.
"""

from __future__ import annotations

from vaults import clock
from vaults.cluster.postgres import placements
from vaults.cluster.vault_log import Placement
from vaults.db.sql import Reader, Writer
from vaults.db.transactions import Transactions
from vaults.errors import Conflict

_MARK = "arriving:"

_PLACE = "INSERT INTO strongroom.placement (vault, server, epoch, head) VALUES (:vault, :server, 1, 0)"

_ABANDONED = """
SELECT substr(i.key, length(:mark) + 1) FROM installation i WHERE i.key LIKE :mark || '%' AND NOT EXISTS (
  SELECT 1 FROM strongroom.placement p JOIN strongroom.servers s ON s.id = p.server WHERE i.key = :mark || p.vault)
"""


def begin(tx: Writer, vault_id: str, server: str) -> Placement:
    """Have ``server`` hold a vault that nobody has registered. Raises ``Conflict`` where the cluster has it already."""
    if tx.one("SELECT 1 FROM strongroom.placement WHERE vault = :vault", {"vault": vault_id}):
        raise Conflict("the cluster has files of this vault already, or is being given them", hint="call again later")
    tx.run(_PLACE, {"vault": vault_id, "server": server})
    tx.run("INSERT INTO installation (key, value) VALUES (:key, :now)", {"key": _MARK + vault_id, "now": clock.now()})
    return Placement(vault_id, server, 1, 0)


def end(tx: Writer, vault_id: str) -> bool:
    """It is registered from now on; whether it was one of these until then."""
    return tx.run("DELETE FROM installation WHERE key = :key", {"key": _MARK + vault_id}) == 1


def discard(tx: Writer, vault_id: str) -> None:
    """Have nothing left of it; of one that was registered, nothing is taken away."""
    if end(tx, vault_id):
        placements.remove_in(tx, vault_id)


async def sweep(control: Transactions) -> None:
    """Discard those whose server is gone, or gave them up."""
    if await control.read(_list_abandoned):

        def clear(tx: Writer) -> None:
            for vault in _list_abandoned(tx):
                discard(tx, vault)

        await control.write(clear)


def _list_abandoned(tx: Reader) -> list[str]:
    return [str(vault) for (vault,) in tx.all(_ABANDONED, {"mark": _MARK})]
