"""``strongroom serve``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from auth.tokens import IssuedToken
    from server.settings import Loaded


def add_to(app: typer.Typer) -> None:
    app.command("serve")(serve)


def serve(
    ctx: typer.Context,
    *,
    host: Annotated[str | None, typer.Option(help="address to listen on; default 127.0.0.1")] = None,
    port: Annotated[int | None, typer.Option(help="port; default 8700, 0 takes a free one")] = None,
    metrics_host: Annotated[str | None, typer.Option(help="address of /metrics; default 127.0.0.1")] = None,
    metrics_port: Annotated[int | None, typer.Option(help="port of /metrics; default 9700, 0 = off")] = None,
    workers: Annotated[int | None, typer.Option(help="processes that serve; default 1")] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="PEM certificate chain; with --tls-key")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="PEM private key")] = None,
) -> None:
    """Run the HTTP server. The first start makes vault main and prints how to connect."""
    from server.cli.session import load_settings

    loaded = load_settings(
        ctx,
        server__host=host,
        server__port=port,
        ops__metrics_host=metrics_host,
        ops__metrics_port=metrics_port,
        server__workers=workers,
        server__tls_cert=str(tls_cert) if tls_cert else None,
        server__tls_key=str(tls_key) if tls_key else None,
    )
    raise typer.Exit(_serve(loaded))


def _serve(loaded: Loaded) -> int:
    from auth.settings import refuse_open_bind
    from server.cli.output import say
    from server.cli.session import run_async
    from server.http.app import Application, public_url
    from server.http.serve import ServeOptions, address, bind, run_server
    from server.version import version
    from vaults.errors import InvalidArgument

    server, ops = loaded.settings.server, loaded.settings.ops
    try:
        refuse_open_bind(loaded.settings.auth, server.host)
    except ValueError as failure:
        raise InvalidArgument("auth.mode", str(failure)) from None
    options = ServeOptions(
        ops=ops,
        workers=server.workers,
        tls_cert=server.tls_cert,
        tls_key=server.tls_key,
        trusted_proxies=server.trusted_proxies,
        connections=server.connections,
        connections_per_address=server.connections_per_address,
    )
    options.check()
    listener = bind(server.host, server.port)
    metrics = bind(ops.metrics_host, ops.metrics_port) if ops.metrics_port else None
    url = public_url(loaded.settings, *address(listener))
    token = run_async(_first_start(loaded))
    if token is not None:
        say(welcome(url, token.token))
    say(f"strongroom {version()} serves {url}/v/<vault>/mcp")
    return run_server(Application(loaded, address(listener)), options, listener, metrics)


async def _first_start(loaded: Loaded) -> IssuedToken | None:
    from server.cli.session import open_control
    from server.first_start import first_start

    async with open_control(loaded) as control:
        return await first_start(control, loaded)


def welcome(url: str, token: str) -> str:
    """What a new owner pastes into a client."""
    from server.connecting import over_http

    return f"""Vault main is ready. Its owner's token is shown this once; strongroom token create makes others.

{over_http(f"{url}/v/main/mcp", token)}"""
