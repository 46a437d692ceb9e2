"""``strongroom collection …``: folders that a vault reads besides its notes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from server.settings import LoadedSettings

WHOLE = {"max_tokens": 100_000}
"""Room for a thousand collections: a person is told all of them."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="the collection's name")]
InVault = Annotated[str, typer.Option("--vault", help="the vault")]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for programs")]
Include = Annotated[list[str] | None, typer.Option(help="files to read, such as guides/**/*.md; repeats")]
Exclude = Annotated[list[str] | None, typer.Option(help="what is left out, as in .gitignore; repeats")]
Context = Annotated[str | None, typer.Option(help="a line on what it is; its files are found by it")]
Workspace = Annotated[str | None, typer.Option(help="the workspace it belongs to")]
NoWatch = Annotated[bool, typer.Option("--no-watch", help="read its files on refresh only")]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(name="collection", help="Folders that vaults read besides notes.", no_args_is_help=True)
    group.command("list")(show_list)
    group.command("add")(add)
    group.command("remove")(remove)
    group.command("rename")(rename)
    group.command("update")(update)
    group.command("refresh")(refresh)
    app.add_typer(group)


def show_list(ctx: typer.Context, vault: InVault, as_json: Json = False) -> None:
    """List a vault's collections. Says what was left out of each, and why."""
    _tell(_run(ctx, vault, {"action": "list"}, as_json=as_json), as_json=as_json)


def add(
    ctx: typer.Context,
    name: Name,
    path: Annotated[Path, typer.Argument(metavar="PATH", help="the folder")],
    vault: InVault,
    kind: Annotated[Literal["markdown", "code", "documents"], typer.Option(help="what is read of it")] = "markdown",
    include: Include = None,
    exclude: Exclude = None,
    context: Context = None,
    workspace: Workspace = None,
    no_watch: NoWatch = False,
    as_json: Json = False,
) -> None:
    """Have a vault read a folder. A running server does it within seconds; else it is done here."""
    given = _given(include, exclude, context, workspace, False if no_watch else None) | {
        "kind": kind,
        "root": str(path.absolute()),
    }
    _tell(_run(ctx, vault, {"action": "add", "name": name, **given}, as_json=as_json), as_json=as_json)


def update(
    ctx: typer.Context,
    name: Name,
    vault: InVault,
    root: Annotated[Path | None, typer.Option(help="the folder, where it lies now")] = None,
    include: Include = None,
    exclude: Exclude = None,
    context: Context = None,
    workspace: Workspace = None,
    watch: Annotated[bool, typer.Option("--watch", help="follow its files")] = False,
    no_watch: NoWatch = False,
    as_json: Json = False,
) -> None:
    """Change what is given of a collection. Lists replace the former ones."""
    given = _given(include, exclude, context, workspace, watch if watch or no_watch else None)
    given |= {"root": str(root.absolute())} if root else {}
    _tell(_run(ctx, vault, {"action": "update", "name": name, **given}, as_json=as_json), as_json=as_json)


def rename(
    ctx: typer.Context,
    name: Name,
    new_name: Annotated[str, typer.Argument(metavar="NEW", help="its name from now on")],
    vault: InVault,
    as_json: Json = False,
) -> None:
    """Give a collection another name. Its documents stay as they are."""
    asked = {"action": "rename", "name": name, "new_name": new_name}
    _tell(_run(ctx, vault, asked, as_json=as_json), as_json=as_json)


def refresh(
    ctx: typer.Context,
    vault: InVault,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="the collection; without it all")] = None,
    as_json: Json = False,
) -> None:
    """Look at all files again now."""
    asked = {"action": "refresh"} | ({"name": name} if name else {})
    _tell(_run(ctx, vault, asked, as_json=as_json), as_json=as_json)


def remove(ctx: typer.Context, name: Name, vault: InVault, as_json: Json = False) -> None:
    """Remove a collection. Its documents go with it, its files stay."""
    from server.cli.output import say

    left = _run(ctx, vault, {"action": "remove", "name": name, "confirmed": True}, as_json=as_json)
    if as_json:
        _tell(left, as_json=True)
    else:
        say(f"collection {name} is removed")


def _given(
    include: Sequence[str] | None,
    exclude: Sequence[str] | None,
    context: str | None,
    workspace: str | None,
    watch: bool | None,
) -> dict[str, Any]:
    given = {
        "include": list(include) if include else None,
        "exclude": list(exclude) if exclude else None,
        "context": context,
        "workspace": workspace,
        "watch": watch,
    }
    return {name: value for name, value in given.items() if value is not None}


def _run(ctx: typer.Context, vault: str, arguments: dict[str, Any], *, as_json: bool) -> Sequence[Mapping[str, Any]]:
    """The collections after the call; exits with 1 where it was refused."""
    from server.cli.output import say_json, say_on_stderr
    from server.cli.runtime import load_settings, run_async

    content = run_async(_call(load_settings(ctx), vault, arguments))
    if (error := content.get("error")) is None:
        return list(content.get("collections", []))
    if as_json:
        say_json(content)
    else:
        say_on_stderr(f"strongroom: {error['message']}" + (f": {error['hint']}" if error.get("hint") else ""))
    raise typer.Exit(2 if error["code"] == "invalid_argument" else 1)


async def _call(loaded: LoadedSettings, vault: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call the tool, and wait until what it began is done: without a server, this process does it."""
    import asyncio

    from server.cli.runtime import open_all, require_vault
    from server.dispatch import dispatch
    from server.local_commands import command_caller

    async with open_all(loaded, ("server.tools.collections",)) as services:
        entry, caller = require_vault(services, vault), command_caller(services, vault, None)
        async with services.pool.lease(entry):  # what it began goes on between the calls
            outcome = await dispatch(services, caller, "collections", arguments | WHOLE)
            while arguments["action"] != "list" and outcome.ok and _is_reading(outcome.content):
                await asyncio.sleep(0.2)
                outcome = await dispatch(services, caller, "collections", {"action": "list"} | WHOLE)
            return dict(outcome.content)


def _is_reading(content: Mapping[str, Any]) -> bool:
    return any(each["state"] == "reading" for each in content.get("collections", []))


def _tell(found: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    from server.cli.output import say, say_json, say_table

    if as_json:
        say_json({"collections": list(found)})
        return
    if not found:
        say("no collections")
        return
    rows = [
        (
            each["name"],
            each["kind"],
            each["state"],
            f"{each['documents']}",
            f"{each['bytes']:,}",
            each["watching"],
            each["root"],
        )
        for each in found
    ]
    say_table(("NAME", "KIND", "STATE", "DOCUMENTS", "BYTES", "WATCHING", "ROOT"), rows)
    for each in found:
        if each.get("reason"):
            say(f"{each['name']}: {each['reason']}")
        for reason, count in each.get("left_out", {}).items():
            say(f"{each['name']}: {count} {reason}")
        for example in each.get("examples", []):
            say(f"{each['name']}: {example['path']}: {example['problem']}")
