"""Links offered with a write if requested: listed in the answer, and appended to the written text as
``→ [[A]], [[B]]``."""

from __future__ import annotations

from dataclasses import dataclass, field

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.graph.links import autolink_step
from vaults.domain.graph.links.autolink_step import Linker
from vaults.domain.graph.links.link_suggestions import LinkSuggestion, SuggestionOptions, suggest_links
from vaults.domain.notes.edit.edit_results import LinkIdea
from vaults.files.paths import parent_folder
from vaults.graph.names.autolinks import UNFIT_WORDS, find_node, spell_target, stem_of
from vaults.graph.note_graph import NO_NOTES
from vaults.markdown.encoding import dominant_newline
from vaults.markdown.link_resolution import LinkTarget
from vaults.markdown.scan import scan
from vaults.vault import Vault

MAX_OFFERED = 5
"""Max links offered."""

ARROW = "→ "

_OWN_LINE = ("#", "```", "~~~", "|", "<", "---", "===", "***", "___", "%%", "$$", "[^")
"""Starts of a last line to which nothing can be appended."""


@dataclass(frozen=True, slots=True)
class LinkOffer:
    """The links to offer. ``line``: the links as text to append, '' for none."""

    ideas: list[LinkIdea] = field(default_factory=list)
    line: str = ""


async def offer_links(vault: Vault, actor: Actor, text: str, path: str, *, auto_link: bool | None) -> LinkOffer:
    """Links for a text to be written into the note at ``path``, except to notes that it already links or that the text
    itself will link."""
    found = await suggest_links(vault, actor, text, path, SuggestionOptions(limit=4 * MAX_OFFERED))
    if not found:
        return LinkOffer()
    linker, linked = await vault.db.read(
        lambda tx: (autolink_step.read_linker(tx, vault, {parent_folder(path)}), _read_linked_paths(tx, vault, path))
    )
    if vault.shared.links.auto_link if auto_link is None else auto_link:
        done = await run_in(vault.shared.pool, linker.link_text, text, linker.options_for(path))
        linked |= {each.target for each in done.linked}
    kept = [each for each in found if each.path not in linked][:MAX_OFFERED]
    ideas = [LinkIdea(each.path, each.title, each.confidence, each.term) for each in kept]
    written = [link for each in kept if (link := _spell_link(linker, each, path))]
    return LinkOffer(ideas, ARROW + ", ".join(written) if written else "")


def _read_linked_paths(tx: Reader, vault: Vault, path: str) -> set[str]:
    """Paths of the notes that a note links to."""
    graph = vault.graph_cache.at(tx)
    node = graph.at(path)
    return {graph.nodes[each].path for each in graph.out.get(node.number, NO_NOTES)} if node is not None else set()


def _spell_link(linker: Linker, wanted: LinkSuggestion, path: str) -> str | None:
    node = find_node(linker.gazetteer, wanted.path)
    target = spell_target(node, LinkTarget(path, stem_of(path)), linker.gazetteer) if node is not None else None
    if target is None:
        return None
    bare = target == wanted.title or UNFIT_WORDS.search(wanted.title) is not None
    return f"[[{target}]]" if bare else f"[[{target}|{wanted.title}]]"


def append_link_line(text: str, line: str) -> str:
    """Append such a line after the last words of a text, or below them where nothing can follow on the line. A text
    that already ends in such links, or in unclosed code, stays as it is."""
    words = text.rstrip()
    last = words[max(words.rfind("\n"), words.rfind("\r")) + 1 :]
    plain = last.lstrip(" \t>")
    if not line or not words or ARROW + "[[" in last or scan(f"{words}\nx").is_code(len(words) + 1):
        return text
    if plain.startswith(_OWN_LINE) or "|" in plain:
        ending = dominant_newline(text)
        return f"{words}{ending}{ending}{line}{text[len(words) :]}"
    return f"{words} {line}{text[len(words) :]}"
