"""Flywheel's tools that find, read and write notes and tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from server.toolsets.memories import WHOLE
from server.toolsets.old_tool import OldToolRefusal, OurTools, old_tool

Json = dict[str, Any]
Day = Annotated[str | None, Field(max_length=40, description="YYYY-MM-DD")]
NoteOrder = Literal["modified", "created", "title"]
Direction = Literal["asc", "desc"]

_MOST = 500


def _bounded(limit: float, most: int = _MOST) -> int:
    return min(max(int(limit), 1), most)


def _note_line(note: Mapping[str, Any]) -> Json:
    return {
        "path": note["path"],
        "title": note["title"],
        "modified": note["modified_at"],
        "created": note["created_at"],
        "tags": note["tags"],
        "frontmatter": note.get("frontmatter") or {},
    }


async def _notes(ask: OurTools, **wanted: Any) -> Json:
    found = await ask("find_notes", max_tokens=WHOLE, **wanted)
    notes = [_note_line(each) for each in found["notes"]]
    return {"total_matches": found["total"], "returned": len(notes), "notes": notes}


def _result(hit: Mapping[str, Any]) -> Json:
    known = {name: hit.get(name) for name in ("section", "tags", "backlinks", "outlinks")}
    return {
        "path": hit["id"],
        "title": hit["title"],
        "snippet": hit["text"],
        "score": hit["score"],
        "modified": hit.get("modified_at") or hit["created_at"],
        **{name: each for name, each in known.items() if each},
    }


@old_tool(calls={"query": "search", "similar": "search"})
async def search(
    ask: OurTools,
    *,
    action: Literal["query", "similar"] = "query",
    query: str | None = None,
    modified_after: Day = None,
    modified_before: Day = None,
    sort_by: NoteOrder = "modified",
    order: Direction = "desc",
    prefix: Annotated[bool, Field(description="of an entity's name")] = False,
    limit: float = 10,
    path: Annotated[str | None, Field(description="similar: the note")] = None,
) -> Json:
    """Ask the notes and memories of the vault; similar: notes like one. Start here."""
    most = _bounded(limit)
    dated = {"modified_after": modified_after, "modified_before": modified_before}
    if action == "similar":
        if not path:
            raise OldToolRefusal("action=similar requires path.")
        found = await ask("search", similar_to=path, kinds=["note"], limit=most, max_tokens=WHOLE)
        similar = [_result(each) for each in found["hits"]]
        return {"source": path, "method": _method(found), "count": len(similar), "similar": similar}
    if query and prefix:
        named = (await ask("entities", action="list", prefix=query, limit=_bounded(limit, 200)))["entities"]
        return {"query": query, "count": len(named), "entities": named}
    if not query and (modified_after or modified_before):
        return await _notes(ask, sort_by=sort_by, order=order, limit=most, **dated)
    if not query:
        raise OldToolRefusal("Provide a query or date filters (modified_after, modified_before).")
    found = await ask("search", query=query, links=True, limit=most, max_tokens=WHOLE, **dated)
    memories = [_memory(each) for each in found["hits"] if each["kind"] == "memory"]
    return {
        "method": _method(found),
        "query": query,
        "total_results": found["total"],
        "results": [_result(each) for each in found["hits"] if each["kind"] != "memory"],
        **({"memories": memories} if memories else {}),
    }


def _method(found: Mapping[str, Any]) -> str:
    return "fts5" if found["mode_used"] == "keyword" else str(found["mode_used"])


def _memory(hit: Mapping[str, Any]) -> Json:
    return {"id": hit["id"], "key": hit["title"], "value": hit["text"], "type": hit["type"], "score": hit["score"]}


@old_tool(calls="find_notes")
async def find_notes(
    ask: OurTools,
    *,
    folder: str | None = None,
    where: Annotated[Json | None, Field(description="frontmatter")] = None,
    has_tag: str | None = None,
    has_any_tag: list[str] | None = None,
    has_all_tags: list[str] | None = None,
    title_contains: str | None = None,
    modified_after: Day = None,
    modified_before: Day = None,
    sort_by: NoteOrder = "modified",
    order: Direction = "desc",
    limit: float = 50,
) -> Json:
    """List notes by folder, tags, frontmatter, title or date. For what they say, search."""
    return await _notes(
        ask, folder=folder, where=where, has_tag=has_tag, has_any=has_any_tag, has_all=has_all_tags,
        title_contains=title_contains, modified_after=modified_after, modified_before=modified_before,
        sort_by=sort_by, order=order, limit=_bounded(limit),
    )  # fmt: skip


@old_tool(calls={"structure": "note_read", "section": "note_read", "sections": "note_read", "raw": "note_read"})
async def read(
    ask: OurTools,
    *,
    action: Literal["structure", "section", "sections", "raw"] = "structure",
    path: str | None = None,
    include_content: bool = True,
    heading: str | None = None,
    pattern: Annotated[str | None, Field(description="of headings")] = None,
    max_content_chars: float = 20_000,
    max_section_chars: float = 10_000,
) -> Json:
    """Read a note: its structure, a section, sections by pattern, or all of it raw."""
    if not path:
        raise OldToolRefusal(f"action={action} requires path.")
    if action == "section":
        if not heading:
            raise OldToolRefusal("action=section requires heading.")
        note = await ask("note_read", path=path, part="section", heading=heading, max_tokens=WHOLE)
        title, level, body = _split_section(note.get("text") or "")
        text, cut = _cut(body, max_section_chars)
        told = {"path": note["path"], "heading": title, "level": level}
        return {**told, "content": text, "truncated": cut or note["truncated"]}
    if action == "sections":
        if not pattern:
            raise OldToolRefusal("action=sections requires pattern.")
        note = await ask("note_read", path=path, part="sections", pattern=pattern, max_tokens=WHOLE)
        sections = [
            {"path": note["path"], "heading": each["heading"], "level": each["level"], "line": each["line"],
             "content": each["text"]}
            for each in note.get("sections") or ()
        ]  # fmt: skip
        count = len(sections)
        return {"pattern": pattern, "total_count": count, "returned_count": count, "sections": sections}
    note = await ask("note_read", path=path, part="full", max_tokens=WHOLE)
    if action == "raw":
        text = note.get("text") or ""
        return {"path": note["path"], "rawContent": text, "content_hash": note["etag"], "length": len(text)}
    outline = (await ask("note_read", path=path, part="outline", max_tokens=WHOLE)).get("outline") or []
    text, cut = _cut(note.get("text") or "", max_content_chars)
    content = {"content": text, "truncated": cut, "returned_chars": len(text)} if include_content else {}
    return {
        "path": note["path"],
        "title": note["title"],
        "sections": [{"heading": each["text"], "level": each["level"], "line": each["line"]} for each in outline],
        "line_count": note["lines"],
        "frontmatter": note.get("frontmatter") or {},
        "tags": note.get("tags") or [],
        "aliases": note.get("aliases") or [],
        **content,
    }


def _split_section(text: str) -> tuple[str, int, str]:
    """The heading of a section, its level, and what stands below it; the heading may be underlined."""
    first, _, body = text.partition("\n")
    level = len(first) - len(first.lstrip("#"))
    if level == 0:
        underline, _, body = body.partition("\n")
        level = 1 if underline.startswith("=") else 2
    return first.lstrip("#").strip(), level, body.strip("\r\n")


def _cut(text: str, most: float) -> tuple[str, bool]:
    """The text up to the last paragraph that fits, and whether that is less than all."""
    if len(text) <= most:
        return text, False
    part = text[: int(most)]
    end = part.rfind("\n\n")
    return (part[:end] if end > 0 else part), True


def _mutation(changed: Mapping[str, Any], message: str, *, dry_run: bool = False, **more: Any) -> Json:
    known = {"preview": changed.get("diff"), "contentHash": changed.get("etag")}
    warnings = [{"type": "warning", "message": each, "suggestion": ""} for each in changed.get("warnings") or ()]
    return {
        "success": True,
        "message": f"Would have: {message}" if dry_run else message,
        "path": changed["path"],
        **{name: each for name, each in known.items() if each},
        **({"warnings": warnings} if warnings else {}),
        **({"dryRun": True} if dry_run else {"undoAvailable": bool(changed.get("change"))}),
        **more,
    }


Format = Literal["plain", "bullet", "task", "numbered", "timestamp-bullet"]


@old_tool(calls={"add": "note_edit", "remove": "note_edit", "replace": "note_edit"})
async def edit_section(
    ask: OurTools,
    *,
    action: Literal["add", "remove", "replace"],
    path: str,
    section: str,
    content: str | None = None,
    create_if_missing: bool = False,
    position: Literal["append", "prepend"] = "append",
    format: Format = "plain",
    skipWikilinks: bool = False,
    suggestOutgoingLinks: bool = False,
    pattern: Annotated[str | None, Field(description="remove: what")] = None,
    search: Annotated[str | None, Field(description="replace: what")] = None,
    replacement: str | None = None,
    mode: Literal["first", "last", "all"] = "first",
    useRegex: bool = False,
    commit: bool = False,
    dry_run: bool = False,
) -> Json:
    """Change a section of a note: add to it, remove or replace text in it."""
    sought = {"add": None, "remove": pattern, "replace": search}[action]
    needed = {"add": ("content", content), "remove": ("pattern", pattern), "replace": ("search", search)}[action]
    if not needed[1]:
        raise OldToolRefusal(f'action "{action}" requires {needed[0]}')
    adds = action == "add"
    changed = await ask(
        "note_edit",
        path=path,
        action=action,
        section=section,
        content=content if adds else None,
        position=position if adds else None,
        format=format if adds and format != "plain" else None,
        create_section=create_if_missing or None,
        **({"pattern" if useRegex else "search": sought, "occurrence": mode} if sought else {}),
        replacement=(replacement or "") if action == "replace" else None,
        auto_link=False if skipWikilinks else None,
        suggest_links=suggestOutgoingLinks or None,
        commit=commit or None,
        dry_run=dry_run,
    )
    words = {"add": "Added content to", "remove": "Removed content from", "replace": "Replaced content in"}[action]
    return _mutation(changed, f'{words} section "{section}" in {changed["path"]}', dry_run=dry_run)


@old_tool(calls={"create": "note_write", "move": "note_move", "rename": "note_move", "delete": "note_delete"})
async def note(
    ask: OurTools,
    *,
    action: Literal["create", "move", "rename", "delete"],
    path: str,
    content: str | None = None,
    frontmatter: Json | None = None,
    overwrite: bool = False,
    expectedHash: str | None = None,
    template: str | None = None,
    skipWikilinks: bool = False,
    suggestOutgoingLinks: bool = False,
    destination: Annotated[str | None, Field(description="move: new path")] = None,
    new_name: str | None = None,
    confirm: bool = False,
    updateBacklinks: bool = True,
    commit: bool = False,
    dry_run: bool = False,
) -> Json:
    """Make, move, rename or delete a note; links follow."""
    if action == "create":
        made = await ask(
            "note_write", path=path, content=content or None, frontmatter=frontmatter, template=template,
            mode="overwrite" if overwrite else "create", etag=expectedHash,
            auto_link=False if skipWikilinks else None, suggest_links=suggestOutgoingLinks or None,
            commit=commit or None, dry_run=dry_run,
        )  # fmt: skip
        return _mutation(made, f"Created note: {made['path']}", dry_run=dry_run)
    if action == "delete":
        if not (confirm or dry_run):
            raise OldToolRefusal("Deletion requires explicit confirmation (confirm: true)", "confirmation_required")
        gone = await ask("note_delete", path=path, confirmed=confirm or None, etag=expectedHash, dry_run=dry_run)
        return _mutation(gone, f"Deleted note: {path}", dry_run=dry_run)
    to = destination if action == "move" else _renamed(path, new_name)
    if not to:
        raise OldToolRefusal(f"action: {action} requires {'destination' if action == 'move' else 'new_name'}")
    moved = await ask("note_move", path=path, to=to, update_backlinks=updateBacklinks, dry_run=dry_run)
    changed = _mutation(moved, f"Moved note: {path} → {moved['path']}", dry_run=dry_run)
    return changed | {"updatedBacklinks": moved.get("links") or 0}


def _renamed(path: str, new_name: str | None) -> str | None:
    if not new_name:
        return None
    folder, slash, _ = path.rpartition("/")
    return f"{folder}{slash}{new_name.removesuffix('.md')}.md"


@old_tool(calls="frontmatter_update")
async def vault_update_frontmatter(
    ask: OurTools, *, path: str, frontmatter: Json, only_if_missing: bool = False, dry_run: bool = False
) -> Json:
    """Set frontmatter fields of a note."""
    changed = await ask(
        "frontmatter_update", path=path, set=frontmatter, only_if_missing=only_if_missing, dry_run=dry_run
    )
    names = ", ".join(frontmatter)
    return _mutation(changed, f"Updated frontmatter fields: {names}", dry_run=dry_run)


_STATUS = {"open": "open", "completed": "done", "cancelled": "cancelled"}
_NAMES = {" ": "open", "x": "completed", "X": "completed", "-": "cancelled", "done": "completed"}


def _task(task: Mapping[str, Any]) -> Json:
    status = str(task["status"])
    due = {"due_date": task["due"]} if task.get("due") else {}
    return {
        "path": task["path"],
        "line": task["line"],
        "text": task["text"],
        "status": _NAMES.get(status, status),
        "context": task["heading"],
        "tags": task["tags"],
        **due,
    }


@old_tool(calls={"list": "tasks list", "toggle": "tasks toggle"})
async def tasks(
    ask: OurTools,
    *,
    action: Literal["list", "toggle"] = "list",
    path: str | None = None,
    status: Literal["open", "completed", "cancelled"] = "open",
    has_due_date: bool | None = None,
    folder: str | None = None,
    tag: str | None = None,
    limit: float = 25,
    offset: float = 0,
    task: Annotated[str | None, Field(description="toggle: its text")] = None,
    dry_run: bool = False,
) -> Json:
    """List tasks of a note, a folder or the vault, or check and uncheck one."""
    if action == "toggle":
        if not path or not task:
            raise OldToolRefusal("action: toggle requires path and task")
        return await _toggle(ask, path, task, dry_run)
    first, many = max(0, int(offset)), _bounded(limit)
    asked = {"path": path, "folder": folder, "status": _STATUS[status], "tag": tag}
    page = await ask("tasks", action="list", limit=_bounded(first + many), max_tokens=WHOLE, **asked)
    found = [each for each in page["tasks"] if not has_due_date or each.get("due")]
    shown = [_task(each) for each in found[first : first + many]]
    counts = {name: await _count_tasks(ask, asked | {"status": ours}) for name, ours in _STATUS.items()}
    return {
        **({"path": path} if path else {}), "total_count": sum(counts.values()),
        **{f"{name}_count": count for name, count in counts.items()}, "returned_count": len(shown), "tasks": shown,
    }  # fmt: skip


async def _count_tasks(ask: OurTools, asked: Json) -> int:
    return int((await ask("tasks", action="list", limit=1, **asked))["total"])


async def _toggle(ask: OurTools, path: str, text: str, dry_run: bool) -> Json:  # noqa: FBT001  as it was called
    known = await ask("tasks", action="list", path=path, status="all", text=text, limit=1)
    if not known["tasks"]:
        raise OldToolRefusal(f'Task not found: "{text}"', "not_found")
    found = known["tasks"][0]
    done = _NAMES.get(str(found["status"])) == "completed"
    status = "open" if done else "done"
    changed = await ask("tasks", action="toggle", path=path, line=found["line"], status=status, dry_run=dry_run)
    return _mutation(changed, f"{'Unchecked' if done else 'Checked'}: {found['text']}", dry_run=dry_run)


@old_tool(calls="note_edit")
async def vault_add_task(
    ask: OurTools,
    *,
    path: str,
    section: str,
    task: str,
    position: Literal["append", "prepend"] = "append",
    completed: bool = False,
    commit: bool = False,
    skipWikilinks: bool = False,
    suggestOutgoingLinks: bool = False,
    preserveListNesting: bool = True,
    guardrails: Literal["warn", "strict", "off"] = "warn",
    dry_run: bool = False,
) -> Json:
    """Add a task to a section of a note."""
    changed = await ask(
        "note_edit", path=path, action="add", section=section, content=f"- [{'x' if completed else ' '}] {task}",
        position=position, preserve_nesting=preserveListNesting, guardrails=guardrails,
        auto_link=False if skipWikilinks else None, suggest_links=suggestOutgoingLinks or None,
        commit=commit or None, dry_run=dry_run,
    )  # fmt: skip
    return _mutation(changed, f'Added task to section "{section}" in {changed["path"]}', dry_run=dry_run)
