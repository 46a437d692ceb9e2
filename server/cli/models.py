"""``strongroom model …``."""

from __future__ import annotations

from typing import Annotated

import typer

from server.cli import model_recommendation


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(name="model", help="Prepare, describe and compare embedding models.", no_args_is_help=True)
    group.command("prepare")(prepare)
    group.command("info")(info)
    group.command("recommend")(model_recommendation.recommend)
    app.add_typer(group)


def prepare(ctx: typer.Context) -> None:
    """Make the serving copy of the model. It is verified against the original; nothing is done where it is there."""
    from server.cli.output import say
    from server.cli.runtime import load_settings

    loaded = load_settings(ctx)
    from vaults.embed.preparation import prepare_model

    model = prepare_model(loaded.settings.embedding)
    say(f"{model.identity.name} is ready in {model.folder}")


def info(
    ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False
) -> None:
    """Show which model is used. From where it comes, its digest and width."""
    from dataclasses import asdict

    from server.cli.output import say, say_json
    from server.cli.runtime import load_settings

    loaded = load_settings(ctx)
    from vaults.embed.engines import model_info

    found = asdict(model_info(loaded.settings.embedding))
    if as_json:
        say_json(found)
    else:
        for name, value in found.items():
            say(f"{name.replace('_', ' '):11} {'-' if value is None else value}")
