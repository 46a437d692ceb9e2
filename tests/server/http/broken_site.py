"""A server with several vaults, callers of each kind, odd tools and handlers that fail outside of dispatch."""

from __future__ import annotations

from auth.roles import Role
from tests.noted import folder, put
from tests.server.http import odd_tools
from tests.server.http.serving import raw

VAULTS = ("main", "other", "third", "busy", "strict")
ODD = "tests.server.http.odd_tools"


def break_handlers(server):
    """Handlers that fail outside dispatch: in themselves, and in what they return."""

    async def fail(ctx, params):
        raise RuntimeError(f"cannot open {odd_tools.SECRET}")

    async def unserialisable(ctx, params):
        return {"prompts": [odd_tools.SECRET]}

    entry = server.get_request_handler("tools/list")
    server.add_request_handler("prompts/get", entry.params_type, fail)
    server.add_request_handler("prompts/list", entry.params_type, unserialisable)


async def prepare(ground):
    await ground.control.write(lambda tx: tx.run("UPDATE vaults SET write_mode = 'off' WHERE name = 'strict'"))
    await ground.control.write(lambda tx: tx.run("UPDATE vaults SET preset = 'notes' WHERE name = 'third'"))
    put(folder(ground.loaded.data, "third"), {"plan.md": "---\nstatus: open\ntags: [a]\n---\n# Plan\nGo on.\n"})
    return {
        "reader": await ground.token("reader", Role.READER, "main"),
        "writer": await ground.token("writer", Role.WRITER, "main"),
        "stranger": await ground.token("stranger", Role.WRITER, "other"),
        "thirds": await ground.token("thirds", Role.WRITER, "third"),
        "fuller": await ground.token("fuller", Role.WRITER, "third", preset="full"),
    }


async def names(site, subject, vault="main", query=""):
    async with raw(site, subject, vault) as caller:
        return await shown(caller, query)


async def shown(caller, query=""):
    answer = await caller.post(caller.message("tools/list"), query=query)
    return {tool["name"]: tool for tool in answer.json()["result"]["tools"]}


def completion(value, name="id", uri="memory://{id}"):
    ref = {"type": "ref/resource", "uri": uri}
    return {"ref": ref, "argument": {"name": name, "value": value}}
