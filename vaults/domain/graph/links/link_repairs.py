"""Repairing broken links: only a link's target changes, in the style it was written in, and every other byte stays. All
of it is one change, which is undone as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.actors import Actor
from vaults.domain.graph.links import broken_links
from vaults.domain.graph.links.broken_links import BrokenLink
from vaults.domain.graph.links.target_guesses import find_certain
from vaults.domain.notes.edit import many_notes
from vaults.domain.notes.edit.link_rewrites import frontmatter_problem
from vaults.domain.notes.edit.link_spelling import encode_destination, list_spellings, resolve_relative
from vaults.domain.notes.edit.many_notes import BulkEdit, BulkEditResult
from vaults.domain.notes.index import note_rows
from vaults.errors import InvalidArgument
from vaults.files.paths import parent_folder, to_note_path
from vaults.graph.names import note_names
from vaults.markdown.link import Link, LinkKind
from vaults.markdown.link_resolution import LinkTarget, name_key, resolve_link
from vaults.markdown.links import find_links
from vaults.markdown.scan import Scan, scan
from vaults.vault import Vault

LINKS_PER_STEP = 2000
"""Broken links examined in one step."""

MAX_EXAMINED = 6000
"""Max broken links examined in one call: other writers wait meanwhile."""

TOOL = "links"
_UNFIT = frozenset("[]|#\n\r\0\\")


@dataclass(frozen=True, slots=True)
class LinkRepairRequest:
    """Which links to repair. Without ``target``, each is set to its most likely note if that is certain."""

    path: str | None = None  # only the links of this note
    target: str | None = None  # only links to this name, which are set to the note ``to``
    to: str | None = None
    cursor: str | None = None
    dry_run: bool = True
    session: str | None = None


@dataclass(frozen=True, slots=True)
class LinkRepairs:
    """The links that were repaired, or would be. ``cursor``: where to continue, if one call did not examine all."""

    links: list[BrokenLink]
    done: BulkEditResult
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class RepairTarget:
    """The note a link should lead to. ``several``: the notes that its spellings may mean, by key."""

    path: str
    name: str
    several: Mapping[str, Sequence[LinkTarget]]


RepairPlan = Mapping[tuple[str, LinkKind, str], RepairTarget]
"""Repair targets by a link's note, kind, and target as written."""


async def repair_links(vault: Vault, actor: Actor, request: LinkRepairRequest) -> LinkRepairs:
    """Repair broken links. Raises ``InvalidArgument``, ``NotFound`` for the note ``to``, and the errors of
    ``rewrite_notes``: then nothing is changed."""
    if (request.to is None) != (request.target is None):
        raise InvalidArgument("to", "goes with target: the name that is linked to, and the note it is to mean")
    async with AsyncExitStack() as stack:
        if not request.dry_run:
            await stack.enter_async_context(vault.notes.writing())
        chosen, cursor = await _choose_repairs(vault, request)
        plan = await vault.db.read(lambda tx: _plan_repairs(tx, chosen))
        paths = list(dict.fromkeys(each.path for each, _ in chosen))
        found = await run_in(
            vault.shared.pool, many_notes.draft_rewrites, vault, paths, lambda path, text: repair_text(path, text, plan)
        )
        changed = {each.target for each in found.files}
        rights = [each for each, _ in chosen if each.path in changed]
        summary = f"set {len(rights)} broken links right"
        done = await many_notes.commit_drafts(
            vault, actor, found, BulkEdit(TOOL, summary, request.dry_run, request.session)
        )
    return LinkRepairs(rights, done, cursor)


ChosenRepairs = list[tuple[BrokenLink, tuple[str, str]]]
"""Broken links, each with the path and name of the note it should lead to."""


async def _choose_repairs(vault: Vault, request: LinkRepairRequest) -> tuple[ChosenRepairs, str | None]:
    wanted = request.to
    to = await vault.db.read(lambda tx: _find_named(tx, wanted)) if wanted is not None else None
    key = name_key(request.target) if request.target is not None else None
    chosen: ChosenRepairs = []
    cursor = request.cursor
    for _ in range(MAX_EXAMINED // LINKS_PER_STEP):
        page = await broken_links.find_broken_links(
            vault, broken_links.BrokenLinksRequest(request.path, LINKS_PER_STEP, cursor, within=False)
        )
        for each in page.links:
            right = to if to is not None and name_key(each.link.page) == key else None
            guess = find_certain(each.likely) if to is None and each.reason == "no note" else None
            if guess is not None:
                right = guess.path, guess.name
            if right is not None and each.reason in ("no note", "ambiguous"):
                chosen.append((each, right))
        cursor = page.cursor
        if cursor is None or len(chosen) + LINKS_PER_STEP > MAX_EXAMINED:
            break
    return chosen, cursor


def _find_named(tx: Reader, to: str) -> tuple[str, str]:
    note = note_rows.find_note(tx, to_note_path(to))[1]
    return note.path, note.title


def _plan_repairs(tx: Reader, chosen: ChosenRepairs) -> RepairPlan:
    known: dict[tuple[str, str], RepairTarget] = {}
    for _, (path, name) in chosen:
        if (path, name) not in known:
            keys = {name_key(path), name_key(name)}
            known[path, name] = RepairTarget(path, name, {key: note_names.find_candidates(tx, [key]) for key in keys})
    return {(each.path, each.kind, each.target): known[right] for each, right in chosen}


def repair_text(path: str, text: str, plan: RepairPlan) -> str:
    """Repair the links of the note at ``path`` that the plan names. A link that no spelling can repair stays; so do
    those in frontmatter if repairing them would make it unreadable. Pure."""
    found = scan(text)
    steps = list(_iter_rewrites(found, path, text, plan))
    new = _rewrite_links(text, steps)
    if any(link.kind == "frontmatter" for link, _ in steps) and frontmatter_problem(scan(new)) != frontmatter_problem(
        found
    ):
        new = _rewrite_links(text, [step for step in steps if step[0].kind != "frontmatter"])
    return new


def _iter_rewrites(scan: Scan, path: str, text: str, plan: RepairPlan) -> Iterator[tuple[Link, str]]:
    written: dict[tuple[LinkKind, str, bool], str | None] = {}
    for link in find_links(scan, text):
        right = plan.get((path, link.kind, link.target))
        if right is None:
            continue
        key = link.kind, link.target, text[link.target_start - 1 : link.target_start] == "<"
        if key not in written:
            written[key] = respell_link(link, path, right, bracketed=key[2])
        target = written[key]
        if target is not None and target != link.target:
            yield link, target


def _rewrite_links(text: str, steps: Sequence[tuple[Link, str]]) -> str:
    parts, at = [], 0
    for link, target in sorted(steps, key=lambda step: step[0].target_start):  # one may be inside another's text
        if link.target_start >= at:
            parts += [text[at : link.target_start], target]
            at = link.target_end
    return "".join([*parts, text[at:]])


def respell_link(link: Link, source: str, target: RepairTarget, *, bracketed: bool) -> str | None:
    """The target with which a link in the note at ``source`` leads to the right note; None if there is none."""
    for page in _iter_spellings(link, source, target):
        written = encode_destination(page, link.target, bracketed=bracketed) if link.kind == "markdown" else page
        new = replace(link, target=written)
        if resolve_link(new, source, target.several.get(name_key(new.page), ())) == target.path:
            return written
    return None


def _iter_spellings(link: Link, source: str, target: RepairTarget) -> Iterator[str]:
    """Pages to try: the matching name, then paths in the style of the link."""
    if link.kind != "markdown" and "/" not in link.page and not _UNFIT & set(target.name) and target.name.strip():
        yield target.name.strip()
    folder = parent_folder(source)
    meant = resolve_relative(link.page, folder) if link.kind == "markdown" else link.page.strip("/")
    yield from list_spellings(link, folder, meant or "", target.path, folder)
