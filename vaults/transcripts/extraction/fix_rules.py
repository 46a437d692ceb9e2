"""The rules by which something counts as mended, and the words in which its cause is told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vaults.transcripts.extraction.extracted_memory import cut
from vaults.transcripts.extraction.tool_steps import EditedFile
from vaults.transcripts.extraction.work_steps import WorkStep


@dataclass(frozen=True, slots=True)
class FixRule:
    """A shape of repair. ``precision``: on the development half of the judged conversations, (right + 1)/(found +"
    " 2)."""

    name: str
    precision: float


EDITED_THEN_WORKED = FixRule("edited-then-worked", 0.94)
OTHER_COMMAND_THEN_WORKED = FixRule("other-command-then-worked", 0.75)
OTHER_FORM_WORKED = FixRule("other-form-worked", 0.67)
CHANGED_ON_COMPLAINT = FixRule("changed-on-complaint", 0.78)
ADVICE_CONFIRMED = FixRule("advice-confirmed", 0.75)

FIX_RULES = (
    EDITED_THEN_WORKED,
    OTHER_COMMAND_THEN_WORKED,
    OTHER_FORM_WORKED,
    CHANGED_ON_COMPLAINT,
    ADVICE_CONFIRMED,
)

COMPLAINT = re.compile(
    r"\b(?:fail(?:s|ed|ing|ure)?|crash(?:es|ed|ing)?|broken?|breaks|error|wrong|bug|bugs|slow|hangs?|stuck|flaky"
    r"|overlaps?|janks?|lags?"
    r"|leaks?|freezes|exits immediately|is red|are red|nan|oomkilled|mismatch|squashed|undefined|duplicated?"
    r"|(?:do|does|is|are|did|was|wo|ca)(?:es)?n't (?:\w+ )?(?:work|match|load|start|show|open|build|run|found|find"
    r"|appear|save|update|fit"
    r"|compile|respond|connect|render)\w*|not (?:working|found|showing|loading)|is missing|are missing|(?:is"
    r"|are) gone|takes (?:\d+ ?s|forever|ages)|it says|i get (?:a|an|the|this)|throws"
    r"|never (?:shows|loads|starts|ends|fires)|fires \d+ \w+|higher|lower than"
    r"|geht nicht|funktioniert nicht|fehler|kaputt|bricht|stürzt|fehlt|hängt|falsch|langsam|no hace nada"
    r"|no funciona)\b"
)
CONFIRMED = re.compile(
    r"\b(?:(?:that|this|it|which|now|plural|yes|yep)\b.{0,20}\b(?:works?|worked|fixed it|was it|did it|solved"
    r"|helped|did the trick)"
    r"|works? now|works|fixed it|solved|(?:geht|läuft|funktioniert|klappt) (?:jetzt|wieder|nun)|(?:jetzt"
    r"|nun) (?:geht|läuft|klappt))\b"
)
DENIED = re.compile(
    r"\b(?:still|not working|didn't|doesn't (?:work|help)|no change|same (?:error|problem)|immer noch|nicht)\b"
)

_INTENT = re.compile(
    r"^(?:ok(?:ay)?|sure|right|good|yes|well|so|now|first|great|done|sorry)?[,.! ]*(?:i'll|i will|i'm|let me|let's"
    r"|going to|i'd|i am"
    r"|ich (?:werde|schaue|lese|ändere|prüfe)|voy a|renamed|changed|added|done|adding|fixing|moving)\b"
    r"|^(?:ok(?:ay)?|sure|done|right)[.,!]?$"
)
_CAUSE_LENGTH, _SNIPPET = 260, 70


def find_cause(steps: Sequence[WorkStep]) -> str:
    """What the agent said aloud last before its first change, or else at first: statements, not announcements."""
    changed = next((number for number, step in enumerate(steps) if step.changes), len(steps))
    for step in (*reversed(steps[:changed]), *steps[changed:]):
        if step.by_user or not step.is_spoken:
            continue
        said = [
            e.text for e in step.sentences if not e.is_question and len(e.plain) > 15 and not _INTENT.search(e.plain)
        ]
        if said:
            return cut(" ".join(said[:2]), _CAUSE_LENGTH)
    return ""


def describe_change(changes: Sequence[EditedFile]) -> str:
    """The first change whose texts are known, shortened."""
    shown = next((each for each in changes if each.before.strip() and each.after.strip()), None)
    return f": `{cut(shown.before, _SNIPPET)}` → `{cut(shown.after, _SNIPPET)}`" if shown else ""
