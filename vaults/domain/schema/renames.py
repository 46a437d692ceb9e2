"""Renaming a field or a tag in every note that has it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.notes.read.note_listing import (
    folder_condition,
    parse_folder,
    to_tag_key,
    warn_if_behind,
    warn_if_no_folder,
)
from vaults.domain.schema.bulk_edits import FrontmatterEditRequest, FrontmatterEditResult, edit_notes
from vaults.domain.schema.note_properties import warn_of_unreadable
from vaults.errors import Conflict, InvalidArgument
from vaults.markdown.frontmatter.edits import find_frontmatter, read_properties, update_properties
from vaults.markdown.frontmatter.renames import rename_key
from vaults.markdown.frontmatter.yaml_writer import check_property, to_canonical
from vaults.markdown.tag_edits import is_valid_tag, rename_tag_in_note
from vaults.vault import Vault

OnConflict = Literal["refuse", "skip", "keep", "replace"]
"""If a note already has the new key with another value: refuse the whole change; skip that note; keep the new key's
value; replace it with the old key's value."""

MAX_NAMED = 20
"""Max conflicting notes that are named."""


@dataclass(frozen=True, slots=True)
class FieldHolder:
    """A note that has a field, and its frontmatter."""

    path: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FieldHolders:
    """Notes that have a field, and those whose frontmatter cannot be read, so that it is unknown."""

    notes: list[FieldHolder]
    unreadable: list[str]


def find_field_holders(tx: Reader, name: str, folder: str) -> FieldHolders:
    """Find the notes with a field, among all or in a folder and below, by path."""
    below = f" AND {folder_condition('folder')}" if folder else ""
    params = {"folder": folder, "within": f"{folder}/", "beyond": f"{folder}0"}
    # The column is JSON that contains the quoted name: only such rows need to be parsed.
    rows = tx.all(
        f"SELECT path, frontmatter FROM notes WHERE instr(frontmatter, :name) > 0{below} ORDER BY path",
        {**params, "name": f"{json.dumps(name, ensure_ascii=False)}:"},
    )
    found = [FieldHolder(path, values) for path, text in rows if name in (values := json.loads(text))]
    broken = tx.all(
        f"SELECT path FROM notes WHERE problem IS NOT NULL AND frontmatter = '{{}}'{below} ORDER BY path", params
    )
    return FieldHolders(found, [row[0] for row in broken])


async def rename_field(
    vault: Vault, actor: Actor, names: tuple[str, str], on_conflict: OnConflict, request: FrontmatterEditRequest
) -> FrontmatterEditResult:
    """Rename a key, from the first name to the second. Raises ``InvalidArgument``, and ``Conflict`` if notes have the
    new key with another value and ``on_conflict`` is ``refuse``."""
    old, new = names
    check_field_name(new, "to")
    if old == new:
        raise InvalidArgument("to", "is what it is called already")
    warnings = await warn_if_behind(vault)
    folder = parse_folder(request.folder)
    found = await vault.db.read(lambda tx: find_field_holders(tx, old, folder))
    in_way = [each.path for each in found.notes if _values_differ(each.values, old, new)]
    if in_way and on_conflict == "refuse" and not request.dry_run:
        raise Conflict(
            f"{len(in_way)} notes have {new!r} with another value; nothing was changed",
            hint="say on_conflict: skip leaves them, keep keeps what is there, replace puts the other in its place",
            paths=in_way[:MAX_NAMED],
        )

    def step(text: str) -> str:
        return _rename_in_text(text, old, new, on_conflict)

    done = await edit_notes(
        vault, actor, [each.path for each in found.notes], step, (f"renamed the field {old} to {new}", request)
    )
    if in_way and on_conflict == "refuse":
        warnings.append(f"{len(in_way)} notes have {new!r} with another value: say on_conflict, or none is changed")
    warnings += [*done.warnings, *warn_of_unreadable(found.unreadable), *await warn_if_no_folder(vault, request.folder)]
    return replace(done, counts={old: len(found.notes)}, conflicts=in_way, warnings=warnings)


def check_field_name(name: str, field: str) -> None:
    """Raise ``InvalidArgument`` for a name that cannot be a key."""
    try:
        check_property(name, None)
    except InvalidArgument:
        raise InvalidArgument(field, "must be one line of 1 to 200 printable characters") from None


def _values_differ(values: Mapping[str, Any], old: str, new: str) -> bool:
    return new in values and to_canonical(values[old]) != to_canonical(values[new])


def _rename_in_text(text: str, old: str, new: str, on_conflict: OnConflict) -> str:
    values = read_properties(text, find_frontmatter(text))
    if old not in values:
        return text
    if new not in values:
        return rename_key(text, old, new)
    if not _values_differ(values, old, new) or on_conflict == "keep":
        return update_properties(text, {}, [old])[0]
    if on_conflict == "replace":
        return rename_key(update_properties(text, {}, [new])[0], old, new)
    raise Conflict(f"it has {new!r} with another value")


async def rename_tag_in_vault(
    vault: Vault, actor: Actor, names: tuple[str, str], request: FrontmatterEditRequest
) -> FrontmatterEditResult:
    """Rename a tag and those below it: ``a/x`` becomes ``b/x``. Raises ``InvalidArgument``."""
    old, new = (each.strip().removeprefix("#") for each in names)
    for name, field in ((old, "tag"), (new, "to")):
        if not is_valid_tag(name):
            raise InvalidArgument(field, "must be one tag: letters, digits, - _ and /, not digits alone")
    if old == new:
        raise InvalidArgument("to", "is what it is called already")
    warnings = await warn_if_behind(vault)
    folder = parse_folder(request.folder)
    found, there, broken = await vault.db.read(lambda tx: _find_tag_holders(tx, old, new, folder))

    def step(text: str) -> str:
        return rename_tag_in_note(text, old, new)

    done = await edit_notes(vault, actor, list(found), step, (f"renamed the tag {old} to {new}", request))
    if there:
        warnings.append(f"{there} notes carried #{new} already: from now on nobody can tell which were #{old}")
    warnings += [*done.warnings, *warn_of_unreadable(broken), *await warn_if_no_folder(vault, request.folder)]
    counts = Counter(each for path in done.paths for each in found[path])
    return replace(done, counts=dict(counts.most_common(MAX_NAMED)), warnings=warnings)


def _find_tag_holders(tx: Reader, old: str, new: str, folder: str) -> tuple[dict[str, list[str]], int, list[str]]:
    """Notes with a tag or one below it, and which; how many carry the new tag; and notes whose frontmatter cannot be
    read."""
    below = f" AND {folder_condition('n.folder')}" if folder else ""
    params = {"folder": folder, "within": f"{folder}/", "beyond": f"{folder}0", "tag": to_tag_key(old)}
    rows = tx.all(
        "SELECT n.path, n.tags FROM notes n WHERE (n.complete = 0 OR EXISTS (SELECT 1 FROM item_tags t"
        f" WHERE t.kind = 'note' AND t.item = n.seq AND t.tag = :tag)){below} ORDER BY n.path",
        params,
    )
    key = to_tag_key(old)
    found = {path: [tag for tag in json.loads(tags) if f"{tag.lower()}/".startswith(f"{key}/")] for path, tags in rows}
    same = to_tag_key(new) == key or f"{to_tag_key(new)}/".startswith(f"{key}/")
    present = "SELECT COUNT(*) FROM item_tags WHERE kind = 'note' AND tag = :tag"
    there = 0 if same else tx.value(present, {"tag": to_tag_key(new)})
    broken = tx.all(
        f"SELECT n.path FROM notes n WHERE n.problem IS NOT NULL AND n.frontmatter = '{{}}'{below} ORDER BY n.path",
        params,
    )
    return found, int(there), [row[0] for row in broken]
