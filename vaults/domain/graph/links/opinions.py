"""Recording people's opinions of links and suggestions, and revoking them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vaults import clock
from vaults.change_notes import ContentHash
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.graph.entities import entity_lookup
from vaults.domain.text.sanitize import to_one_line
from vaults.errors import Conflict, InvalidArgument, NotFound
from vaults.files.paths import parent_folder
from vaults.graph.link_feedback import link_trust
from vaults.graph.link_feedback.link_trust import Observation
from vaults.graph.names import note_names
from vaults.markdown.link_resolution import name_key
from vaults.vault import Vault

MAX_DAILY = 300
"""Max opinions of one principal that count per day."""

MAX_KEYS = 50
"""Max names of an entity that are looked up."""

MAX_LENGTH = 200
"""Max characters of a name."""

OpinionVerdict = Literal["accepted", "rejected", "never"]


@dataclass(frozen=True, slots=True)
class OpinionRequest:
    """An opinion to record."""

    entity: str  # a name of what the link leads to
    path: str | None  # the note that has the link, or for which it was suggested
    verdict: OpinionVerdict  # never: no longer suggest it in the folder of that note, or in ``folder``
    term: str | None = None
    folder: str | None = None  # "" for the whole vault


@dataclass(frozen=True, slots=True)
class LinkOpinion:
    """What is thought of links to an entity in a folder now: the ``mean`` of the posterior (0 to 1) and the ``points``
    it gives a suggestion. ``counted``: False for what the same principal said before that day. ``suppressed``: it is
    not suggested there."""

    entity: str
    folder: str
    counted: bool
    mean: float
    points: float
    suppressed: bool


async def record_opinion(vault: Vault, actor: Actor, request: OpinionRequest) -> LinkOpinion:
    """Record an opinion. Raises ``InvalidArgument``, ``NotFound`` for a note that does not exist."""
    path = await entity_lookup.require_note_path(vault, request.path) if request.path is not None else None
    if path is None and (request.verdict != "never" or request.folder is None):
        raise InvalidArgument("path", "is needed: the note the suggestion or link is about")
    entity = await find_entity_key(vault, request.entity)
    vault.check_writable()
    return await vault.db.write(lambda tx: _write_opinion(tx, actor.identity, entity, path, request))


async def find_entity_key(vault: Vault, entity: str) -> str:
    """The key of an entity by its name, or by the path of its note. Raises ``InvalidArgument``."""
    return (await find_entity_keys(vault, entity))[0]


async def find_entity_keys(vault: Vault, entity: str) -> list[str]:
    """The keys of all names of an entity, that of its title first."""
    try:
        path = await entity_lookup.find_note_path(vault, entity)
    except Conflict:  # several notes with this name share its key
        path = None
    found = await vault.db.read(lambda tx: _read_keys(tx, path)) or [name_key(entity)]
    if not found[0] or len(found[0]) > MAX_LENGTH:
        raise InvalidArgument("entity", f"must be a name, of at most {MAX_LENGTH} characters")
    return found


def _read_keys(tx: Reader, path: str | None) -> list[str]:
    row = tx.one("SELECT seq, title FROM notes WHERE path = :path", {"path": path})
    if row is None:
        return []
    note, title = row
    return list(dict.fromkeys([name_key(title), *sorted(note_names.read_keys(tx, note))]))[:MAX_KEYS]


def _write_opinion(tx: Writer, who: str, entity: str, path: str | None, request: OpinionRequest) -> LinkOpinion:
    folder = request.folder if request.folder is not None and request.verdict == "never" else parent_folder(path or "")
    if _count_today(tx, who) >= MAX_DAILY:
        counted = False
    elif request.verdict == "never":
        counted = link_trust.suppress(tx, who, entity, folder)
    else:
        counted = link_trust.observe(tx, [Observation(who, entity, path or "", request.verdict, request.term)]) > 0
    if counted:
        tx.note_change("link opinion", ContentHash(entity), None, request.verdict)
    return _read_opinion(tx, entity, folder, counted=counted)


def _count_today(tx: Reader, who: str) -> int:
    where = "who = :who AND at >= :day AND verdict IN ('accepted', 'rejected', 'suppressed')"
    return int(tx.value(f"SELECT COUNT(*) FROM link_feedback WHERE {where}", {"who": who, "day": clock.now()[:10]}))


def _read_opinion(tx: Reader, entity: str, folder: str, *, counted: bool) -> LinkOpinion:
    here, mean = link_trust.read_trust(tx, folder), link_trust.read_mean(tx, entity, folder)
    return LinkOpinion(
        entity=entity,
        folder=folder,
        counted=counted,
        mean=round(mean, 2),
        points=link_trust.to_points(mean),
        suppressed=entity in here.suppressed,
    )


async def unsuppress(vault: Vault, actor: Actor, entity: str, folder: str) -> LinkOpinion:
    """Allow suggesting an entity again in a folder ('': the vault), and discard earlier opinions of it there. Raises
    ``NotFound`` if it is not suppressed in exactly that folder."""
    key = await find_entity_key(vault, entity)
    vault.check_writable()

    def write(tx: Writer) -> LinkOpinion:
        if not link_trust.unsuppress(tx, actor.identity, key, folder):
            where = [each.folder or "the whole vault" for each in link_trust.read_suppressions(tx, key)]
            hint = f"it is suppressed in {', '.join(map(to_one_line, where[:5]))}" if where else "dashboard lists them"
            raise NotFound(f"{to_one_line(entity)} is not suppressed there", hint=hint)
        tx.note_change("link opinion", ContentHash(key), "suppressed", None)
        return _read_opinion(tx, key, folder, counted=True)

    return await vault.db.write(write)
