"""Notes that begin as a template: a note of the vault with ``{{variables}}``, by its path or its name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import PurePosixPath

from vaults.db.sql import Reader
from vaults.domain.notes.edit.drafts import Draft
from vaults.errors import Conflict, NotFound
from vaults.files.paths import note_path
from vaults.graph.names import note_names
from vaults.markdown.encoding import dominant_newline
from vaults.markdown.link_resolution import folded, name_key
from vaults.markdown.templates import filled

FOLDERS = frozenset({"templates", "template", "_templates", "_template"})
"""Names of folders, on any level and in any case, in which a template is found by its name alone."""

LISTED = 20
"""Templates named where one is not found."""

_CONTENT = re.compile(r"\{\{[ \t]{0,8}content[ \t]{0,8}\}\}")


@dataclass(frozen=True, slots=True)
class Template:
    """A template note as it stands."""

    path: str
    text: str


async def template(draft: Draft, said: str) -> Template:
    """The template a caller means: the note at a path, or the one of that name in a folder for templates. Raises
    ``NotFound`` with the templates there are, ``Conflict`` where several have the name."""
    path = note_path(said)
    db = draft.vault.db
    found = await db.read(lambda tx: _named(tx, path))
    if len(found) > 1:
        raise Conflict(f"several templates go by the name {said}", hint="give its whole path", paths=found)
    try:
        note = await draft.opened(found[0] if found else path)
    except NotFound:
        there = await db.read(_all)
        hint = f"templates: {', '.join(there[:5])}" if there else "give the path of a note to use as template"
        raise NotFound(f"no template {said}", hint=hint, templates=there) from None
    return Template(note.path, note.text)


async def usual(draft: Draft, kind: str) -> Template | None:
    """The template of a vault's dated notes, where no settings name one: the only one that is called ``daily``,
    ``daily note`` or ``daily template``, and so for the other kinds."""
    keys = [name_key(f"{kind}{further}") for further in ("", " note", " template")]
    found = await draft.vault.db.read(lambda tx: [each.path for each in note_names.candidates(tx, keys)])
    fitting = [path for path in found if _is_template(path) and name_key(PurePosixPath(path).stem) in keys]
    return await template(draft, fitting[0]) if len(fitting) == 1 else None


def _named(tx: Reader, path: str) -> list[str]:
    """Paths of the templates a path may mean; the note at the path itself before all."""
    named = [each.path for each in note_names.candidates(tx, [name_key(path)])]
    if path in named:
        return [path]
    tail = folded(path)
    return sorted(each for each in named if _is_template(each) and f"/{folded(each)}".endswith(f"/{tail}"))


def _all(tx: Reader) -> list[str]:
    rows = tx.all(
        "SELECT path FROM notes WHERE '/' || lower(folder) || '/' LIKE '%/templates/%'"
        " OR '/' || lower(folder) || '/' LIKE '%/template/%' OR '/' || lower(folder) || '/' LIKE '%/\\_template%'"
        " ESCAPE '\\' ORDER BY path LIMIT 200"
    )
    return [row[0] for row in rows if _is_template(row[0])][:LISTED]


def _is_template(path: str) -> bool:
    return any(part.lower() in FOLDERS for part in PurePosixPath(path).parts[:-1])


def instance(text: str, path: str, moment: datetime | date, content: str = "") -> tuple[str, list[str]]:
    """A note at ``path`` made from a template's text, and warnings. ``content`` takes the place of ``{{content}}``, or
    goes to the end. Pure. Raises ``TooLarge``."""
    newline = dominant_newline(text)
    content = content.replace("\r\n", "\n").replace("\r", "\n").replace("\n", newline)
    whole, warnings = filled(text, PurePosixPath(path).stem, moment, {"content": content})
    if content and not _CONTENT.search(text):
        whole = ended(whole, newline) + content
    return whole, warnings


def ended(text: str, newline: str) -> str:
    """The text with its last line ended, if it has any."""
    return text if not text or text[-1] in "\r\n" else text + newline
