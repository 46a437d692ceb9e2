"""The rows of one chain, in SQL that SQLite and PostgreSQL share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ops.audit.entries import EntryText, StoredEntry, ids_in, to_body
from ops.audit.links import genesis, link
from ops.audit.statements import ChainHead, SignedStatement
from vaults.db.sql import Reader, Writer

INDEX_STEP = 500
"""Entries indexed in one transaction: calls wait for it."""

HEADS_PAGE = 10_000
"""Entries, or checkpoints, of one read of those that tell of other chains."""

FAR = 2**62
"""Later than any entry, by number or by clock."""


def read_head(tx: Reader, chain: str) -> ChainHead:
    """The last entry; where none is kept, what the chain goes on from."""
    row = tx.one("SELECT seq, hash FROM entries ORDER BY seq DESC LIMIT 1")
    if row is not None:
        return ChainHead(*row)
    anchor = last_statement(tx, "anchors")
    if anchor is None:
        return ChainHead(0, genesis(chain))
    return ChainHead(anchor.seq, bytes.fromhex(anchor.fields()["hash"]))


def append(tx: Writer, chain: str, entries: Iterable[EntryText]) -> ChainHead:
    """Add entries at the end; returns the new head."""
    head = read_head(tx, chain)
    seq, last, rows = head.seq, head.hash, []
    for each in entries:
        seq += 1
        body = to_body(seq, each)
        last = link(last, body)
        rows.append({"seq": seq, "at": each.at, "body": body, "hash": last})
    tx.many("INSERT INTO entries (seq, at, body, hash) VALUES (:seq, :at, :body, :hash)", rows)
    return ChainHead(seq, last)


def read_from(tx: Reader, first: int, limit: int) -> list[StoredEntry]:
    """Entries from a number on, in order."""
    rows = tx.all(
        "SELECT seq, at, body, hash FROM entries WHERE seq >= :first ORDER BY seq LIMIT :limit",
        {"first": first, "limit": limit},
    )
    return [StoredEntry(*row) for row in rows]


def read_hash(tx: Reader, seq: int) -> bytes | None:
    """The hash of an entry; None where it is not kept."""
    found: bytes | None = tx.value("SELECT hash FROM entries WHERE seq = :seq", {"seq": seq})
    return found


def store_statement(tx: Writer, table: str, signed: SignedStatement) -> None:
    """Keep a signed statement in ``checkpoints``, ``anchors`` or ``vouchers``. Of two about the same entry, made by two
    processes at once, the first stays."""
    tx.run(
        f"INSERT INTO {table} (seq, statement, kid, signature) VALUES (:seq, :statement, :kid, :signature)"
        " ON CONFLICT DO NOTHING",
        {"seq": signed.seq, "statement": signed.statement, "kid": signed.kid, "signature": signed.signature},
    )


def store_voucher(tx: Writer, signed: SignedStatement) -> None:
    """Keep a voucher after those there are."""
    number = int(tx.value("SELECT COALESCE(MAX(seq), 0) + 1 FROM vouchers"))
    store_statement(tx, "vouchers", SignedStatement(number, signed.statement, signed.kid, signed.signature))


def list_statements(tx: Reader, table: str) -> list[SignedStatement]:
    """Signed statements of a table, in order."""
    rows = tx.all(f"SELECT seq, statement, kid, signature FROM {table} ORDER BY seq")
    return [SignedStatement(*row) for row in rows]


def list_checkpoints(tx: Reader, after: int, last: int | None, limit: int = FAR) -> list[SignedStatement]:
    """The checkpoints of entries after one, up to another; None: all there are."""
    rows = tx.all(
        "SELECT seq, statement, kid, signature FROM checkpoints WHERE seq > :after AND seq <= :last"
        " ORDER BY seq LIMIT :limit",
        {"after": after, "last": FAR if last is None else last, "limit": limit},
    )
    return [SignedStatement(*row) for row in rows]


def count_unsigned(tx: Reader) -> int:
    """How many entries stand after the last one that was signed."""
    signed = ("COALESCE((SELECT MAX(seq) FROM checkpoints), 0)", "COALESCE((SELECT MAX(seq) FROM anchors), 0)")
    return int(tx.value(f"SELECT COUNT(*) FROM entries WHERE seq > {signed[0]} AND seq > {signed[1]}"))


def last_statement(tx: Reader, table: str) -> SignedStatement | None:
    """The last signed statement of a table."""
    row = tx.one(f"SELECT seq, statement, kid, signature FROM {table} ORDER BY seq DESC LIMIT 1")
    return None if row is None else SignedStatement(*row)


def find_checkpoint_before(tx: Reader, at: int) -> tuple[int, bytes] | None:
    """Number and hash of the last entry that a checkpoint vouches for, of those that are all older than a moment."""
    # Entries stand in the order they were written; where somebody set the clock back, the first young one counts.
    young = tx.value("SELECT seq FROM entries WHERE at >= :at ORDER BY seq LIMIT 1", {"at": at})
    row = tx.one(
        "SELECT e.seq, e.hash FROM checkpoints c JOIN entries e ON e.seq = c.seq"
        " WHERE e.seq < :young ORDER BY e.seq DESC LIMIT 1",
        {"young": FAR if young is None else young},
    )
    return None if row is None else (int(row[0]), row[1])


def delete_through(tx: Writer, seq: int, limit: int) -> int:
    """Delete the first entries, up to this number and at most so many; returns how many."""
    gone = [each for each in read_from(tx, 0, limit) if each.seq <= seq]
    if not gone:
        return 0
    for each in gone:
        _drop_from_indexes(tx, each)
    last = {"last": gone[-1].seq}
    tx.run("DELETE FROM checkpoints WHERE seq <= :last", last)
    return tx.run("DELETE FROM entries WHERE seq <= :last", last)


def _drop_from_indexes(tx: Writer, entry: StoredEntry) -> None:
    fields = _fields_of(entry)
    place = {"at": entry.at, "seq": entry.seq}
    tx.run("DELETE FROM entry_times WHERE at = :at AND seq = :seq", place)
    for table, column in _NAMED:
        tx.run(
            f"DELETE FROM {table} WHERE {column} = (SELECT number FROM names WHERE name = :name)"
            " AND at = :at AND seq = :seq",
            place | {"name": fields.get(column)},
        )
    tx.many(
        "DELETE FROM entry_targets WHERE target = :target AND seq = :seq",
        [{"target": target_number(target), "seq": entry.seq} for target in ids_in(fields)],
    )


def read_indexed(tx: Reader) -> int:
    """The number of the last entry that is indexed."""
    return int(tx.value("SELECT seq FROM indexed"))


def index_more(tx: Writer, limit: int = INDEX_STEP) -> int:
    """Index entries that are not yet; returns how many. Not done while they are written: that would double what a call
    costs, and nobody searches most of them."""
    entries = read_from(tx, read_indexed(tx) + 1, limit)
    if not entries:
        return 0
    said = [_fields_of(each) for each in entries]
    names = _numbers_of(tx, {each[name] for each in said for name in ("subject", "tool") if name in each})
    both = list(zip(entries, said, strict=True))
    tx.many(
        "INSERT INTO entry_times VALUES (:at, :seq) ON CONFLICT DO NOTHING",
        [{"at": each.at, "seq": each.seq} for each in entries],
    )
    for table, column in _NAMED:
        tx.many(
            f"INSERT INTO {table} VALUES (:name, :at, :seq) ON CONFLICT DO NOTHING",
            [
                {"name": names[fields[column]], "at": each.at, "seq": each.seq}
                for each, fields in both
                if column in fields
            ],
        )
    tx.many(
        "INSERT INTO entry_targets VALUES (:target, :seq) ON CONFLICT DO NOTHING",
        [{"target": target_number(id_), "seq": each.seq} for each, fields in both for id_ in ids_in(fields)],
    )
    tx.run("UPDATE indexed SET seq = :seq", {"seq": entries[-1].seq})
    return len(entries)


def _fields_of(entry: StoredEntry) -> Mapping[str, Any]:
    """What an entry says; nothing where it is forged, of which the check of the chain tells."""
    try:
        return entry.fields()
    except ValueError:
        return {}


_NAMED = (("entry_subjects", "subject"), ("entry_tools", "tool"))
"""Indexes by a name, and the field it is the name of."""


def _numbers_of(tx: Writer, names: Iterable[str]) -> dict[str, int]:
    numbers = {}
    for name in names:
        tx.run("INSERT INTO names (name) VALUES (:name) ON CONFLICT DO NOTHING", {"name": name})
        numbers[name] = int(tx.value("SELECT number FROM names WHERE name = :name", {"name": name}))
    return numbers


def target_number(target: str) -> int:
    """What an id or path is indexed under."""
    return int.from_bytes(hashlib.sha256(target.encode("utf-8", "surrogatepass")).digest()[:8], "big", signed=True)


def read_forwarded(tx: Reader, receiver: str) -> int:
    """The number of the last entry a receiver took."""
    return int(tx.value("SELECT seq FROM forwarded WHERE receiver = :receiver", {"receiver": receiver}) or 0)


def mark_forwarded(tx: Writer, receiver: str, seq: int) -> None:
    """Record that a receiver took everything up to this entry."""
    taken = {"receiver": receiver, "seq": seq}
    tx.run("INSERT INTO forwarded VALUES (:receiver, :seq) ON CONFLICT DO NOTHING", taken)
    tx.run("UPDATE forwarded SET seq = :seq WHERE receiver = :receiver AND seq < :seq", taken)


def list_entries(tx: Reader, numbers: Sequence[int]) -> list[StoredEntry]:
    """The entries with these numbers that are kept, in the order given."""
    found = []
    for seq in numbers:
        row = tx.one("SELECT seq, at, body, hash FROM entries WHERE seq = :seq", {"seq": seq})
        if row is not None:
            found.append(StoredEntry(*row))
    return found


def list_heads(tx: Reader, after: int) -> tuple[int | None, list[tuple[str, int, bytes]]]:
    """What the installation's chain tells of where those of vaults stood, in some entries after one, oldest first; and
    the last entry that was looked at, None where nothing follows. Read off the entries: who tampers with a chain also
    reaches its indexes."""
    last = tx.value(
        "SELECT MAX(seq) FROM (SELECT seq FROM entries WHERE seq > :after ORDER BY seq LIMIT :page) AS page",
        {"after": after, "page": HEADS_PAGE},
    )
    rows = tx.all(
        "SELECT body FROM entries WHERE seq > :after AND seq <= :last AND body LIKE :kind ORDER BY seq",
        {"after": after, "last": last or after, "kind": '%"kind":"heads"%'},
    )
    return last, [each for (body,) in rows for each in _heads_of(body)]


def _heads_of(body: str) -> list[tuple[str, int, bytes]]:
    try:
        heads = json.loads(body)["details"]["heads"]
        return [(str(name), int(seq), bytes.fromhex(digest)) for name, (seq, digest) in heads.items()]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):  # forged; the check of this chain says so
        return []
