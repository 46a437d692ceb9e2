"""The parts of the documentation that come from the code: the table of settings, the list of tools, the packages.

``python -m server.cli.reference`` (``make docs``) writes them between their markers; a test fails when they are stale.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from server.cli.package_graph import second_level_graph, top_level_graph

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

    from server.caller_views import View
    from server.tool_registry import ToolRegistry
    from server.tool_spec import ToolSpec
    from server.toolsets.old_tool import Toolset

ROOT = Path(__file__).resolve().parents[2]


def settings_table() -> str:
    """Every setting with default and meaning, from ``server.settings``."""
    from server.settings import Settings

    lines = ["| setting | default | meaning |", "|---|---|---|"]
    for section, fields in _sections(Settings):
        for name, field in fields.items():
            default = json.dumps(field.get_default(), ensure_ascii=False, default=list)
            lines.append(f"| `{section}.{name}` | `{default}` | {_cell(field.description)} |")
    return "\n".join(lines)


def _sections(settings: type[BaseModel]) -> Iterator[tuple[str, dict[str, FieldInfo]]]:
    """Each section's name and fields, and those of the groups in it; for sections that people name themselves, the
    fields of each."""
    from vaults.settings import SettingsSection

    for section, info in settings.model_fields.items():
        if isinstance(info.annotation, type):
            fields = info.annotation.model_fields
            groups = {name: each.annotation for name, each in fields.items() if isinstance(each.annotation, type)}
            nested = {name: kind for name, kind in groups.items() if issubclass(kind, SettingsSection)}
            yield section, {name: each for name, each in fields.items() if name not in nested}
            for name, kind in nested.items():
                yield f"{section}.{name}", kind.model_fields
        else:
            yield f"{section}.<name>", get_args(info.annotation)[1].model_fields


def tools_page() -> str:
    """Every tool with role, preset and arguments, from the registry; those that a setting asks for, too."""
    from server.settings import ENDPOINTS
    from server.tools import discover

    parts = []
    for spec in sorted(discover(endpoints=ENDPOINTS), key=lambda each: (each.group, each.name)):
        parts.append("\n".join(_tool_lines(spec)))
    return "\n\n".join(parts)


def line_kinds_table() -> str:
    """Every kind of line an import takes, but memories, which have a table of their own."""
    from vaults.domain.import_export.lines import LINE_KINDS

    rows = ["| kind | what | needs | may have |", "|---|---|---|---|"]
    for kind, model in LINE_KINDS.items():
        if kind != "memory":
            names: dict[bool, list[str]] = {True: [], False: []}
            for name, field in model.model_fields.items():
                names[field.is_required()].append(f"`{field.alias or name}`")
            rows.append(f"| `{kind}` | {_cell(model.__doc__)} | {', '.join(names[True])} | {', '.join(names[False])} |")
    return "\n".join(rows)


def costs_table() -> str:
    """What each preset costs: bytes of the list as sent, tokens of the part a model may be shown."""
    from auth.roles import Role
    from server.tool_spec import PRESETS
    from server.tools import discover

    registry = discover()
    lines = [
        "| preset | role | tools | bytes | with output schemas | tokens | with output schemas |",
        "|---|---|---|---|---|---|---|",
    ]
    for preset in PRESETS:
        for role in Role:
            lines.append(f"| {preset} | {role.label} | {_cost(registry, (role, preset, 'auto'))} |")
    return "\n".join(lines)


def _cost(registry: ToolRegistry, view: View) -> str:
    from server.mcp_bridge.catalogue import ToolCatalogue
    from vaults.search import tokenizer

    page = ToolCatalogue(registry).page(view, None)
    tools = page.model_dump(mode="json", by_alias=True, exclude_none=True)["tools"]
    bare = [{key: value for key, value in tool.items() if key != "outputSchema"} for tool in tools]
    sizes = [len(json.dumps(each, ensure_ascii=False, separators=(",", ":")).encode()) for each in (bare, tools)]
    shown = ("name", "description", "inputSchema")  # what clients put before a model
    tokens = [
        tokenizer.count_tokens(json.dumps([{key: tool[key] for key in keys} for tool in tools], ensure_ascii=False))
        for keys in (shown, (*shown, "outputSchema"))
    ]
    return " | ".join(f"{number:,}" for number in (len(tools), *sizes, *tokens))


def old_names_page() -> str:
    """Every toolset: what its list costs beside the one the system publishes, its tools, and our call that decides who
    may use each. Numbers are those of a server whose settings ask for nothing more."""
    from server.tools import discover
    from server.toolsets.registry import all_toolsets

    registry = discover()
    rows = [
        f"| [{each.system}](#{_anchor(each.system)}) | `?tools={each.name}` | {_old_cost(registry, each)} |"
        for each in all_toolsets()
    ]
    head = ["| system | asked for as | tools | tokens of the list | of theirs |", "|---|---|---|---|---|", *rows]
    return "\n\n".join(["\n".join(head), *(_old_names_section(registry, each) for each in all_toolsets())])


def _anchor(heading: str) -> str:
    return "".join(each for each in heading.lower() if each.isalnum() or each in "- ").replace(" ", "-")


def _old_cost(registry: ToolRegistry, toolset: Toolset) -> str:
    from auth.roles import Role
    from vaults.search import tokenizer

    shown = [
        {
            "name": each.name,
            "description": each.description,
            "inputSchema": each.input_schema_for(registry, Role.ADMIN, "auto"),
        }
        for each in toolset.visible(registry, Role.ADMIN, "auto")
    ]
    tokens = tokenizer.count_tokens(json.dumps(shown, ensure_ascii=False))
    return f"{len(shown)} | {tokens:,} | {toolset.published_tokens:,}"


def _old_names_section(registry: ToolRegistry, toolset: Toolset) -> str:
    lines = [f"## {toolset.system}", "", "| tool | here | arguments |", "|---|---|---|"]
    for tool in toolset.tools:
        calls = dict.fromkeys(tool.calls.values())
        listed = [f"`{name}`{' °' if name in tool.hidden else ''}" for name in tool.arguments.model_fields]
        mark = "" if tool.is_there(registry) else " *"
        lines.append(f"| `{tool.name}`{mark} | {', '.join(f'`{call}`' for call in calls)} | {' '.join(listed)} |")
    return "\n".join(lines)


def _tool_lines(spec: ToolSpec) -> Iterator[str]:
    role = ", ".join(f"{name}: {each.role.label}".removeprefix(": ") for name, each in spec.actions.items())
    traits = [f"role {role}", f"preset {spec.preset}", "writes" if spec.writes else "reads"]
    traits += [f"only where `{spec.endpoint}` is set"] if spec.endpoint else []
    yield f"## `{spec.name}`\n"
    yield f"{spec.description}\n"
    yield f"{spec.group}; {'; '.join(traits)}\n"
    if set(spec.input_schema["properties"]) == {"session"}:
        yield "No arguments."
        return
    yield "| argument | type | meaning |"
    yield "|---|---|---|"
    required = spec.input_schema.get("required", [])
    for name, schema in spec.input_schema["properties"].items():
        if name == "session":
            continue
        mark = " (required)" if name in required else " °" if name in spec.hidden_args else ""
        yield f"| `{name}`{mark} | {_type(schema)} | {_cell(schema.get('description'))} |"


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"] if each.get("type") != "null")
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    bounds = [f"{sign} {schema[key]}" for key, sign in _BOUNDS if key in schema]
    return " ".join([str(kind), *bounds])


_BOUNDS = (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("maxLength", "≤"))


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|")


GENERATED_PARTS: tuple[tuple[str, str, Callable[[], str]], ...] = (
    ("docs/settings.md", "settings", settings_table),
    ("docs/tools.md", "costs", costs_table),
    ("docs/tools.md", "tools", tools_page),
    ("docs/import.md", "lines", line_kinds_table),
    ("docs/old-names.md", "toolsets", old_names_page),
    ("docs/architecture.md", "packages", top_level_graph),
    ("docs/architecture.md", "parts", second_level_graph),
)
"""File, marker, and what stands between ``<!-- marker:begin -->`` and ``<!-- marker:end -->``."""


def replace_between_markers(text: str, marker: str, part: str) -> str:
    """``text`` with the part between its markers replaced."""
    begin, end = f"<!-- {marker}:begin -->", f"<!-- {marker}:end -->"
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    return f"{head}{begin}\n{part}\n{end}{tail}"


def main() -> None:
    """Write every part."""
    for name, marker, make in GENERATED_PARTS:
        path = ROOT / name
        path.write_text(replace_between_markers(path.read_text(encoding="utf-8"), marker, make()), encoding="utf-8")


if __name__ == "__main__":
    main()
