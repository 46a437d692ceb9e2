"""From the turns of a conversation to the memories worth keeping, and what of the former ones is void.

Deterministic: the same turns give the same memories. A conversation that has grown keeps what was found, under the same
external ids, but for open ends that were gone on with and runs that were completed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from vaults.transcripts.extraction.complaints import find_complaints_settled
from vaults.transcripts.extraction.extracted_memory import ExtractedMemory, ExtractionKind, external_id, name_prefix
from vaults.transcripts.extraction.fixes import find_fixes
from vaults.transcripts.extraction.kinds import DEFAULT_KINDS, KINDS
from vaults.transcripts.extraction.open_ends import find_open_ends
from vaults.transcripts.extraction.statements import find_statements
from vaults.transcripts.extraction.tool_memories import find_changed_files, find_commands
from vaults.transcripts.extraction.work_steps import read_steps
from vaults.transcripts.transcript import Conversation


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a conversation holds. ``memories``: by external id, in the order of their last turns; ``void``:"
    " external ids
    of former ones that are no longer so."""

    memories: dict[str, ExtractedMemory]
    void: frozenset[str]


def extract(
    conversation: Conversation,
    reader: str,
    former: Iterable[str] = (),
    kinds: Collection[ExtractionKind] = DEFAULT_KINDS,
) -> Extraction:
    """The memories of ``kinds`` in a conversation, from its first turn on. ``former``: external ids of what was made
    of it before; ids of other conversations among them are let alone."""
    prefix = name_prefix(reader, conversation.id)
    found = sorted(_find(conversation, frozenset(kinds)), key=lambda each: (each.turns[-1], each.turns[0], each.kind))
    memories: dict[str, ExtractedMemory] = {}
    for each in found:
        memories.setdefault(external_id(prefix, each), _trust_no_more_than_its_kind(each))
    return Extraction(memories, frozenset(name for name in former if name.startswith(prefix) and name not in memories))


def _trust_no_more_than_its_kind(memory: ExtractedMemory) -> ExtractedMemory:
    """Rules were measured where they were written; how good their kind is elsewhere bounds what they are trusted."""
    return replace(memory, confidence=min(memory.confidence, KINDS[memory.kind].precision))


def _find(conversation: Conversation, kinds: frozenset[ExtractionKind]) -> Iterable[ExtractedMemory]:
    steps = list(read_steps(conversation))
    if kinds & {"decision", "preference"}:
        yield from (each for each in find_statements(conversation, steps) if each.kind in kinds)
    if "fix" in kinds:
        fixes = find_fixes(conversation, steps)
        yield from fixes
        yield from find_complaints_settled(conversation, steps, fixes)
    if "command" in kinds:
        yield from find_commands(conversation, steps)
    if "files" in kinds:
        yield from find_changed_files(conversation, steps)
    if "open" in kinds:
        yield from find_open_ends(conversation, steps)
