"""The picture of the packages in ``docs/architecture.md``, drawn from the imports of the source.

Imports inside functions count; imports for type checkers alone do not. An arrow that follows from two others is left
out, because a picture with every arrow shows nothing.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOP_PACKAGES = ("server", "ops", "auth", "vaults")

Arrows = Mapping[str, set[str]]


def top_level_graph() -> str:
    """The four packages; each arrow carries the number of modules that import across it."""
    importers: dict[tuple[str, str], int] = defaultdict(int)
    for module, targets in _imports().items():
        source = module.partition(".")[0]
        for target in {each.partition(".")[0] for each in targets} - {source}:
            importers[source, target] += 1
    lines = [f"    {source} -->|{count}| {target}" for (source, target), count in sorted(importers.items())]
    return "\n".join(["```mermaid", "graph TD", *lines, "```"])


def second_level_graph() -> str:
    """What each of the four packages is made of, and how its parts depend on each other."""
    imports = _imports()
    lines = ["```mermaid", "graph TD"]
    for top in TOP_PACKAGES:
        parts = _parts_of(top, imports)
        arrows: dict[str, set[str]] = {part: set() for part in parts.values()}
        for module, part in parts.items():
            arrows[part] |= {parts[each] for each in imports[module] if each in parts} - {part}
        if len(arrows) < 2:
            continue
        lines.append(f"    subgraph {top}")
        lines += [f'        {_id(part)}["{_label(part, parts)}"]' for part in sorted(arrows)]
        lines += [f"        {_id(a)} --> {_id(b)}" for a, b in _without_shortcuts(arrows)]
        lines.append("    end")
    return "\n".join([*lines, "```"])


@cache
def _imports() -> Arrows:
    """The modules each module imports, of our own. Reading them takes most of the time, and both pictures need it."""
    files = {_module_name(path): path for top in TOP_PACKAGES for path in (ROOT / top).rglob("*.py")}
    return {name: set(_targets(path, files)) - {name} for name, path in sorted(files.items())}


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _targets(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    for node in _running_code(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module in known:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module


def _running_code(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement but those that only a type checker sees."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            yield from _running_code(ast.Module(child.orelse, []))
        else:
            yield child
            yield from _running_code(child)


def _parts_of(top: str, imports: Arrows) -> dict[str, str]:
    """The part of each module: its package of the second level, or for a module that stands in ``top`` itself its own
    name. Modules there that import none of those packages, not even by another module, are one part, ``top``."""
    packages = {f"{top}.{path.parent.name}" for path in (ROOT / top).glob("*/__init__.py")}
    parts: dict[str, str] = {}
    for module in imports:
        if not module.startswith(f"{top}."):
            continue
        part = _second_level(module)
        is_base = part not in packages and packages.isdisjoint(map(_second_level, _reachable(module, imports)))
        parts[module] = top if is_base else part
    return parts


def _second_level(module: str) -> str:
    return ".".join(module.split(".")[:2])


def _without_shortcuts(arrows: Arrows) -> Iterable[tuple[str, str]]:
    """The arrows that no longer way stands for. Between parts of a circle every arrow is kept, and of several arrows
    into one circle the first by name."""
    reach = {part: _reachable(part, arrows) for part in arrows}

    def stands_for(each: str, part: str, target: str) -> bool:
        leads_on = each != target and target in reach[each] and part not in reach[each]
        return leads_on and (each not in reach[target] or each < target)

    for part in sorted(arrows):
        for target in sorted(arrows[part]):
            if part in reach[target] or not any(stands_for(each, part, target) for each in arrows[part]):
                yield part, target


def _reachable(start: str, arrows: Arrows) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = arrows[waiting.pop()] - found
        found |= new
        waiting.extend(new)
    return found


def _id(part: str) -> str:
    return part.replace(".", "_") + ("" if "." in part else "_base")


def _label(part: str, parts: Mapping[str, str]) -> str:
    if "." in part:
        return part.partition(".")[2]
    return ", ".join(sorted(module.partition(".")[2] for module, its in parts.items() if its == part))
