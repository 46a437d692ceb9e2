"""Scripts of calls with what their documentation says comes back.

A shape is what an answer must look like: an object has exactly the shape's keys, a list of one shape repeats it, a type
takes any value of it, ``ANY`` takes anything, all else must be equal. ``{name}`` in an argument stands for what an
earlier step kept under that name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.server.http.serving import LATEST_HANDSHAKE, MODERN, Site, raw

ANY = object()


@dataclass(frozen=True)
class Optional:
    """A value that may be null."""

    shape: Any


@dataclass(frozen=True)
class Step:
    tool: str
    arguments: Mapping[str, Any]
    shape: Any
    keep: Mapping[str, str] = field(default_factory=dict)  # name → path in the answer, such as memory.id
    is_error: bool = False
    text: str | None = None  # None: the answer as JSON; "*": any words


def differences(found: Any, shape: Any, at: str = "") -> Iterator[str]:  # noqa: C901  one case per kind of shape
    if shape is ANY:
        return
    if isinstance(shape, Optional):
        if found is not None:
            yield from differences(found, shape.shape, at)
    elif isinstance(shape, type):
        if not isinstance(found, shape):
            yield f"{at}: {found!r} is no {shape.__name__}"
    elif isinstance(shape, dict) and isinstance(found, dict):
        yield from (f"{at}.{name} is missing" for name in shape.keys() - found.keys())
        yield from (f"{at}.{name} is not documented" for name in found.keys() - shape.keys())
        for name in shape.keys() & found.keys():
            yield from differences(found[name], shape[name], f"{at}.{name}")
    elif isinstance(shape, list) and isinstance(found, list) and len(shape) == 1:
        for place, each in enumerate(found):
            yield from differences(each, shape[0], f"{at}[{place}]")
    elif found != shape:
        yield f"{at}: {found!r} instead of {shape!r}"


def look_up(content: Any, path: str) -> Any:
    for name in path.split("."):
        content = content[int(name)] if isinstance(content, list) else content[name]
    return content


def _filled(value: Any, kept: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith("{") and value.endswith("}") and value[1:-1] in kept:
        return kept[value[1:-1]]
    if isinstance(value, dict):
        return {name: _filled(each, kept) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, kept) for each in value]
    return value


async def call(site: Site, toolset: str, tool: str, arguments: Any = None, *, era: str = MODERN, role: str = "writer"):
    """The result of a call in the vault and under the name of a toolset."""
    async with raw(site, role, toolset) as caller:
        message = caller.message("tools/call", {"name": tool, "arguments": arguments or {}}, era)
        answer = (await caller.post(message, query=f"?tools={toolset}", era=era)).json()
        return answer.get("result", answer.get("error"))


async def listing(site: Site, toolset: str, role: str = "writer", query: str = "") -> list[dict[str, Any]]:
    async with raw(site, role, toolset) as caller:
        answer = await caller.post(caller.message("tools/list"), query=f"?tools={toolset}{query}")
        return answer.json()["result"]["tools"]


async def run_script(site: Site, toolset: str, steps: Sequence[Step]) -> dict[str, Any]:
    """Run the steps, in the two eras by turns; returns what was kept."""
    kept: dict[str, Any] = {}
    for number, step in enumerate(steps):
        era = (MODERN, LATEST_HANDSHAKE)[number % 2]
        answer = await call(site, toolset, step.tool, _filled(step.arguments, kept), era=era)
        where = f"step {number}, {step.tool}"
        assert "content" in answer, f"{where}: {answer}"
        content = answer["structuredContent"]
        assert answer["isError"] == step.is_error, f"{where}: {content}"
        text = answer["content"][0]["text"]
        if step.text is None:
            assert json.loads(text) == content, where
        else:
            assert step.text in ("*", text), where
        assert list(differences(content, _filled(step.shape, kept))) == [], f"{where}: {content}"
        kept |= {name: look_up(content, path) for name, path in step.keep.items()}
    return kept
