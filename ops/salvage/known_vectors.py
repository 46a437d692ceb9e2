"""Vectors that the damaged database still has, for texts that are the same: the model need not make them again.

A vector carries no hash, but it must be of unit length, which no damage leaves it by chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from ops.salvage.found_rows import find_remains, read_rows
from ops.salvage.harvesting import DatabaseRemains
from ops.salvage.table_shapes import read_shape
from vaults.db.sql import Writer, bind_list
from vaults.index import embeddings

if TYPE_CHECKING:
    from numpy.typing import NDArray

TABLE = "embeddings"
TOLERANCE = 1e-3
_BATCH = 500


def carry_over(tx: Writer, remains: DatabaseRemains) -> int:
    """Give passages that wait for a vector the one their text had; returns how many."""
    model = tx.value("SELECT value FROM vault_info WHERE key = 'model'")
    if remains.image is None or model is None or TABLE not in remains.schema.tables:
        return 0
    tx.run("CREATE TEMP TABLE owed (text_hash TEXT, passage INTEGER)")
    tx.run("INSERT INTO owed SELECT p.text_hash, p.seq FROM embedding_queue q JOIN passages p ON p.seq = q.passage")
    tx.run("CREATE INDEX temp.owed_by_text ON owed (text_hash)")
    carried = 0
    known = iter(_read_vectors(tx, remains, str(model)))
    while batch := dict(islice(known, _BATCH)):
        marks, params = bind_list("t", batch)
        waiting = tx.all(f"SELECT text_hash, passage FROM owed WHERE text_hash IN ({marks})", params)
        embeddings.store(tx, str(model), [(int(passage), text, batch[text]) for text, passage in waiting])
        tx.run(f"DELETE FROM owed WHERE text_hash IN ({marks})", params)
        carried += len(waiting)
    tx.run("DROP TABLE owed")
    return carried


def _read_vectors(tx: Writer, remains: DatabaseRemains, model: str) -> Iterable[tuple[str, bytes]]:
    assert remains.image is not None
    shape = read_shape(tx, TABLE)
    at_model, at_text, at_vector = (shape.place(name) for name in ("model", "text_hash", "vector"))
    found = find_remains(remains.image, remains.page_map, remains.schema, shape)
    rows = (row.values for row in read_rows(remains.image, remains.page_map, found) if row.problem is None)
    while batch := list(islice(rows, _BATCH)):
        own = [(str(row[at_text]), bytes(row[at_vector])) for row in batch if row[at_model] == model]  # type: ignore[arg-type]
        yield from _of_unit_length(own)


def _of_unit_length(pairs: list[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    import numpy as np

    for text, vector in pairs:
        if len(vector) % 4 == 0:
            values: NDArray[np.float32] = np.frombuffer(vector, dtype="<f4")
            with np.errstate(all="ignore"):
                length = float(np.dot(values, values))
            if abs(length - 1) < TOLERANCE:  # false of NaN, too
                yield text, vector
