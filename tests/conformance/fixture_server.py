"""The production application on a free port of 127.0.0.1, for tools that come from outside.

``fixture_server.py DATA fixtures``: with the suite's fixtures and without tokens, for which the suite has no option.
``fixture_server.py DATA plain [WORKERS [VAULT …]]``: as it is. Prints ``{"url": …, "token": …}``: the URL of
the first vault, a token for all of them.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp.server.lowlevel import Server
from mcp_types import ListPromptsResult, ListResourcesResult, ListResourceTemplatesResult, ListToolsResult

from auth.roles import Role
from server.http.app import ApplicationBuilder
from server.http.serve import ServeOptions, address, bind, run_server
from server.settings import LoadedSettings
from tests.conformance import questions
from tests.conformance.fixtures import fixtures
from tests.server.http.serving import ground, settings_of

JOINED = {
    "tools/list": (ListToolsResult, "tools"),
    "resources/list": (ListResourcesResult, "resources"),
    "resources/templates/list": (ListResourceTemplatesResult, "resource_templates"),
    "prompts/list": (ListPromptsResult, "prompts"),
}
NAMED = {
    "tools/call": ("test_", "json_schema_"),
    "resources/read": ("test://",),
    "prompts/get": ("test_",),
}
ONLY_THEIRS = ("subscriptions/listen",)


def extend(server: Server[Any]) -> None:
    """Graft the fixtures' handlers onto ``server``: lists are joined, the rest goes by name."""
    assert questions
    theirs = fixtures._lowlevel_server
    schema, their_schema = server.get_tool_input_schema, theirs.get_tool_input_schema
    server.get_tool_input_schema = lambda name: schema(name) or their_schema(name)
    for method, (kind, field) in JOINED.items():
        add(server, method, joined(server.get_request_handler(method), theirs.get_request_handler(method), kind, field))
    for method, prefixes in NAMED.items():
        add(server, method, by_name(server.get_request_handler(method), theirs.get_request_handler(method), prefixes))
    for method in ONLY_THEIRS:
        add(server, method, theirs.get_request_handler(method).handler)


def add(server, method, handler):
    entry = fixtures._lowlevel_server.get_request_handler(method)
    server.add_request_handler(method, entry.params_type, handler)


def joined(ours, theirs, kind, field):
    async def listed(ctx, params):
        found = [] if ours is None else getattr(await ours.handler(ctx, params), field)
        return kind(**{field: [*found, *getattr(await theirs.handler(ctx, params), field)]})

    return listed


def by_name(ours, theirs, prefixes):
    async def chosen(ctx, params):
        name = str(getattr(params, "name", None) or params.uri)
        return await (theirs if name.startswith(prefixes) else ours).handler(ctx, params)

    return chosen


async def token(loaded: LoadedSettings, vaults: Sequence[str]) -> str:
    """Of the owner of vaults made for it."""
    async with ground(loaded, vaults) as prepared:
        return await prepared.token("owner", Role.ADMIN, *vaults)


def main(folder: str, kind: str, workers: str = "1", *vaults: str) -> int:
    listener = bind("127.0.0.1", 0)
    host, port = address(listener)
    loaded = settings_of(Path(folder), **({"auth.mode": "none"} if kind == "fixtures" else {}))
    vaults = vaults or ("main",)
    issued = asyncio.run(token(loaded, vaults))
    print(json.dumps({"url": f"http://{host}:{port}/v/{vaults[0]}/mcp", "token": issued}), flush=True)
    make = ApplicationBuilder(loaded, (host, port), extend=extend if kind == "fixtures" else None)
    return run_server(make, ServeOptions(workers=int(workers)), listener)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
