"""``strongroom hook``: what an agent's program runs at the start, at each prompt and at the end of a session.

Exit code 0 whatever happens, and nothing on stdout but an answer: another code would discard the person's prompt.
"""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from server.cli.local_server import WITHIN_S
from server.hook_dialects import CLAUDE_CODE, DIALECTS

if TYPE_CHECKING:
    from server.hooks import HookRun
    from server.settings import LoadedSettings

LOG = "hook.log"
_LOG_BYTES = 64 * 1024


def add_to(app: typer.Typer) -> None:
    app.command("hook")(hook)


def hook(
    ctx: typer.Context,
    event: Annotated[
        Literal["session-start", "prompt", "stop"],
        typer.Argument(metavar="EVENT", help="what happened"),
    ],
    *,
    client: Annotated[str, typer.Option(help="the program whose hook this is")] = CLAUDE_CODE,
    vault: Annotated[str, typer.Option(help="the vault; default: the project's, else main")] = "",
    url: Annotated[str, typer.Option(envvar="STRONGROOM_URL", help="a server, instead of the vault on disk")] = "",
    token_file: Annotated[str, typer.Option(envvar="STRONGROOM_TOKEN_FILE", help="its token; with --url")] = "",
    within: Annotated[
        float,
        typer.Option(
            envvar="STRONGROOM_HOOK_WITHIN",
            show_default=False,
            help="seconds after which it gives up; default: 3 to 60, by event",
        ),
    ] = 0.0,
    wait: Annotated[bool, typer.Option("--wait", help="stop: do the work here, and say what went wrong")] = False,
) -> None:
    """Answer a hook of an agent's program, such as Claude Code. Its JSON stands on stdin; whatever goes wrong, the
    session goes on."""
    from server.cli.hand_over import hand_over
    from server.cli.output import say
    from vaults.errors import InvalidArgument

    if client not in DIALECTS:
        raise InvalidArgument("--client", f"must be one of {', '.join(DIALECTS)}")
    if event == "stop" and not wait:
        given = {
            "--client": client,
            "--vault": vault,
            "--url": url,
            "--token-file": token_file,
            "--within": str(within) if within else "",
        }
        given = {**_global_options(ctx), **given}
        hand_over([word for name, value in given.items() if value for word in (name, value)])
        return
    answer = _run(ctx, (event, client), (url, vault, token_file), within if within > 0 else WITHIN_S[event])
    if answer is not None:
        say(answer)


def _global_options(ctx: typer.Context) -> dict[str, str]:
    """The options before the command, for a process that goes on with it."""
    given = ctx.find_root().obj
    named = {"--data": given.data, "--config": given.config} if given is not None else {}
    return {name: str(value.absolute()) for name, value in named.items() if value is not None}


def _run(ctx: typer.Context, hook: tuple[str, str], place: tuple[str, str, str], limit: float) -> str | None:
    """The answer of a hook. A failure is said on stderr and, where nobody may be reading that, kept in a file."""
    from server.cli.hook_vaults import load_hook_settings, open_local, open_remote
    from server.cli.output import say_on_stderr
    from server.cli.runtime import run_async
    from server.hooks import INPUT_BYTES, parse_input
    from vaults.errors import StrongroomError

    (event, client), (url, vault, _) = hook, place
    loaded: LoadedSettings | None = None
    try:
        hook_input = parse_input(sys.stdin.buffer.read(INPUT_BYTES + 1), client)
        if url:
            loaded = load_hook_settings(ctx, hook_input, vault, remote=True) if event == "stop" else None
            return run_async(_answer(event, limit, open_remote(loaded, hook_input, limit, place)))
        loaded = load_hook_settings(ctx, hook_input, vault, remote=False)
        return run_async(_answer(event, limit, open_local(loaded, hook_input, vault)))
    except StrongroomError as failure:
        reason = failure.message.removeprefix("Validation error: ")
    except TimeoutError:
        reason = "gave up, it took too long"
    except Exception as failure:  # noqa: BLE001  the edge: a hook that fails must not stop whoever runs it
        reason = f"failed ({type(failure).__name__})"
    say_on_stderr(f"strongroom hook: {reason}")
    if event == "stop" and loaded is not None:
        _keep_reason(loaded.data, reason)
    return None


def _keep_reason(data: Path, reason: str) -> None:
    """Add to the file of what went wrong, in a data folder that is there; it has a bound."""
    from vaults import clock
    from vaults.files.permissions import make_private_file, make_private_folder
    from vaults.transcripts.harvest_state import FOLDER

    file = data / FOLDER / LOG
    with suppress(OSError):
        if not data.is_dir():
            return
        make_private_folder(file.parent)
        make_private_file(file)
        kept = file.read_text(encoding="utf-8", errors="replace")[-_LOG_BYTES // 2 :]
        if file.stat().st_size > _LOG_BYTES:
            file.write_text(kept, encoding="utf-8")
        with file.open("a", encoding="utf-8") as log:
            log.write(f"{clock.now()} {reason}\n")


async def _answer(event: str, limit: float, opening: AbstractAsyncContextManager[HookRun]) -> str | None:
    import asyncio

    from server.hooks import EVENTS

    async with asyncio.timeout(limit), opening as opened:
        return await EVENTS[event](opened)
