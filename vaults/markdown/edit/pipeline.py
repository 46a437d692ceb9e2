"""The edit of a note: text and ``Edit`` in, ``Edited`` out. Pure: no clock, no files, and no byte changes that no step
put into a splice.

Linear in the note. A line in a note of 5 MB takes some 50 ms: it is not parsed, only its headings are looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from vaults.markdown.edit.arguments import settle
from vaults.markdown.edit.checks import check
from vaults.markdown.edit.content_repairs import nest_headings, normalise
from vaults.markdown.edit.draft import Draft, Edit, Edited
from vaults.markdown.edit.formats import shape
from vaults.markdown.edit.insertion_points import find_spot
from vaults.markdown.edit.placement import place
from vaults.markdown.edit.results import assemble, guard, report
from vaults.markdown.edit.section_lookup import locate

STEPS: tuple[Callable[[Draft], Draft], ...] = (
    settle,  # which arguments go together
    locate,  # the section
    find_spot,  # where in it, and beside what
    check,  # what is odd about the content
    normalise,  # trimmed, with the note's bullets
    nest_headings,  # below the section's
    shape,  # as the format asked for, at the list's depth
    place,  # inserted, removed or put in the place of something: splices
    assemble,
    guard,  # nothing else of the note broken
)


def apply(text: str, edit: Edit, now: datetime) -> Edited:
    """``edit`` made to ``text``, the note as its file holds it, without a byte order mark. ``now`` is what timestamps
    say.

    Raises ``NotFound``, ``InvalidArgument`` and ``TooLarge``, and on no text anything else.
    """
    draft = Draft(edit, now, text)
    for step in STEPS:
        draft = step(draft)
    return report(draft)
