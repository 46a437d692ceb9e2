"""``strongroom config …``."""

from __future__ import annotations

from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(name="config", help="Show and check the settings.", no_args_is_help=True)
    group.command("show")(show)
    group.command("check")(check)
    app.add_typer(group)


def show(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="the reference table, with defaults")] = False,
) -> None:
    """Show every setting as it holds now. Also where it was set; secrets are masked."""
    from server.cli.output import say, say_json, say_table
    from server.cli.runtime import load_settings
    from server.effective_settings import effective, to_text

    if markdown:
        from server.cli.reference import settings_table

        say(settings_table())
        return
    loaded = load_settings(ctx)
    found = effective(loaded.settings, loaded.sources)
    if as_json:
        say_json({"data": str(loaded.data), "settings": found})
        return
    say(f"data folder: {loaded.data}")
    say_table(
        ("SETTING", "VALUE", "SOURCE"), [(name, to_text(at["value"]), at["source"]) for name, at in found.items()]
    )


def check(ctx: typer.Context) -> None:
    """Check whether a server would start. Exit code 2 and one line if these settings keep it from it."""
    from auth.settings import refuse_open_bind
    from server.cli.output import say
    from server.cli.runtime import load_settings
    from server.http.options import ServeOptions
    from vaults.errors import InvalidArgument

    loaded = load_settings(ctx)
    server = loaded.settings.server
    try:
        refuse_open_bind(loaded.settings.auth, server.host)
    except ValueError as failure:
        raise InvalidArgument("auth.mode", str(failure)) from None
    ServeOptions(
        ops=loaded.settings.ops,
        workers=server.workers,
        tls_cert=server.tls_cert,
        tls_key=server.tls_key,
        trusted_proxies=server.trusted_proxies,
    ).check()
    say(f"ok: {len(loaded.sources)} settings differ from the defaults; data folder {loaded.data}")
