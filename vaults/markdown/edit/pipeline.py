"""The edit of a note: text and ``TextEdit`` in, ``EditedText`` out. Pure: no clock, no files, and no byte outside a
splice changes.

Linear in the note. A line in a note of 5 MB takes some 50 ms: the note is not parsed, only its headings are found.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from vaults.markdown.edit.arguments import normalize_arguments
from vaults.markdown.edit.checks import check_content
from vaults.markdown.edit.content_repairs import nest_headings, normalize_content
from vaults.markdown.edit.draft import EditDraft, EditedText, TextEdit
from vaults.markdown.edit.formats import format_content
from vaults.markdown.edit.insertion_points import find_insertion_point
from vaults.markdown.edit.placement import place_content
from vaults.markdown.edit.results import assemble_text, check_result, report_changes
from vaults.markdown.edit.section_lookup import locate_section

STEPS: tuple[Callable[[EditDraft], EditDraft], ...] = (
    normalize_arguments,  # which arguments go together
    locate_section,
    find_insertion_point,  # where in the section, and next to what
    check_content,  # what is odd about the content
    normalize_content,  # trim it, use the note's bullets
    nest_headings,  # below the section's
    format_content,  # in the requested format, at the list's depth
    place_content,  # as splices: inserted, removed, replaced
    assemble_text,
    check_result,  # nothing else in the note is broken
)


def apply_edit(text: str, edit: TextEdit, now: datetime) -> EditedText:
    """Apply ``edit`` to ``text``, the note as in its file, without a byte order mark. ``now`` is used for timestamps.

    Raises ``NotFound``, ``InvalidArgument`` and ``TooLarge``, and nothing else on any text.
    """
    draft = EditDraft(edit, now, text)
    for step in STEPS:
        draft = step(draft)
    return report_changes(draft)
