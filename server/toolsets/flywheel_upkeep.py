"""Flywheel's tools on links, names, schema, history and the server. Most are ours with other names for arguments: a
``ActionMapping`` says which; the answer is ours, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from server.toolsets.memories import WHOLE
from server.toolsets.old_tool import OldToolRefusal, OurTools, old_tool

Json = dict[str, Any]
Limit = Annotated[int | None, Field(ge=1)]

_MOST_ROWS = 200
_MOST_NODES = 10_000


@dataclass(frozen=True, slots=True)
class ActionMapping:
    """What an action becomes: a call of ours, named as in ``OldTool.calls``, and our names of its arguments. Without
    a counterpart: ``instead`` says what does it here."""

    call: str
    names: Mapping[str, str] = field(default_factory=dict)
    instead: str = ""


def _calls(mappings: Mapping[str, ActionMapping]) -> dict[str, str]:
    return {action: mapping.call for action, mapping in mappings.items()}


async def _call_mapped(ask: OurTools, mapping: ActionMapping, given: Mapping[str, Any]) -> Json:
    tool, _, action = mapping.call.partition(" ")
    if mapping.instead:
        raise OldToolRefusal(mapping.instead, "not_found")
    renamed = {ours: given[theirs] for theirs, ours in mapping.names.items() if given[theirs] is not None}
    most = _MOST_NODES if tool == "graph" else _MOST_ROWS
    if "limit" in renamed:
        renamed["limit"] = min(renamed["limit"], most)
    return await ask(tool, action=action or None, max_tokens=WHOLE, **renamed)


_OF_NOTE = {"path": "path", "entity": "entity", "limit": "limit"}
_GRAPH = {
    "analyse": ActionMapping(
        "graph analyse", {"analysis": "analysis", "folder": "folder", "days": "days", "limit": "limit"}
    ),
    "backlinks": ActionMapping("graph backlinks", _OF_NOTE),
    "forward_links": ActionMapping("graph forward_links", _OF_NOTE),
    "strong_connections": ActionMapping("graph strong_connections", _OF_NOTE),
    "path": ActionMapping("graph path", {"from": "path", "to": "to"}),
    "neighbors": ActionMapping("graph neighbors", {"path_a": "path", **_OF_NOTE}),
    "strength": ActionMapping("graph strength", {"path_a": "path", "path_b": "to"}),
    "cooccurrence_gaps": ActionMapping("graph cooccurrence_gaps", {"folder": "folder", "limit": "limit"}),
    "export": ActionMapping(
        "graph export", {"format": "format", "center_entity": "entity", "depth": "depth", "max_nodes": "limit"}
    ),
}


@old_tool(calls=_calls(_GRAPH))
async def graph(
    ask: OurTools,
    *,
    action: Literal[
        "analyse", "backlinks", "forward_links", "strong_connections", "path", "neighbors", "strength",
        "cooccurrence_gaps", "export",
    ],
    path: str | None = None,
    from_: str | None = None,
    to: str | None = None,
    path_a: str | None = None,
    path_b: str | None = None,
    entity: str | None = None,
    analysis: Literal[
        "orphans", "dead_ends", "sources", "hubs", "stale", "immature", "emerging_hubs", "centrality", "cycles"
    ] | None = None,
    folder: str | None = None,
    days: int | None = None,
    format: Literal["graphml", "json"] | None = None,
    center_entity: str | None = None,
    depth: int | None = None,
    max_nodes: int | None = None,
    limit: Limit = None,
) -> Json:  # fmt: skip
    """How notes hang together: what links where, paths, hubs and orphans, export."""
    given = {
        "path": path, "from": from_, "to": to, "path_a": path_a, "path_b": path_b, "entity": entity,
        "analysis": analysis, "folder": folder, "days": days, "format": format, "center_entity": center_entity,
        "depth": depth, "max_nodes": max_nodes, "limit": limit,
    }  # fmt: skip
    if action == "neighbors" and path_a and path_b:
        return await _shared_neighbors(ask, path_a, path_b)
    return await _call_mapped(ask, _GRAPH[action], given)


async def _shared_neighbors(ask: OurTools, one: str, other: str) -> Json:
    """What both notes are linked with."""
    near = await ask("graph", action="neighbors", path=one, max_tokens=WHOLE)
    also = await ask("graph", action="neighbors", path=other, max_tokens=WHOLE)
    paths = {each.get("path") for each in also["nodes"]}
    common = [each for each in near["nodes"] if each.get("path") in paths]
    return {"path_a": one, "path_b": other, "common_neighbors": common, "count": len(common)}


_LINK = {
    "suggest": ActionMapping(
        "links suggest", {"text": "text", "note_path": "path", "limit": "limit", "detail": "detail"}
    ),
    "feedback": ActionMapping(
        "links feedback", {"entity": "entity", "verdict": "verdict", "note_path": "path", "context": "term"}
    ),
    "unlinked": ActionMapping("links unlinked", {"entity": "entity", "limit": "limit"}),
    "validate": ActionMapping("links validate", {"note_path": "path", "limit": "limit"}),
    "stubs": ActionMapping("links stubs", {"limit": "limit"}),
    "dashboard": ActionMapping("links dashboard"),
    "unsuppress": ActionMapping("links unsuppress", {"entity": "entity"}),
    "timeline": ActionMapping("links timeline", {"entity": "entity", "limit": "limit"}),
    "layer_timeseries": ActionMapping(
        "links timeline", instead="not kept here by layer: action timeline tells of an entity"
    ),
    "snapshot_diff": ActionMapping(
        "links timeline", instead="no snapshots are kept here: graph analyse tells how it is now"
    ),
}


@old_tool(calls=_calls(_LINK))
async def link(
    ask: OurTools,
    *,
    action: Literal[
        "suggest", "feedback", "unlinked", "validate", "stubs", "dashboard", "unsuppress", "timeline",
        "layer_timeseries", "snapshot_diff",
    ],
    text: str | None = None,
    note_path: str | None = None,
    detail: bool | None = None,
    entity: str | None = None,
    accepted: bool | None = None,
    context: str | None = None,
    limit: Limit = None,
) -> Json:  # fmt: skip
    """Links notes should have: suggest them, say what fits, find broken ones and stubs."""
    verdict = None if accepted is None else "accepted" if accepted else "rejected"
    given = {
        "text": text, "note_path": note_path, "detail": detail, "entity": entity, "verdict": verdict,
        "context": context, "limit": limit,
    }  # fmt: skip
    return await _call_mapped(ask, _LINK[action], given)


_PAIR = {"secondary": "entity", "source_path": "entity", "source_name": "entity", "primary": "into",
         "target_path": "into", "target_name": "into"}  # fmt: skip
_ENTITY = {
    "list": ActionMapping("entities list", {"query": "contains", "category": "category", "limit": "limit"}),
    "alias": ActionMapping("entities alias", {"entity": "entity", "alias": "alias"}),
    "suggest_aliases": ActionMapping("entities suggest_aliases", {"limit": "limit"}),
    "merge": ActionMapping("entities merge", {**_PAIR, "dry_run": "dry_run"}),
    "suggest_merges": ActionMapping("entities suggest_merges", {"limit": "limit"}),
    "dismiss_merge": ActionMapping("entities dismiss_merge", _PAIR),
    "dismiss_prospect": ActionMapping("entities dismiss_prospect", {"prospect": "entity"}),
}


@old_tool(calls=_calls(_ENTITY))
async def entity(
    ask: OurTools,
    *,
    action: Literal["list", "alias", "suggest_aliases", "merge", "suggest_merges", "dismiss_merge", "dismiss_prospect"],
    query: str | None = None,
    category: str | None = None,
    entity: str | None = None,
    alias: str | None = None,
    primary: str | None = None,
    secondary: str | None = None,
    source_name: str | None = None,
    source_path: str | None = None,
    target_path: str | None = None,
    target_name: str | None = None,
    prospect: str | None = None,
    limit: Limit = None,
    dry_run: bool | None = None,
) -> Json:
    """People, things and ideas: list them, name and merge them."""
    given = {
        "query": query, "category": category, "entity": entity, "alias": alias, "primary": primary,
        "secondary": secondary, "source_name": source_name, "source_path": source_path, "target_path": target_path,
        "target_name": target_name, "prospect": prospect, "limit": limit, "dry_run": dry_run,
    }  # fmt: skip
    return await _call_mapped(ask, _ENTITY[action], given)


@old_tool(
    calls={"record": "corrections record", "list": "corrections list", "resolve": "corrections resolve",
           "undo": "history undo"}
)  # fmt: skip
async def correct(
    ask: OurTools,
    *,
    action: Literal["record", "list", "resolve", "undo"],
    path: str | None = None,
    entity: str | None = None,
    note: Annotated[str | None, Field(description="record: what is right")] = None,
    correction_id: str | None = None,
    limit: Limit = None,
) -> Json:
    """Say what is wrong, list and resolve that; undo takes the last change of notes back."""
    if action == "undo":
        return {"undone": True, **await ask("history", action="undo", path=path)}
    if action == "list":
        most = min(limit or 50, 100)
        found = await ask("corrections", action="list", subject=path, limit=most, max_tokens=WHOLE)
        return {"corrections": found["corrections"], "count": len(found["corrections"])}
    if action == "resolve":
        if not correction_id:
            raise OldToolRefusal("correction_id is required for action: resolve")
        done = await ask("corrections", action="resolve", id=correction_id, resolution="applied")
        return {"resolved": True, "correction": done["corrections"][0]}
    for name, value in (("path", path), ("entity", entity), ("note", note)):
        if not value:
            raise OldToolRefusal(f"{name} is required for action: record")
    kept = await ask(
        "corrections", action="record", kind="entity", subject=path, wrong=f"what is said of {entity}", right=note
    )
    return {"recorded": True, "correction": kept["corrections"][0]}


_SCHEMA = {
    "overview": ActionMapping("schema overview", {"folder": "folder"}),
    "field_values": ActionMapping("schema field_values", {"field": "field", "folder": "folder"}),
    "conventions": ActionMapping("schema conventions", {"folder": "folder"}),
    "folders": ActionMapping("schema folders", {"folder": "folder"}),
    "rename_field": ActionMapping(
        "schema rename_field", {"old_name": "field", "new_name": "to", "folder": "folder", "dry_run": "dry_run"}
    ),
    "rename_tag": ActionMapping(
        "schema rename_tag", {"old_name": "tag", "new_name": "to", "folder": "folder", "dry_run": "dry_run"}
    ),
    "migrate": ActionMapping(
        "schema migrate", {"field": "field", "mapping": "mapping", "folder": "folder", "dry_run": "dry_run"}
    ),
    "validate": ActionMapping("schema validate", {"folder": "folder"}),
}


@old_tool(calls=_calls(_SCHEMA))
async def schema(
    ask: OurTools,
    *,
    action: Literal[
        "overview", "field_values", "conventions", "folders", "rename_field", "rename_tag", "migrate", "validate"
    ],
    folder: str | None = None,
    field: str | None = None,
    old_name: str | None = None,
    new_name: str | None = None,
    from_value: str | None = None,
    to_value: str | None = None,
    dry_run: bool = True,
) -> Json:
    """Frontmatter fields and tags of the vault: look at them, rename and migrate them."""
    given = {
        "folder": folder, "field": field, "old_name": old_name, "new_name": new_name, "dry_run": dry_run,
        "mapping": {from_value: to_value} if from_value is not None and to_value is not None else None,
    }  # fmt: skip
    return await _call_mapped(ask, _SCHEMA[action], given)


_INSIGHTS = {
    "evolution": ActionMapping("insights evolution", {"entity": "entity", "path": "entity", "limit": "limit"}),
    "staleness": ActionMapping("insights staleness", {"threshold_days": "days", "limit": "limit"}),
    "context": ActionMapping("insights context", {"date": "date", "window_days": "days", "limit": "limit"}),
    "note_intelligence": ActionMapping("insights note_intelligence", {"entity": "entity", "path": "entity"}),
    "growth": ActionMapping("insights growth", {"by": "by"}),
}


@old_tool(calls=_calls(_INSIGHTS))
async def insights(
    ask: OurTools,
    *,
    action: Literal["evolution", "staleness", "context", "note_intelligence", "growth"],
    entity: str | None = None,
    path: str | None = None,
    threshold_days: int | None = None,
    date: str | None = None,
    window_days: int | None = None,
    period: Literal["week", "month", "year"] | None = None,
    limit: Limit = None,
) -> Json:
    """What time did to the vault: how things came about, what is stale, how it grew."""
    given = {
        "entity": entity, "path": path, "threshold_days": threshold_days, "date": date, "window_days": window_days,
        "by": {"year": "month"}.get(period or "", period), "limit": limit,
    }  # fmt: skip
    return await _call_mapped(ask, _INSIGHTS[action], given)


_DOCTOR = {
    "health": ActionMapping("doctor health"),
    "diagnosis": ActionMapping("doctor diagnosis"),
    "stats": ActionMapping("doctor stats"),
    "pipeline": ActionMapping("doctor pipeline"),
    "config": ActionMapping("doctor config"),
    "log": ActionMapping("doctor log", {"limit": "limit"}),
}


@old_tool(calls=_calls(_DOCTOR))
async def doctor(
    ask: OurTools,
    *,
    action: Literal["health", "diagnosis", "stats", "pipeline", "config", "log"] = "health",
    mode: Literal["get", "set"] = "get",
    limit: Limit = None,
) -> Json:
    """How the vault and its server are."""
    if action == "config" and mode == "set":
        raise OldToolRefusal("settings are set by whoever runs the server, not through a connection", "forbidden")
    return await _call_mapped(ask, _DOCTOR[action], {"limit": limit})


@old_tool(calls="reindex")
async def refresh_index(ask: OurTools) -> Json:
    """Build the index anew; it follows changes by itself."""
    return {"success": True, **await ask("reindex")}


@old_tool(calls="status")
async def init_semantic(ask: OurTools, *, force: bool = False) -> Json:  # noqa: ARG001  vectors follow by themselves
    """Say how far the vectors are; they are made by themselves."""
    now = await ask("status")
    model = now["embedding"]
    return {"success": model["status"] not in ("off", "failed"), "embedded": now["index"]["vectors"], **model}


@old_tool(calls="discover_tools")
async def discover_tools(ask: OurTools, *, query: str) -> Json:
    """Which tool fits a job."""
    found = await ask("discover_tools", query=query)
    tools = [{"name": each["name"], "description": each["purpose"]} for each in found["tools"]]
    return {"query": query, "tools": tools, "hint": "names of this server; yours do the same under other names"}


_POLICY = {
    "list": ActionMapping("policies list"),
    "validate": ActionMapping("policies validate", {"yaml": "content"}),
    "preview": ActionMapping("policies preview", {"policy": "name", "variables": "variables"}),
    "execute": ActionMapping("policies execute", {"policy": "name", "variables": "variables"}),
    "author": ActionMapping("policies author", {"name": "name", "yaml": "content"}),
    "revise": ActionMapping("policies revise", {"policy": "name", "yaml": "content"}),
}


@old_tool(calls=_calls(_POLICY))
async def policy(
    ask: OurTools,
    *,
    action: Literal["list", "validate", "preview", "execute", "author", "revise"],
    policy: str | None = None,
    name: str | None = None,
    yaml: str | None = None,
    variables: Json | None = None,
) -> Json:
    """Written procedures that change several notes as one: list, preview, execute; author and revise take YAML."""
    if action in ("author", "revise") and not yaml:
        raise OldToolRefusal(f"{action} takes the whole policy here, as yaml; strongroom import flywheel brings yours")
    return await _call_mapped(
        ask, _POLICY[action], {"policy": policy, "name": name, "yaml": yaml, "variables": variables}
    )
