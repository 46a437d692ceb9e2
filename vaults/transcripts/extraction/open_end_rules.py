"""How somebody says that something is left to do."""

from __future__ import annotations

import re

from vaults.transcripts.extraction.spoken_text import words_of
from vaults.transcripts.extraction.statement_rules import StatementRule

WITHDRAWN = re.compile(r"\b(?:never ?mind|forget (?:it|about)|not needed|no need|found it|hat sich erledigt|egal)\b")
"""Words of the person that close what was open before them."""

_NOT_OPEN = re.compile(
    r"\bnothing (?:is )?(?:pending|left|open|missing)\b|\bno longer\b|\bnothing else\b|\bnichts (?:mehr|offen)\b"
)

OPEN_END_RULES: tuple[StatementRule, ...] = (
    StatementRule(
        "named-open",
        "open",
        re.compile(
            r"\b(?:to-?do|open(?: until then| points?| questions?| items?)?|left to do|remaining|follow-?ups?"
            r"|offen(?: ist| sind)?(?: noch)?|noch offen)\b ?[:–—]"
            r"|(?:^|[.:] )todo\b(?: for| is|:)|^next steps?:|\bstill open\b|\bnoch offen\b|\boffen ist\b|\b(?:is"
            r"|are|remains?) (?:still )?(?:pending|outstanding|unresolved|unsolved)\b"
        ),
        words_of("todo to open left remaining follow offen noch next pending outstanding unresolved unsolved"),
        0.67,
        speakers=("user", "agent"),
        unless=_NOT_OPEN,
    ),
    StatementRule(
        "not-done-yet",
        "open",
        re.compile(
            r"\b(?:isn't|aren't|hasn't|haven't|have not|has not) (?:been )?(?:covered|done|changed|looked|fixed"
            r"|tested|updated|finished|migrated|implemented|merged|deployed|in place|run)\b"
            r"|\b(?:not|no \w+ (?:is|has been)) (?:been )?(?:covered|done|changed|fixed|tested|updated|finished"
            r"|migrated|implemented|merged|deployed|written) (?:yet|so far|here)\b"
            r"|\b(?:have|has) no (?:tests?|tickets?|docs?|documentation|owner) (?:yet|so far)\b"
            r"|\bthere are no tests (?:for|yet)\b|\bskipped,? not fixed\b"
            r"|\bstill (?:needs?|has|have|fails?|failing|missing|assumes?|uses?|need to|to be|to do|has to|must"
            r"|required|requires)\b|\b(?:is|are) still (?:missing|failing|broken|open|red|not|to be)\b"
            r"|\bneeds? to be done\b|\bwhat(?:'s| is) left\b|\b(?:is|are) left\b|\byou(?:'ll)? (?:still"
            r"|will) need\b|\bfehl(?:t|en) noch\b|\bnoch nicht\b|\bmuss noch\b|\bmüssen noch\b|\bsteht noch aus\b"
            r"|\bi (?:can't|cannot|couldn't) (?:reach|verify|test|reproduce|access)\b|\bdon't have a fix\b"
            r"|\bdas habe ich noch nicht\b"
        ),
        words_of(
            "not isn't aren't hasn't haven't no has have skipped still needs need what's what left you you'll fehlt"
            " fehlen noch muss müssen steht can't cannot couldn't don't habe is are do"
        ),
        0.88,
        speakers=("user", "agent"),
        unless=re.compile(
            rf"{_NOT_OPEN.pattern}|\b(?:i (?:haven't|have not) (?:added|touched)|(?:which|that) i have not)\b"
            rf"|\bnot been changed, as\b"
        ),
    ),
    StatementRule(
        "for-later",
        "open",
        re.compile(
            r"\b(?:tomorrow|tonight|later|some other time|another time|next (?:week|sprint|month|session|monday"
            r"|tuesday|wednesday|thursday|friday)|on monday|after (?:the )?(?:\w+ )?(?:release|freeze|holiday"
            r"|vacation|lunch)"
            r"|for another day|not today|in a separate (?:pr|change|branch|commit)|separate(?:ly)?$|when i'm back"
            r"|morgen|später|nächste woche|nächsten sprint|ein andermal)\b"
        ),
        words_of(
            "tomorrow tonight later time next monday after day today separate separately back morgen später nächste"
            " nächsten andermal"
        ),
        0.83,
        unless=re.compile(
            r"\b(?:sooner or later|later(?: versions?| on it)|see you|talk (?:later|tomorrow)|moments? later"
            r"|later than|guten morgen)\b"
        ),
    ),
    StatementRule(
        "has-to-do",
        "open",
        re.compile(
            r"\b(?:i|we|somebody|someone)(?:'ll| will)? (?:still )?(?:still (?:have|need) to|have yet to"
            r"|need to still|must still|still must|still need)\b|\b(?:still|also) need to\b|\bdon't forget to\b"
            r"|\bremind me\b"
            r"|\bmuss ich (?:noch|erst)\b|\bmüssen wir noch\b|\blet me (?:ask|check with|talk to|think about)\b"
            r"|\b(?:i'll|i will|will) (?:do|ask|check|send|write|handle|look at|finish) [^?]*\b(?:myself|first|then"
            r"|later|with the team|part)\b"
        ),
        words_of("still yet need forget remind muss müssen let i'll i will"),
        0.67,
    ),
)
"""In the order in which they are tried."""
