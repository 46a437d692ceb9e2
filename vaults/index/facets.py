"""Tags and fields that searches filter items by: a memory's come from its metadata, a note's from its frontmatter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vaults.db.sql import Reader, Writer


def store(tx: Writer, kind: str, item: int, tags: Sequence[str], fields: Mapping[str, object]) -> None:
    """Replace the item's tags and fields."""
    for table in ("item_tags", "item_fields"):
        tx.run(f"DELETE FROM {table} WHERE kind = :kind AND item = :item", {"kind": kind, "item": item})
    add(tx, kind, item, tags, fields)


def add(tx: Writer, kind: str, item: int, tags: Sequence[str], fields: Mapping[str, object]) -> None:
    """Write the tags and fields of an item that has none."""
    add_all(tx, kind, [(item, tags, fields)])


def add_all(tx: Writer, kind: str, items: Sequence[tuple[int, Sequence[str], Mapping[str, object]]]) -> None:
    """Write the tags and fields of items that have none."""
    tx.many(
        "INSERT INTO item_tags (kind, item, tag) VALUES (:kind, :item, :tag)",
        [{"kind": kind, "item": item, "tag": tag} for item, tags, _ in items for tag in dict.fromkeys(tags)],
    )
    tx.many(
        "INSERT INTO item_fields (kind, item, field, value) VALUES (:kind, :item, :field, :value)",
        [
            {"kind": kind, "item": item, "field": field, "value": value}
            for item, _, fields in items
            for field, value in to_fields(fields)
        ],
    )


def update(tx: Writer, kind: str, item: int, tags: Sequence[str], fields: Mapping[str, object]) -> None:
    """``store``, writing only where the item has other tags or fields than these."""
    stored = _read(tx, kind, item)
    if stored == (set(), set()):
        add(tx, kind, item, tags, fields)
    elif stored != (set(tags), set(to_fields(fields))):
        store(tx, kind, item, tags, fields)


def has_changed(tx: Reader, kind: str, item: int, tags: Sequence[str], fields: Mapping[str, object]) -> bool:
    """Whether the item has other tags or fields than these."""
    return _read(tx, kind, item) != (set(tags), set(to_fields(fields)))


def _read(tx: Reader, kind: str, item: int) -> tuple[set[str], set[tuple[str, str]]]:
    key = {"kind": kind, "item": item}
    tags = {tag for (tag,) in tx.all("SELECT tag FROM item_tags WHERE kind = :kind AND item = :item", key)}
    return tags, set(tx.all("SELECT field, value FROM item_fields WHERE kind = :kind AND item = :item", key))


MAX_FIELD_VALUE = 200
"""Characters of a field's value that are compared."""


def to_fields(fields: Mapping[str, object]) -> list[tuple[str, str]]:
    """Fields in the form they are compared in: plain values, also those of lists, as lower-case text."""
    found: dict[tuple[str, str], None] = {}
    for name, value in fields.items():
        for each in value if isinstance(value, list) else [value]:
            if (text := to_field_text(each)) is not None:
                found[name[:MAX_FIELD_VALUE], text] = None
    return list(found)


def to_field_text(value: object) -> str | None:
    """One value in the form it is compared in; None if it is no plain value."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON has one kind of number: a stored 1.0 is searched for as 1
    return str(value).lower()[:MAX_FIELD_VALUE] if isinstance(value, str | int | float) else None
