"""Setting broken links right: only what a link gives as its target changes, in the style it was written in, and every
other byte stays. All of it is one change, which is taken back as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.graph.links import broken_links
from vaults.domain.graph.links.broken_links import Broken
from vaults.domain.graph.links.target_guesses import sure
from vaults.domain.memories.memory_model import Actor
from vaults.domain.notes.edit import many_notes
from vaults.domain.notes.edit.link_rewrites import problem
from vaults.domain.notes.edit.link_spelling import encoded, place, spellings
from vaults.domain.notes.edit.many_notes import Bulk, Rewritten
from vaults.domain.notes.index import note_rows
from vaults.errors import InvalidArgument
from vaults.files.paths import note_path, parent
from vaults.graph.names import note_names
from vaults.markdown.link import Kind, Link
from vaults.markdown.link_resolution import Candidate, name_key, resolve_link
from vaults.markdown.links import links
from vaults.markdown.scan import Scan, scan
from vaults.vault import Vault

MOST = 2000
"""Broken links looked at in one step."""

LOOKED_AT = 6000
"""Broken links looked at for those: who writes waits meanwhile."""

TOOL = "links"
_UNFIT = frozenset("[]|#\n\r\0\\")


@dataclass(frozen=True, slots=True)
class Asked:
    """``path``: only the links of this note; ``target``: only links to this name, which are set to the note ``to``;
    without, each is set to the one note it is most likely meant for, where that is beyond doubt."""

    path: str | None = None
    target: str | None = None
    to: str | None = None
    cursor: str | None = None
    dry_run: bool = True
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Mended:
    """``links``: those set right, or that would be; ``cursor``: where to go on, where one call does not look at all."""

    links: list[Broken]
    done: Rewritten
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Right:
    """What a link is to mean: the note at ``path``, called ``name``; ``several``: notes by the keys that spellings of
    it may have."""

    path: str
    name: str
    several: Mapping[str, Sequence[Candidate]]


Plan = Mapping[tuple[str, Kind, str], Right]
"""What links are to mean, by the path of their note, their kind and target as written."""


async def mend(vault: Vault, actor: Actor, asked: Asked) -> Mended:
    """Set broken links right. Raises ``InvalidArgument``, ``NotFound`` for the note ``to``, and what ``rewrite``
    raises: then nothing is changed."""
    if (asked.to is None) != (asked.target is None):
        raise InvalidArgument("to", "goes with target: the name that is linked to, and the note it is to mean")
    async with AsyncExitStack() as stack:
        if not asked.dry_run:
            await stack.enter_async_context(vault.notes.writing())
        chosen, cursor = await _chosen(vault, asked)
        plan = await vault.db.read(lambda tx: _plan(tx, chosen))
        paths = list(dict.fromkeys(each.path for each, _ in chosen))
        found = await run_in(
            vault.shared.pool, many_notes.drafts, vault, paths, lambda path, text: mended(path, text, plan)
        )
        changed = {each.target for each in found.files}
        rights = [each for each, _ in chosen if each.path in changed]
        summary = f"set {len(rights)} broken links right"
        done = await many_notes.made_of(vault, actor, found, Bulk(TOOL, summary, asked.dry_run, asked.session))
    return Mended(rights, done, cursor)


Chosen = list[tuple[Broken, tuple[str, str]]]
"""Broken links, and the path and name of the note each is to mean."""


async def _chosen(vault: Vault, asked: Asked) -> tuple[Chosen, str | None]:
    wanted = asked.to
    to = await vault.db.read(lambda tx: _named(tx, wanted)) if wanted is not None else None
    key = name_key(asked.target) if asked.target is not None else None
    chosen: Chosen = []
    cursor = asked.cursor
    for _ in range(LOOKED_AT // MOST):
        page = await broken_links.broken(vault, broken_links.Asked(asked.path, MOST, cursor, within=False))
        for each in page.links:
            right = to if to is not None and name_key(each.link.page) == key else None
            guess = sure(each.likely) if to is None and each.reason == "no note" else None
            if guess is not None:
                right = guess.path, guess.name
            if right is not None and each.reason in ("no note", "ambiguous"):
                chosen.append((each, right))
        cursor = page.cursor
        if cursor is None or len(chosen) + MOST > LOOKED_AT:
            break
    return chosen, cursor


def _named(tx: Reader, to: str) -> tuple[str, str]:
    note = note_rows.find(tx, note_path(to))[1]
    return note.path, note.title


def _plan(tx: Reader, chosen: Chosen) -> Plan:
    known: dict[tuple[str, str], Right] = {}
    for _, (path, name) in chosen:
        if (path, name) not in known:
            keys = {name_key(path), name_key(name)}
            known[path, name] = Right(path, name, {key: note_names.candidates(tx, [key]) for key in keys})
    return {(each.path, each.kind, each.target): known[right] for each, right in chosen}


def mended(path: str, text: str, plan: Plan) -> str:
    """The text of the note at a path with those of its links set right that a plan names. A link that cannot be
    written so that it means its note stays; so do those in frontmatter that could not be read any more. Pure."""
    found = scan(text)
    steps = list(_steps(found, path, text, plan))
    new = _rewritten(text, steps)
    if any(link.kind == "frontmatter" for link, _ in steps) and problem(scan(new)) != problem(found):
        new = _rewritten(text, [step for step in steps if step[0].kind != "frontmatter"])
    return new


def _steps(found: Scan, path: str, text: str, plan: Plan) -> Iterator[tuple[Link, str]]:
    written: dict[tuple[Kind, str, bool], str | None] = {}
    for link in links(found, text):
        right = plan.get((path, link.kind, link.target))
        if right is None:
            continue
        key = link.kind, link.target, text[link.target_start - 1 : link.target_start] == "<"
        if key not in written:
            written[key] = respelled(link, path, right, bracketed=key[2])
        target = written[key]
        if target is not None and target != link.target:
            yield link, target


def _rewritten(text: str, steps: Sequence[tuple[Link, str]]) -> str:
    parts, at = [], 0
    for link, target in sorted(steps, key=lambda step: step[0].target_start):  # one may stand in another's words
        if link.target_start >= at:
            parts += [text[at : link.target_start], target]
            at = link.target_end
    return "".join([*parts, text[at:]])


def respelled(link: Link, source: str, right: Right, *, bracketed: bool) -> str | None:
    """What a link of the note at ``source`` has to say so that it means its note; None where nothing does."""
    for page in _pages(link, source, right):
        written = encoded(page, link.target, bracketed=bracketed) if link.kind == "markdown" else page
        new = replace(link, target=written)
        if resolve_link(new, source, right.several.get(name_key(new.page), ())) == right.path:
            return written
    return None


def _pages(link: Link, source: str, right: Right) -> Iterator[str]:
    """Pages to try: by the name that fitted, then by path in the style of the link."""
    if link.kind != "markdown" and "/" not in link.page and not _UNFIT & set(right.name) and right.name.strip():
        yield right.name.strip()
    folder = parent(source)
    meant = place(link.page, folder) if link.kind == "markdown" else link.page.strip("/")
    yield from spellings(link, folder, meant or "", right.path, folder)
