"""``strongroom licence …``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from auth.settings import PlanSettings
    from server.settings import LoadedSettings

NO_LIMIT_WORD = "none"
Number = Annotated[str | None, typer.Option(help=f"the new bound; {NO_LIMIT_WORD} lifts it altogether")]


def add_to(app: typer.Typer) -> None:
    group = typer.Typer(
        name="licence", help="Show and sign licences, which lift limits of plans.", no_args_is_help=True
    )
    group.command("show")(show)
    group.command("sign")(sign)
    group.command("key")(key)
    app.add_typer(group)


def show(
    ctx: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False
) -> None:
    """Show whether the licence holds. Also the id of this installation, to sign one for. Exit code 1: there is a
    licence and it does not hold."""
    from server.cli.output import say, say_json
    from server.cli.runtime import load_settings, run_async

    found = run_async(_show(load_settings(ctx)))
    if as_json:
        say_json(found)
    else:
        say(f"{found['state']}: {found['message']}")
        say(f"this installation: {found['machine']}")
    raise typer.Exit(0 if found["state"] in ("valid", "absent") else 1)


async def _show(loaded: LoadedSettings) -> dict[str, Any]:
    from dataclasses import asdict
    from datetime import UTC, datetime

    from auth.licence_file import LicenceFile
    from server.cli.runtime import open_control
    from vaults.registry import instance_id

    async with open_control(loaded) as control:
        machine = await instance_id(control)
    file = LicenceFile(loaded.data, loaded.settings.limits, machine)
    file.refresh()
    verdict = file.verdict
    licence = None if verdict.licence is None else asdict(verdict.licence)
    if licence is not None:
        licence["expires_at"] = datetime.fromtimestamp(licence["expires_at"], UTC).isoformat().replace("+00:00", "Z")
    return {"state": verdict.state, "message": verdict.message, "machine": machine, "licence": licence}


def sign(
    subject: Annotated[str, typer.Argument(metavar="FOR", help="who it is for, for people")],
    *,
    key: Annotated[Path, typer.Option(help="PEM of the private key, Ed25519 or RSA")],
    plan: Annotated[
        list[str] | None, typer.Option(metavar="<str>", help="plan whose numbers it lifts; repeat for more")
    ] = None,
    stores_per_day: Number = None,
    memories: Number = None,
    size: Number = None,
    calls_per_minute: Number = None,
    admin: Annotated[bool, typer.Option("--admin", help="lift every limit of every plan")] = False,
    machine: Annotated[str | None, typer.Option(help="only for the installation with this id")] = None,
    ttl: Annotated[str, typer.Option(help="how long it holds")] = "365d",
    out: Annotated[Path | None, typer.Option(help="file to write; default: print it")] = None,
) -> None:
    """Sign a licence. Needs no installation: only the private key, which belongs nowhere near one."""
    from auth.licence_sign import LicenceRequest, sign_licence
    from server.cli.output import say, say_on_stderr
    from vaults.errors import InvalidArgument

    if admin and plan:
        raise InvalidArgument("--admin", "lifts every plan: leave --plan out")
    numbers = _numbers(stores_per_day=stores_per_day, memories=memories, size=size, calls_per_minute=calls_per_minute)
    request = LicenceRequest(
        subject=_printable(subject, "FOR"),
        ttl_s=_seconds(ttl),
        plans=dict.fromkeys(map(_plan, plan or []), numbers),
        admin=admin,
        machine=None if machine is None else _printable(machine, "--machine"),
    )
    text = sign_licence(_read(key), request)
    if out is None:
        say(text)
        return
    out.write_text(text + "\n", encoding="ascii")
    say_on_stderr(f"{out}: copy it to licence.jwt in the data folder")


def key(
    out: Annotated[Path, typer.Option(help="folder to write licence-private.pem and licence-public.pem to")],
) -> None:
    """Make a pair of keys. The private one signs, the public one goes to limits.licence_key_file."""
    import os

    from auth.licence_sign import make_keys
    from server.cli.output import say

    out.mkdir(mode=0o700, parents=True, exist_ok=True)
    pairs = zip(("licence-private.pem", "licence-public.pem"), make_keys(), (0o600, 0o644), strict=True)
    for name, pem, mode in pairs:
        # Never over another key: licences signed with it would be lost.
        with os.fdopen(os.open(out / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(pem)
        say(str(out / name))


def _numbers(**given: str | None) -> PlanSettings:
    from pydantic import ValidationError

    from auth.settings import PlanSettings
    from server.reasons import reword_message
    from vaults.errors import InvalidArgument

    try:
        return PlanSettings.model_validate(
            {name: None if text == NO_LIMIT_WORD else text for name, text in given.items() if text is not None}
        )
    except ValidationError as failure:
        first = failure.errors(include_url=False, include_context=False, include_input=False)[0]
        option = f"--{str(first['loc'][0]).replace('_', '-')}"
        raise InvalidArgument(option, reword_message(first["msg"])) from None


def _plan(name: str) -> str:
    from auth.settings import PLAN_NAME
    from vaults.errors import InvalidArgument

    if not PLAN_NAME.fullmatch(name):
        raise InvalidArgument("--plan", "must be the name of a plan")
    return name


def _printable(text: str, option: str) -> str:
    from auth.principal import is_name
    from vaults.errors import InvalidArgument

    if not is_name(text):
        raise InvalidArgument(option, "must be 1 to 255 printable characters without blanks around")
    return text


def _seconds(ttl: str) -> int:
    from vaults.durations import parse_duration
    from vaults.errors import InvalidArgument

    try:
        seconds = parse_duration(ttl)
    except ValueError as failure:
        raise InvalidArgument("--ttl", str(failure)) from None
    if not 1 <= seconds <= parse_duration("36500d"):
        raise InvalidArgument("--ttl", "must lie between 1s and 36500d")
    return seconds


def _read(path: Path) -> bytes:
    from vaults.errors import InvalidArgument

    try:
        return path.read_bytes()
    except OSError as failure:
        raise InvalidArgument("--key", f"{path} cannot be read: {failure.strerror}") from None
