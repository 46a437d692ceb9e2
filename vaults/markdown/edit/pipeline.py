"""The edit of a note: text and ``TextEdit`` in, ``EditedText`` out. Pure: no clock, no files, and no byte changes that
no step put into a splice.

Linear in the note. A line in a note of 5 MB takes some 50 ms: it is not parsed, only its headings are looked for.
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
    locate_section,  # the section
    find_insertion_point,  # where in it, and beside what
    check_content,  # what is odd about the content
    normalize_content,  # trimmed, with the note's bullets
    nest_headings,  # below the section's
    format_content,  # as the format asked for, at the list's depth
    place_content,  # inserted, removed or put in the place of something: splices
    assemble_text,
    check_result,  # nothing else of the note broken
)


def apply_edit(text: str, edit: TextEdit, now: datetime) -> EditedText:
    """``edit`` made to ``text``, the note as its file holds it, without a byte order mark. ``now`` is what timestamps
    say.

    Raises ``NotFound``, ``InvalidArgument`` and ``TooLarge``, and on no text anything else.
    """
    draft = EditDraft(edit, now, text)
    for step in STEPS:
        draft = step(draft)
    return report_changes(draft)
