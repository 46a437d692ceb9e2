"""Links offered with what is written, for those who ask for them: named in the answer, and at the end of what is
written, as ``→ [[A]], [[B]]``."""

from __future__ import annotations

from dataclasses import dataclass, field

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph.links import autolink_step
from vaults.domain.graph.links.autolink_step import Linker
from vaults.domain.graph.links.link_suggestions import Ask, Suggestion, suggest
from vaults.domain.memories.memory_model import Actor
from vaults.domain.notes.edit.edit_results import LinkIdea
from vaults.files.paths import parent
from vaults.graph.names.autolinks import UNFIT_WORDS, node_at, spelled, stem_of
from vaults.graph.note_graph import NONE
from vaults.markdown.encoding import dominant_newline
from vaults.markdown.link_resolution import Candidate
from vaults.markdown.scan import scan
from vaults.vault import Vault

OFFERED = 5
"""Links that are offered at most."""

ARROW = "→ "

_OWN_LINE = ("#", "```", "~~~", "|", "<", "---", "===", "***", "___", "%%", "$$", "[^")
"""What a last line begins with that nothing can be put behind."""


@dataclass(frozen=True, slots=True)
class Offer:
    """``line``: the links as they are written, '' for none."""

    ideas: list[LinkIdea] = field(default_factory=list)
    line: str = ""


async def offered(vault: Vault, actor: Actor, text: str, path: str, *, auto_link: bool | None) -> Offer:
    """Links for a text that is to stand in the note at ``path``: none to what the note links already, or to what
    becomes a link in the text itself."""
    found = await suggest(vault, actor, text, path, Ask(limit=4 * OFFERED))
    if not found:
        return Offer()
    known, linked = await vault.db.read(
        lambda tx: (autolink_step.linker(tx, vault, {parent(path)}), _linked(tx, vault, path))
    )
    if vault.shared.links.auto_link if auto_link is None else auto_link:
        done = await run_in(vault.shared.pool, known.linked, text, known.wish(path))
        linked |= {each.target for each in done.linked}
    kept = [each for each in found if each.path not in linked][:OFFERED]
    ideas = [LinkIdea(each.path, each.title, each.confidence, each.term) for each in kept]
    written = [link for each in kept if (link := _link(known, each, path))]
    return Offer(ideas, ARROW + ", ".join(written) if written else "")


def _linked(tx: Reader, vault: Vault, path: str) -> set[str]:
    """Paths of the notes that a note links."""
    graph = vault.atlas.at(tx)
    node = graph.at(path)
    return {graph.nodes[each].path for each in graph.out.get(node.number, NONE)} if node is not None else set()


def _link(known: Linker, wanted: Suggestion, path: str) -> str | None:
    node = node_at(known.gazetteer, wanted.path)
    target = spelled(node, Candidate(path, stem_of(path)), known.gazetteer) if node is not None else None
    if target is None:
        return None
    bare = target == wanted.title or UNFIT_WORDS.search(wanted.title) is not None
    return f"[[{target}]]" if bare else f"[[{target}|{wanted.title}]]"


def ended_with(text: str, line: str) -> str:
    """``text`` with such a line behind its last words, or below them where nothing can stand behind. One that has such
    links already gets no more; nor does one that leaves code open."""
    words = text.rstrip()
    last = words[max(words.rfind("\n"), words.rfind("\r")) + 1 :]
    plain = last.lstrip(" \t>")
    if not line or not words or ARROW + "[[" in last or scan(f"{words}\nx").is_code(len(words) + 1):
        return text
    if plain.startswith(_OWN_LINE) or "|" in plain:
        ending = dominant_newline(text)
        return f"{words}{ending}{ending}{line}{text[len(words) :]}"
    return f"{words} {line}{text[len(words) :]}"
