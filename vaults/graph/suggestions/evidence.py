"""What is known of a note that a text may be linked to: the input of each layer."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.graph.names.lexicon import MatchKind

POINTS_PER_LOG_ODDS = 4.0
"""Points per unit of log odds: a score of 0 is as likely as not, one of 4 means odds of 2.7 to 1."""


@dataclass(frozen=True, slots=True)
class MentionEvidence:
    """How a text names a note, over all the places where it does."""

    kind: MatchKind
    alike: float  # similarity to the name, 1 unless there are slips
    words: int  # of the mention
    namesakes: int  # notes with this name
    spelled: bool  # exactly as the name is written, or with its capitals if in another form
    capital: bool  # at least once with a capital where no sentence begins
    alone: bool  # as the whole of a line
    item: bool  # at the head of a list item, before a colon or dash
    pointed: bool  # after a word that points somewhere, such as "see"
    density: float  # notes named exactly, per 1,000 characters of the text


@dataclass(frozen=True, slots=True)
class LinkEvidence:
    """All evidence for one candidate."""

    mention: MentionEvidence | None  # None: the text does not name it
    habit: float = 0.0  # how much more often than others it is linked where named, in log odds
    category: float = 0.0  # the same of its category
    company: float = 0.0
    """Cosine of the notes that link to it with those that link to others the text links or surely names, 0…1."""
    same_folder: bool = False
    kin: bool = False  # one of the two lies in the folder named after the other
    backlink: bool = False  # it links to this note
    pair: float = 0.0  # how much the two were used together
    linked: int = 0  # notes that link to it
    days: float | None = None  # since it was changed
    feedback: float = 0.0  # points learned
    likeness: float = 0.0  # cosine of what it is about with the text, from 0.30 on, else 0
