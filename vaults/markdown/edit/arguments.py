"""Checks which arguments of an edit go together, and what a note can hold. Pure."""

from __future__ import annotations

from dataclasses import replace

from vaults.advice import Advice, tool_clause
from vaults.errors import InvalidArgument
from vaults.markdown.edit.draft import EditDraft, TextEdit
from vaults.markdown.edit.line_endings import to_lf

_TEXTS = ("section", "content", "search", "pattern", "replacement")


def normalize_arguments(draft: EditDraft) -> EditDraft:
    """Refuse arguments that contradict each other, or would make an edit larger than its caller can have meant, and
    reduce alternative arguments to one form. Raises ``InvalidArgument``."""
    edit = draft.edit
    for field in _TEXTS:
        _check_characters(field, getattr(edit, field))
    for field in ("section", "search", "pattern"):
        if getattr(edit, field) is not None and not getattr(edit, field).strip("\r\n"):
            raise InvalidArgument(field, "is empty", hint=f"Leave {field} out if it is not needed.")
    if edit.search is not None and edit.pattern is not None:
        raise InvalidArgument("pattern", "cannot be given together with search")
    edit = _NORMALIZERS[edit.action](edit)
    return replace(draft, edit=edit, content=to_lf(edit.content or ""))


def _check_characters(field: str, value: str | None) -> None:
    if value is None:
        return
    if "\0" in value:
        raise InvalidArgument(field, "holds a NUL character, which no note can")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(field, "holds half a character (a lone surrogate), which no note can") from None


def _normalize_add(edit: TextEdit) -> TextEdit:
    for field in ("search", "pattern", "replacement"):
        if getattr(edit, field) is not None:
            raise InvalidArgument(field, "has no meaning for action 'add'", hint="Use action 'replace' to change text.")
    if not (edit.content or "").strip():
        raise InvalidArgument("content", "is needed: what to add")
    return edit


def _normalize_remove(edit: TextEdit) -> TextEdit:
    if edit.replacement is not None:
        raise InvalidArgument("replacement", "has no meaning for action 'remove'", hint="Use action 'replace'.")
    if edit.content and edit.searches:
        raise InvalidArgument("content", "cannot be given together with search or pattern when something is removed")
    if edit.content:
        edit = replace(edit, search=edit.content, content=None)
    if edit.search is not None and not edit.search.strip():
        raise InvalidArgument("search", "is blank: every other line would fit")
    if not edit.searches and edit.section is None:
        raise InvalidArgument("search", "or pattern is needed, or a section to remove as a whole")
    return edit


def _normalize_replace(edit: TextEdit) -> TextEdit:
    if edit.content and edit.replacement is not None:
        raise InvalidArgument("content", "and replacement say the same thing: give one of them")
    content = edit.content if edit.replacement is None else edit.replacement
    if content is None:
        raise InvalidArgument("replacement", "is needed: what to put there instead (it may be empty)")
    if not edit.searches and edit.section is None:
        raise InvalidArgument(
            "search",
            "or pattern is needed, or a section whose text to replace",
            hint=Advice(tool_clause("note_write with mode 'overwrite' replaces a whole note.", "note_write")),
        )
    return replace(edit, content=content, replacement=None)


_NORMALIZERS = {"add": _normalize_add, "remove": _normalize_remove, "replace": _normalize_replace}
