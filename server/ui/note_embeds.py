"""Notes that a note shows in place: read as its reader, so that what they may not see is not there, and one level deep.

What an embedded note embeds is a link again. So a note that embeds itself by way of others ends, and a page costs no
more than the few notes it names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from server.dispatch import CallOutcome
from server.ui.catalogue import load_catalogue
from server.ui.note_html import NotePlaces, Resolve, find_embeds, render_note
from server.ui.vault_view import VaultView, complaint_of
from server.ui.visible_text import show
from vaults.markdown.encoding import to_lf_same_length
from vaults.markdown.frontmatter.parser import find_body_start

MOST = 10
"""Notes shown in place of one; further ones stay links."""

TOKENS = 2_000
"""Of each at most; what is longer is read on at its own page."""

LINKS = 200

_HEADING_ID = re.compile(r'(<h[1-6]) id="[^"]*"')
"""Ids of an embedded note would stand on the page twice."""


def _lead_nowhere(_: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class EmbeddedNote:
    """An embed as it was read. ``target``: as it is written; ``path`` None: no note is meant; ``text`` None: it is not
    shown, and ``why`` says so."""

    target: str
    path: str | None
    text: str | None = None
    why: str = ""
    is_cut: bool = False
    resolve: Resolve = _lead_nowhere


async def read_embeds(view: VaultView, path: str, text: str, resolve: Resolve) -> Sequence[EmbeddedNote]:
    """What a note shows in place, read as the person who looks at it."""
    targets = find_embeds(text)[:MOST]
    found = {target: path if target.startswith("#") else resolve(_split(target)[0]) for target in targets}
    calls: list[tuple[str, Mapping[str, Any]]] = []
    asked = {target: each for target, each in found.items() if each is not None and each != path}
    for target, other in asked.items():
        heading = _split(target)[1]
        part = {"part": "section", "heading": heading} if heading else {"part": "full"}
        calls.append(("note_read", {"path": other, "max_tokens": TOKENS, **part}))
        calls.append(("graph", {"action": "forward_links", "path": other, "limit": LINKS, "max_tokens": 10 * TOKENS}))
    outcomes = iter(await view.ask_all(*calls))
    say = load_catalogue().say
    embedded = []
    for target, meant in found.items():
        if target in asked:
            embedded.append(_take(target, meant, next(outcomes), next(outcomes)))
        else:
            why = say("note.embed_missing") if meant is None else say("note.embed_loop")
            embedded.append(EmbeddedNote(target, meant, why=why))
    return embedded


def _take(target: str, path: str | None, read: CallOutcome, links: CallOutcome) -> EmbeddedNote:
    complaint = complaint_of(read)
    if complaint is not None:
        return EmbeddedNote(target, path, why=complaint.message)
    is_cut, known = bool(read.content.get("truncated")), resolver_of(links.content["links"] if links.ok else ())
    return EmbeddedNote(target, path, _text_of(read.content), is_cut=is_cut, resolve=known)


def resolver_of(links: Sequence[Mapping[str, Any]]) -> Callable[[str], str | None]:
    """Where the links of a note lead, by their names as written."""
    return {each["as_written"].partition("#")[0].strip(): each["target"] for each in links if each["exists"]}.get


def draw_embeds(embedded: Sequence[EmbeddedNote], base: str) -> dict[str, Markup]:
    """Each as HTML for a page, by how it is written. ``base``: the address of the vault's notes. It parses: keep it off
    the event loop."""
    return {each.target: _draw(each, base) for each in embedded}


def _draw(each: EmbeddedNote, base: str) -> Markup:
    name, heading = _split(each.target)
    places = NotePlaces(base, each.resolve)
    link = Markup('<a class="wiki embed{}" href="{}">{}</a>').format(
        "" if each.path else " missing", places.address(each.path or name, heading), show(each.target)
    )
    if each.text is None:
        return Markup('<div class="embedded"><p class="meta">{} {}</p></div>').format(link, show(each.why))
    html = Markup(_HEADING_ID.sub(r"\1", str(render_note(each.text, places).html)))  # noqa: S704  it was cleaned
    more = load_catalogue().say("note.embed_cut") if each.is_cut else ""
    return Markup('<div class="embedded"><p class="meta">{} {}</p>{}</div>').format(link, more, html)


def _text_of(read: Mapping[str, Any]) -> str:
    """The text that was read, without its properties."""
    text: str = read.get("text") or ""
    start = find_body_start(text, f"\n{to_lf_same_length(text)}\n") if read.get("first_line", 1) == 1 else 0
    return text[start:]


def _split(target: str) -> tuple[str, str]:
    """The name of a note and the heading in it: a heading below another is written with a mark between."""
    name, _, heading = target.partition("#")
    return name.strip(), " > ".join(filter(None, (each.strip() for each in heading.split("#"))))
