"""What of a tool's failed run may be repeated: one line that says what went wrong.

Outputs are written by whoever wrote the file, page or test that was read. Only a line that looks like a program's
message is taken, it is cut short, and never one that speaks to a reader.
"""

from __future__ import annotations

import re

from vaults.transcripts.extraction.extracted_memory import cut

_EXCERPT_LENGTH = 160
_SHOWN = 2
"""Lines that are repeated: the first of a log often only says that something failed, the next one what."""

_SHORT = 4
"""Lines of an output whose first one is taken whatever it looks like."""

_LINES = 400
"""Lines of an output that are looked at, from its end: the last error is the one that counts."""

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_STRONG = re.compile(
    r"^(?:E\s+)?[\w.]*(?:Error|Exception|Failure|Fault|Panic)\b|\berror(?:\[\w+\])?:|\berror TS\d+|\bfatal:|\bpanic:"
    r"|undefined reference|command not found|No such file|permission denied|cannot |could not|can't |Unresolved"
    r"|DATA RACE|version solving|exec format|not found|not installed|refused|timed? ?out|\bconflict\b"
    r"|^[A-Z]\w+(?:::\w+)+: ",
    re.IGNORECASE,
)
_WEAK = re.compile(r"\b(?:error|fail(?:ed|ure|s)?|expected|exception|invalid|denied|missing|nan|unable|✖|✗|×)\b", re.I)
_NOISE = re.compile(
    r"^(?:\s*at |\s*File \"|Traceback|npm (?:ERR!|error) (?:code|A complete log)|\s*\^|=+$|-+$|\s*\d+ \|)"
)
_TO_A_READER = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|previous|prompt|above|rule)"
    r"|\b(?:the user|users?|human) (?:prefers?|wants?|has decided|decided|likes|said|asked)|\byou (?:must|should"
    r"|are|have to"
    r"|need to|will)\b|\b(?:assistant|ai agents?|language model|system prompt|claude|remember that|please|always"
    r"|never|from now on|curl|wget)\b|\b(?:wir|der nutzer|die nutzerin) (?:bevorzug|will|möchte)",
    re.IGNORECASE,
)
_VARYING = re.compile(r"0x[0-9a-f]+|\d+(?:[.,:]\d+)*|'[^']*'|\"[^\"]*\"", re.IGNORECASE)


def find_error(outcome: str) -> str:
    """The line of an output that says what went wrong, empty if none does."""
    lines = [_ANSI.sub("", line).strip() for line in outcome.splitlines()[-_LINES:]]
    usable = [line for line in lines if line and not _NOISE.match(line) and not _TO_A_READER.search(line)]
    for pattern in (_STRONG, _WEAK):
        if found := [line for line in usable if pattern.search(line[:500])][:_SHOWN]:
            return cut(" / ".join(cut(line, _EXCERPT_LENGTH) for line in found), _EXCERPT_LENGTH * 3 // 2)
    return cut(usable[0], _EXCERPT_LENGTH) if 0 < len(usable) <= _SHORT else ""


def signature(error: str) -> str:
    """An error without numbers, addresses and quoted names: equal for the same error of two runs."""
    return _VARYING.sub("", error)
