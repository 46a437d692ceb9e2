"""Notes made from a template: a note of the vault with ``{{variables}}``, found by path or by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import PurePosixPath

from vaults.db.sql import Reader
from vaults.domain.notes.edit.drafts import DraftNotes
from vaults.errors import Conflict, NotFound
from vaults.files.paths import to_note_path
from vaults.graph.names import note_names
from vaults.markdown.encoding import dominant_newline
from vaults.markdown.link_resolution import fold_name, name_key
from vaults.markdown.templates import fill_template

TEMPLATE_FOLDERS = frozenset({"templates", "template", "_templates", "_template"})
"""Folder names, on any level and in any case, in which a template is found by its name alone."""

MAX_LISTED = 20
"""Max templates listed in the error for one that is not found."""

_CONTENT = re.compile(r"\{\{[ \t]{0,8}content[ \t]{0,8}\}\}")


@dataclass(frozen=True, slots=True)
class NoteTemplate:
    """A template note as it stands."""

    path: str
    text: str


async def find_template(draft: DraftNotes, name: str) -> NoteTemplate:
    """The template with a path, or with a name in a template folder. Raises ``NotFound`` with the templates there are,
    ``Conflict`` where several have the name."""
    path = to_note_path(name)
    db = draft.vault.db
    found = await db.read(lambda tx: _find_named(tx, path))
    if len(found) > 1:
        raise Conflict(f"several templates go by the name {name}", hint="give its whole path", paths=found)
    try:
        note = await draft.open_note(found[0] if found else path)
    except NotFound:
        there = await db.read(_list_templates)
        hint = f"templates: {', '.join(there[:5])}" if there else "give the path of a note to use as template"
        raise NotFound(f"no template {name}", hint=hint, templates=there) from None
    return NoteTemplate(note.path, note.text)


async def find_default(draft: DraftNotes, kind: str) -> NoteTemplate | None:
    """The template for a vault's dated notes where its settings name none: the only one called ``daily``,
    ``daily note`` or ``daily template``, and likewise for the other kinds."""
    keys = [name_key(f"{kind}{further}") for further in ("", " note", " template")]
    found = await draft.vault.db.read(lambda tx: [each.path for each in note_names.find_candidates(tx, keys)])
    fitting = [path for path in found if _is_template(path) and name_key(PurePosixPath(path).stem) in keys]
    return await find_template(draft, fitting[0]) if len(fitting) == 1 else None


def _find_named(tx: Reader, path: str) -> list[str]:
    """Paths of the templates a path may mean; a note at exactly that path takes precedence."""
    named = [each.path for each in note_names.find_candidates(tx, [name_key(path)])]
    if path in named:
        return [path]
    tail = fold_name(path)
    return sorted(each for each in named if _is_template(each) and f"/{fold_name(each)}".endswith(f"/{tail}"))


def _list_templates(tx: Reader) -> list[str]:
    rows = tx.all(
        "SELECT path FROM notes WHERE '/' || lower(folder) || '/' LIKE '%/templates/%'"
        " OR '/' || lower(folder) || '/' LIKE '%/template/%' OR '/' || lower(folder) || '/' LIKE '%/\\_template%'"
        " ESCAPE '\\' ORDER BY path LIMIT 200"
    )
    return [row[0] for row in rows if _is_template(row[0])][:MAX_LISTED]


def _is_template(path: str) -> bool:
    return any(part.lower() in TEMPLATE_FOLDERS for part in PurePosixPath(path).parts[:-1])


def instantiate(text: str, path: str, moment: datetime | date, content: str = "") -> tuple[str, list[str]]:
    """Make the text of a note at ``path`` from a template, and warnings. ``content`` replaces ``{{content}}``, or is
    appended. Pure. Raises ``TooLarge``."""
    newline = dominant_newline(text)
    content = content.replace("\r\n", "\n").replace("\r", "\n").replace("\n", newline)
    whole, warnings = fill_template(text, PurePosixPath(path).stem, moment, {"content": content})
    if content and not _CONTENT.search(text):
        whole = end_last_line(whole, newline) + content
    return whole, warnings


def end_last_line(text: str, newline: str) -> str:
    """Add a line ending to the last line of a text that is not empty, unless it has one."""
    return text if not text or text[-1] in "\r\n" else text + newline
