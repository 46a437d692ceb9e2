"""``strongroom serve``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auth.tokens import IssuedToken
    from ops.audit.entries import AuditEntry
    from server.http.options import ServeOptions
    from server.settings import LoadedSettings, Settings
    from server.setup.first_start import FirstStart


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
    first_token_ttl: Annotated[
        str | None, typer.Option(help="life of the token that the first start prints; default 90d")
    ] = None,
    no_first_token: Annotated[bool, typer.Option("--no-first-token", help="the first start makes no token")] = False,
) -> None:
    """Run the HTTP server. The first start makes vault main and prints how to connect."""
    from server.cli.runtime import load_settings
    from vaults.errors import InvalidArgument

    if no_first_token and first_token_ttl is not None:
        raise InvalidArgument("--no-first-token", "and --first-token-ttl exclude each other")
    loaded = load_settings(
        ctx,
        server__host=host,
        server__port=port,
        ops__metrics_host=metrics_host,
        ops__metrics_port=metrics_port,
        server__workers=workers,
        server__tls_cert=str(tls_cert) if tls_cert else None,
        server__tls_key=str(tls_key) if tls_key else None,
        auth__first_token_ttl="none" if no_first_token else first_token_ttl,
    )
    raise typer.Exit(_serve(loaded, _data_option(ctx)))


def _data_option(ctx: typer.Context) -> str:
    """What commands for this server are typed with after their names, a blank before it; "" for nothing."""
    import shlex

    from server.cli.runtime import GlobalOptions

    given: GlobalOptions = ctx.find_root().obj or GlobalOptions()
    return f" --data {shlex.quote(str(given.data))}" if given.data is not None else ""


def _serve(loaded: LoadedSettings, data_option: str) -> int:
    from server.cli.runtime import import_structlog

    import_structlog()

    from contextlib import ExitStack

    from auth.settings import refuse_open_bind
    from server.cli.output import say
    from server.cli.runtime import run_async
    from server.http.app import ApplicationBuilder, public_url
    from server.http.serve import address, bind, run_server
    from server.running_server import announce_url, hold_serving
    from server.version import version
    from vaults.errors import InvalidArgument

    server, ops = loaded.settings.server, loaded.settings.ops
    try:
        refuse_open_bind(loaded.settings.auth, server.host)
    except ValueError as failure:
        raise InvalidArgument("auth.mode", str(failure)) from None
    options = _options(loaded.settings)
    options.check()
    _check_cluster(loaded.settings)
    with hold_serving(loaded.data), ExitStack() as bound:
        listener = bound.enter_context(bind(server.host, server.port))
        metrics = bound.enter_context(bind(ops.metrics_host, ops.metrics_port)) if ops.metrics_port else None
        url = public_url(loaded.settings, *address(listener))
        first = run_async(_first_start(loaded))
        bound.pop_all()  # from here on they are the server's
        if first is not None and loaded.settings.auth.mode != "none":
            say(welcome(url, first.token, data_option))
            if has_console(loaded.settings, url):
                say(people_welcome(url, data_option))
        say(f"strongroom {version()} serves {url}/v/<vault>/mcp")
        with announce_url(loaded.data, url):
            return run_server(ApplicationBuilder(loaded, address(listener)), options, listener, metrics)


def _check_cluster(settings: Settings) -> None:
    """In the operator's own words, and not by the first of the processes that start. The database is asked by what
    comes next. Raises ``InvalidArgument``."""
    if settings.cluster.is_on:
        from server.cluster.refusals import refuse_for_cluster

        refuse_for_cluster(settings)


def _options(settings: Settings) -> ServeOptions:
    from server.http.options import ServeOptions

    server = settings.server
    return ServeOptions(
        ops=settings.ops,
        workers=server.workers,
        tls_cert=server.tls_cert,
        tls_key=server.tls_key,
        trusted_proxies=server.trusted_proxies,
        connections=server.connections,
        connections_per_address=server.connections_per_address,
    )


async def _first_start(loaded: LoadedSettings) -> FirstStart | None:
    import asyncio

    from ops.audit.links import INSTALLATION
    from server.cli.admin_acts import open_audit
    from server.cli.runtime import open_control
    from server.http.app import open_keys
    from server.setup.first_start import first_start

    async with open_control(loaded) as control:
        await asyncio.to_thread(open_keys, loaded)  # keys that do not open are said before the address is
        first = await first_start(control, loaded)
    async with open_audit(loaded) as audit:
        # The start itself changes nothing: where it cannot be recorded, the first change will tell.
        for act in _acts(loaded, first):
            await audit.try_append(INSTALLATION, act)
    return first


def _acts(loaded: LoadedSettings, first: FirstStart | None) -> Iterator[AuditEntry]:
    """The start, as the audit records it: what was set, secrets masked, and what was made for a new owner."""
    from ops.audit.entries import AuditEntry
    from server.cli.admin_acts import operator
    from server.effective_settings import effective
    from server.setup.first_start import FIRST_VAULT, OWNER_SUBJECT
    from server.version import version

    def act(tool: str, action: str, vault: str | None = None, **details: Any) -> AuditEntry:
        return AuditEntry("act", tool, "ok", actor=operator(), action=action, vault=vault, details=details)

    if first is not None:
        yield act("vault", "create", FIRST_VAULT)
        if first.token is not None:
            token = first.token
            about: dict[str, Any] = {"subject": OWNER_SUBJECT, "vaults": list(token.vaults), "role": token.role.label}
            yield act("token", "create", **about, token=token.id, expires_at=token.expires_at)
    held = effective(loaded.settings, loaded.sources)
    given = {name: each["value"] for name, each in held.items() if each["source"] != "default"}
    yield act("server", "start", version=version(), settings=given)


def has_console(settings: Settings, url: str) -> bool:
    """Whether people sign in to pages at ``url``. Where that was asked for and cannot be, the start says so next."""
    from auth.settings import has_local_login

    try:
        return settings.ui.enabled and has_local_login(settings.auth, url)
    except ValueError:
        return False


def people_welcome(url: str, data_option: str) -> str:
    """How the first person comes in, who lets in all others from there."""
    from server.setup.first_start import OWNER_SUBJECT

    return f"""People open {url}/ in a browser. This prints the link by which you come in, as admin of everything:
strongroom user invite {OWNER_SUBJECT}{data_option} --vault '*' --role admin
"""


def welcome(url: str, token: IssuedToken | None, data_option: str) -> str:
    """What a new owner pastes into a client, and the lines that make more tokens; ``data_option``: with which."""
    from server.setup.client_config import http_client_config
    from server.setup.first_start import FIRST_VAULT, OWNER_SUBJECT

    token_command = f"strongroom token create{data_option}"
    if token is None:
        return f"""Vault {FIRST_VAULT} is ready. No token was made; this makes one for you, and others like it:
{token_command} --subject {OWNER_SUBJECT} --vault {FIRST_VAULT} --role admin --ttl 90d
"""
    return f"""Vault {FIRST_VAULT} is ready. This token is shown this once: admin of {FIRST_VAULT} alone, until \
{token.expires_at}.

{http_client_config(f"{url}/v/{FIRST_VAULT}/mcp", token.token)}
A token for each agent, and your next one, is made by lines like these:
{token_command} --subject agent-1 --vault {FIRST_VAULT} --role writer --ttl 30d
{token_command} --subject {OWNER_SUBJECT} --vault {FIRST_VAULT} --role admin --ttl 90d
"""
