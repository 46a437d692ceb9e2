"""A note: rendered, with what it links to, what links to it and its history, and the forms that change it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from markupsafe import Markup
from starlette.responses import Response

from server.ui import note_list
from server.ui.catalogue import load_catalogue
from server.ui.note_diff import pair_lines
from server.ui.note_embeds import EmbeddedNote, draw_embeds, read_embeds, resolver_of
from server.ui.note_forms import FORMS, NoteForm, form_named
from server.ui.note_html import MAX_TEXT, NotePlaces, RenderedNote, Resolve, render_note
from server.ui.page import VaultPage
from server.ui.vault_view import AGREED, Complaint, VaultView, complaint_of
from vaults.markdown.encoding import to_lf_same_length
from vaults.markdown.frontmatter.parser import find_body_start

TOKENS = 25_000
"""Of a note on a page: what is longer is read on in the next."""

LINKS = 500
BACKLINKS = 50
CHANGES = 10


@dataclass(frozen=True, slots=True)
class OpenedNote:
    """``rendered`` None: it is shown as plain text. ``is_whole``: all of it was read, so it can be edited here."""

    read: Mapping[str, Any]
    rendered: RenderedNote | None
    links: Sequence[Mapping[str, Any]]
    backlinks: Mapping[str, Any]
    changes: Sequence[Mapping[str, Any]]

    @property
    def is_whole(self) -> bool:
        return self.read["first_line"] == 1 and self.read.get("next_line") is None


@dataclass(frozen=True, slots=True)
class RefusedNoteForm:
    """A form that was not obeyed: which one, what was typed into it, and why."""

    form: NoteForm
    typed: Mapping[str, str]
    complaint: Complaint


async def show(view: VaultView) -> Response:
    """The page of a note, or of a folder, whose path ends with a slash."""
    path = view.request.path_params["path"]
    if not path or path.endswith("/"):
        return await note_list.show(view, path)
    change = view.request.query_params.get("change")
    return await _show_change(view, path, change) if change else await _page(view, path)


async def change(view: VaultView) -> Response:
    """Do what one of its forms asks for, as the person, and say what became of it."""
    form, path = form_named(view.text("do")), view.request.path_params["path"]
    if form is None or not path or path.endswith("/"):
        return view.go(f"notes/{quote(path)}")
    typed = {name: view.text(name) for name in form.fields}
    outcome = await view.ask(form.tool, **form.arguments(path, typed))
    if outcome.question is not None:
        hidden = {**typed, "do": form.name, AGREED: "yes"}
        address = f"{view.home}notes/{quote(path)}"
        return view.page("agree", here="notes", status=409, form=form, hidden=hidden, address=address, about=path)
    complaint = complaint_of(outcome)
    if complaint is not None:
        return await _page(view, path, RefusedNoteForm(form, typed, complaint))
    done = form.done if outcome.content.get("changed", True) else "same"
    return view.go(f"notes/{quote(outcome.content.get('path') or path)}?done={done}")


async def _page(view: VaultView, path: str, refused: RefusedNoteForm | None = None) -> Response:
    opened = await _open(view, path)
    status = 200 if refused is None else refused.complaint.status
    if isinstance(opened, Complaint):
        missing = opened.code == "not_found"
        return view.page(
            "note_missing" if missing else "refused", here="notes", status=opened.status if refused is None else status,
            complaint=opened if refused is None else refused.complaint, path=path, refused=refused,
        )  # fmt: skip
    values = {form.name: dict.fromkeys(form.fields, "") for form in FORMS}
    values["save"] = {"content": opened.read["text"], "etag": opened.read["etag"]}
    if refused is not None:
        # Saved again, it is meant for what is there now: both texts stand on the page.
        values[refused.form.name] = {**refused.typed, "etag": opened.read["etag"]}
    return view.page(
        "note",
        here="notes",
        status=status,
        note=opened.read,
        opened=opened,
        values=values,
        refused=refused,
        folders=note_list.folders_above(path),
    )


async def _show_change(view: VaultView, path: str, ref: str) -> Response:
    outcome = await view.ask("history", action="diff", path=path, ref=ref, max_tokens=TOKENS)
    complaint = complaint_of(outcome)
    if complaint is not None:
        return view.page("refused", here="notes", status=complaint.status, complaint=complaint)
    text = outcome.content["diff"].removesuffix("\n").split("\n") if outcome.content["diff"] else []
    rows = await asyncio.to_thread(pair_lines, text)
    lines, cut = _lines_of(text), outcome.content["truncated"]
    return view.page("note_change", here="notes", path=path, ref=ref, lines=lines, rows=rows, cut=cut)


_DIFF_LINES = {"+": "added", "-": "removed", "@": "where"}


def _lines_of(diff: Sequence[str]) -> list[tuple[str, str]]:
    """Each line with what it is. Those before the first change name the files: their dashes remove nothing."""
    begins = next((number for number, line in enumerate(diff) if line.startswith("@@")), len(diff))
    return [
        ("where" if number < begins else _DIFF_LINES.get(line[:1], "same"), line) for number, line in enumerate(diff)
    ]


async def _open(view: VaultView, path: str) -> OpenedNote | Complaint:
    read, links, backlinks, changes = await view.ask_all(
        ("note_read", {"path": path, "part": "full", "from_line": view.first_line, "max_tokens": TOKENS}),
        ("graph", {"action": "forward_links", "path": path, "limit": LINKS, "max_tokens": TOKENS}),
        ("graph", {"action": "backlinks", "path": path, "limit": BACKLINKS, "max_tokens": TOKENS}),
        ("history", {"action": "log", "path": path, "limit": CHANGES, "max_tokens": TOKENS}),
    )
    complaint = complaint_of(read)
    if complaint is not None:
        return complaint
    # A note that was written a moment ago is not in the graph yet, and is shown without it.
    leads = links.content["links"] if links.ok else []
    rendered = None
    if len(read.content["text"]) <= MAX_TEXT:
        resolve = resolver_of(leads)
        embedded = await read_embeds(view, read.content["path"], read.content["text"], resolve)
        rendered = await asyncio.to_thread(_render, view, read.content, resolve, embedded)
    return OpenedNote(
        read.content,
        rendered,
        leads,
        backlinks.content if backlinks.ok else {"links": [], "total": 0},
        changes.content["changes"] if changes.ok else [],
    )


def _render(
    view: VaultView, read: Mapping[str, Any], resolve: Resolve, embedded: Sequence[EmbeddedNote]
) -> RenderedNote:
    text, base = read["text"], f"{view.home}notes/"
    start = find_body_start(text, f"\n{to_lf_same_length(text)}\n") if read["first_line"] == 1 else 0
    tick = _draw_box if view.writes else None
    first_line = read["first_line"] + text.count("\n", 0, start)
    return render_note(text[start:], NotePlaces(base, resolve), tick, first_line, draw_embeds(embedded, base))


def _draw_box(line: int, status: str) -> Markup:
    """A box one can tick: a button of the form for tasks, which stands at the end of the page."""
    is_done, say = status in "xX", load_catalogue().say
    return Markup('<button form="form-tick" class="box" name="task" value="{} {}" aria-label="{}">{}</button>').format(
        line,
        "open" if is_done else "done",
        say("note.reopen") if is_done else say("note.tick"),
        "\u2611" if is_done else "\u2610" if status == " " else f"[{status}]",
    )


PAGE = VaultPage("notes/{path:path}", show, change)
