"""What is known of a note that a text may be linked to: what each layer looks at."""

from __future__ import annotations

from dataclasses import dataclass

from vaults.graph.names.lexicon import MatchKind

POINTS_PER_LOG_ODDS = 4.0
"""Points of a unit of log odds: a score of 0 is as likely as not, one of 4 wins by 2.7 to 1."""


@dataclass(frozen=True, slots=True)
class MentionEvidence:
    """How a text names a note, of all the times it does. ``namesakes``: notes that go by the words; ``spelled``: just
    as the name is written, or with its capitals where it is another form; ``capital``: once at least with a capital
    where no sentence begins; ``alone``: as the whole of a line; ``item``: at the head of a list's item, before a colon
    or dash; ``pointed``: after a word that points somewhere, such as "see"; ``density``: notes that are named so, per
    1,000 characters."""

    kind: MatchKind
    alike: float
    words: int
    namesakes: int
    spelled: bool
    capital: bool
    alone: bool
    item: bool
    pointed: bool
    density: float


@dataclass(frozen=True, slots=True)
class LinkEvidence:
    """A candidate. ``saying`` None: the text does not name it. ``habit``, ``category``: how much more often than others
    it, and its category, is linked where named (log odds); ``company``: cosine of its linking notes with those of
    others the text links or surely names, 0…1; ``same_folder``, ``kin``: it lies beside the note, or one in the folder
    named for the other; ``backlink``: it links here; ``pair``: how much they were used together;
    ``linked``: notes that link to it; ``days``: since it was changed; ``feedback``: points
    learned; ``likeness``: cosine of what it is about with the text, from 0.30 on, else 0."""

    saying: MentionEvidence | None
    habit: float = 0.0
    category: float = 0.0
    company: float = 0.0
    same_folder: bool = False
    kin: bool = False
    backlink: bool = False
    pair: float = 0.0
    linked: int = 0
    days: float | None = None
    feedback: float = 0.0
    likeness: float = 0.0
