"""A memory: what it says, what it replaced and what replaced it, and the forms that change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from starlette.responses import Response

from server.dispatch import CallOutcome
from server.ui.memory_forms import FORMS, MemoryForm, form_named, shown_values
from server.ui.page import VaultPage
from server.ui.vault_view import AGREED, Complaint, VaultView, complaint_of
from vaults.memory_types import MEMORY_TYPES

CHAIN_LIMIT = 20
"""Versions followed in each direction."""

LINK_LIMIT = 50
"""Memories at the other end of links that are named by their titles."""

TOKENS = 100_000
TIERS = ("hot", "warm", "cold")


@dataclass(frozen=True, slots=True)
class Opened:
    """A memory with its links, the chain it stands in, oldest first, and the titles of memories it is linked with."""

    memory: Mapping[str, Any]
    links: Sequence[Mapping[str, Any]] = ()
    chain: Sequence[Mapping[str, Any]] = ()
    titles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refused:
    """A form that was not obeyed: which one, what was typed into it, and why."""

    form: MemoryForm
    typed: Mapping[str, str]
    complaint: Complaint


def is_memory_id(text: str) -> bool:
    """Whether this has the form of a memory's id."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


async def show(view: VaultView) -> Response:
    """The page."""
    return await _page(view)


async def change(view: VaultView) -> Response:
    """Do what one of its forms asks for, as the person, and say what became of it."""
    form, memory_id = form_named(view.text("do")), view.request.path_params["id"]
    if form is None:
        return view.go(f"memories/{memory_id}")
    before = await _read(view, memory_id)
    if isinstance(before, Complaint):
        return view.page("refused", here="", status=before.status, complaint=before)
    typed = {name: view.text(name) for name in form.fields}
    arguments = form.arguments(memory_id, typed, before)
    if arguments is None:
        return view.go(f"memories/{memory_id}?done=same")
    outcome = await view.ask(form.tool, **arguments)
    if outcome.question is not None:
        return _ask_first(view, form, typed, before)
    complaint = complaint_of(outcome)
    if complaint is not None:
        return await _page(view, Refused(form, typed, complaint))
    return view.go(_where_to(form, memory_id, outcome))


def _where_to(form: MemoryForm, memory_id: str, outcome: CallOutcome) -> str:
    if form.name == "purge":
        return "?done=purge"
    found = outcome.content["id"] if form.name == "supersede" else memory_id
    return f"memories/{found}?done={form.name}"


def _ask_first(view: VaultView, form: MemoryForm, typed: Mapping[str, str], memory: Mapping[str, Any]) -> Response:
    """The page that says what would be done, with the same form again and its person's word added."""
    hidden = {**typed, "do": form.name, AGREED: "yes"}
    address = f"{view.home}memories/{memory['id']}"
    return view.page("agree", here="", status=409, form=form, hidden=hidden, address=address, about=memory["title"])


async def _page(view: VaultView, refused: Refused | None = None) -> Response:
    opened = await _open(view, view.request.path_params["id"])
    if isinstance(opened, Complaint):
        return view.page("refused", here="", status=opened.status, complaint=opened)
    values = {form.name: shown_values(form, opened.memory) for form in FORMS}
    if refused is not None:
        # Saved again, it is meant for what is there now: both texts stand on the page.
        values[refused.form.name] = {**refused.typed, "expected_version": str(opened.memory["version"])}
    return view.page(
        "memory",
        here="",
        status=200 if refused is None else refused.complaint.status,
        memory=opened.memory,
        links=opened.links,
        chain=opened.chain,
        titles=opened.titles,
        values=values,
        refused=refused,
        types=MEMORY_TYPES,
        tiers=TIERS,
    )


async def _read(view: VaultView, memory_id: str) -> Mapping[str, Any] | Complaint:
    opened = await _open(view, memory_id, with_context=False)
    return opened if isinstance(opened, Complaint) else opened.memory


async def _open(view: VaultView, memory_id: str, *, with_context: bool = True) -> Opened | Complaint:
    outcome = await view.ask("memory_get", ids=[memory_id], max_tokens=TOKENS)
    complaint = complaint_of(outcome)
    if complaint is not None:
        return complaint
    if not outcome.content["memories"]:
        return Complaint("not_found", "there is no such memory, or it is not shared with you", status=404)
    memory = outcome.content["memories"][0]
    if not with_context:
        return Opened(memory)
    links = outcome.content["links"]
    return Opened(memory, links, await _follow(view, memory), await _read_titles(view, memory["id"], links))


async def _read_titles(view: VaultView, memory_id: str, links: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    named = {each["from_id"] for each in links} | {each["to_id"] for each in links if each["kind"] == "memory"}
    others = sorted(named - {memory_id})[:LINK_LIMIT]
    if not others:
        return {}
    outcome = await view.ask("memory_get", ids=others, max_tokens=TOKENS)
    return {each["id"]: each["title"] for each in outcome.content["memories"]} if outcome.ok else {}


async def _follow(view: VaultView, memory: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The memories this one came from and went into, itself among them; empty where it stands alone."""
    chain, seen = [memory], {memory["id"]}
    for name, place in (("supersedes", 0), ("superseded_by", None)):
        for _ in range(CHAIN_LIMIT):
            end = chain[0] if place == 0 else chain[-1]
            following = end.get(name)
            if not following or following in seen:
                break
            outcome = await view.ask("memory_get", ids=[following], max_tokens=TOKENS)
            if not outcome.ok or not outcome.content["memories"]:
                break  # purged, or not shared with this person
            seen.add(following)
            chain.insert(0 if place == 0 else len(chain), outcome.content["memories"][0])
    return chain if len(chain) > 1 else []


PAGE = VaultPage("memories/{id}", show, change)
