"""``strongroom ingest``: files and pages as documents, into a vault here or on another server."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from server.cli.remote_options import TokenFile, Url

if TYPE_CHECKING:
    from server.cli.output import Advance
    from server.cli.remote_options import RemoteServer
    from server.settings import LoadedSettings
    from vaults.domain.documents.file_intake import GivenFile, RejectedFile
    from vaults.domain.documents.intake import DocumentSource, StoredDocument
    from vaults.files.folder_files import FolderPlace

STDIN = "-"
WEB = ("http://", "https://")

AT_ONCE = 3
"""Files on their way at the same time: while one is stored, others are read."""

REJECTIONS_SHOWN = 100


def add_to(app: typer.Typer) -> None:
    app.command("ingest")(ingest)


def ingest(
    ctx: typer.Context,
    paths: Annotated[list[str], typer.Argument(metavar="PATH…", help="files, folders, pages (https://…), - for stdin")],
    vault: Annotated[str, typer.Option(help="the vault")] = "main",
    collection: Annotated[str | None, typer.Option(help="name to search them by")] = None,
    title: Annotated[str | None, typer.Option(help="of the one file given; default: its own")] = None,
    name: Annotated[str, typer.Option(help="file name of what comes from stdin: it tells the format")] = "stdin.md",
    workspace: Annotated[str | None, typer.Option(help="project they belong to")] = None,
    thread: Annotated[str | None, typer.Option(help="thread they belong to")] = None,
    private: Annotated[bool, typer.Option("--private", help="found by you alone")] = False,
    url: Url = None,
    token_file: TokenFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, for programs")] = False,
) -> None:
    """Read files and pages into documents. Safe to run again: what is stored already is left alone."""
    from server.cli.remote_options import to_remote
    from server.cli.runtime import load_settings, run_async
    from vaults.domain.actors import GLOBAL
    from vaults.domain.documents.intake import DocumentSource
    from vaults.errors import InvalidArgument

    loaded, remote = load_settings(ctx), to_remote(url, token_file)
    like = DocumentSource(
        name=name,
        workspace=workspace or GLOBAL,
        collection=collection,
        thread=thread,
        title=title,
        visibility="private" if private else "shared",
    )
    report = IngestReport()
    targets = list(_find_targets(paths, like, report))
    if title is not None and len(targets) > 1:
        raise InvalidArgument("--title", "names one document, and these are several")
    try:
        run_async(_ingest(loaded, targets, vault, remote, report))
    finally:  # also if it ends early: what is stored is stored
        _show(report, len(targets), as_json=as_json)
    raise typer.Exit(1 if report.rejected else 0)


@dataclass(slots=True)
class IngestReport:
    """What became of files so far."""

    counts: Counter[str] = field(default_factory=Counter)
    rejected: list[RejectedFile] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def done(self) -> int:
        return sum(self.counts.values()) + len(self.rejected)

    def describe(self) -> str:
        """The counts in words."""
        counts = {**self.counts, "rejected": len(self.rejected)}
        return ", ".join(f"{counts[name]} {word}" for name, word in _WORDS.items() if counts.get(name)) or "nothing"


_WORDS = {
    **{name: name for name in ("new", "updated", "unchanged")},
    "duplicate": "known as another file",
    "unsupported": "of formats that are not read",
    "rejected": "rejected",
}


@dataclass(frozen=True, slots=True)
class _IngestTarget:
    """A file, a page, or what comes from stdin. ``is_asked``: it was named itself, not found in a folder."""

    source: DocumentSource
    place: FolderPlace | None = None
    is_asked: bool = True

    @property
    def is_page(self) -> bool:
        return self.place is None and self.source.uri is not None


def _find_targets(paths: Sequence[str], like: DocumentSource, report: IngestReport) -> Iterator[_IngestTarget]:
    """What is to be read. Raises ``InvalidArgument`` for a path where nothing is."""
    from vaults.errors import InvalidArgument
    from vaults.files.folder_files import FolderPlace, find_files

    for path in paths:
        if path == STDIN:
            yield _IngestTarget(like)
            continue
        if path.startswith(WEB):
            yield _IngestTarget(replace(like, name="", uri=path))
            continue
        whole = Path(path).expanduser().resolve()  # whoever runs it may read what a link leads to
        if not whole.exists():
            raise InvalidArgument("PATH", f"{path} does not exist")
        if not whole.is_dir():
            place = FolderPlace(whole.parent, (whole.name,))
            yield _IngestTarget(replace(like, name=whole.name, uri=place.uri), place)
            continue
        folder = FolderPlace(whole, ())
        found = find_files(folder)
        report.warnings += [f"{each}: passed over: a link, or not readable" for each in found.passed_over]
        for each in found.paths:
            place = folder.below(each)
            source = replace(like, name=f"{whole.name}/{each}", uri=place.uri)
            yield _IngestTarget(source, place, is_asked=False)


async def _ingest(
    loaded: LoadedSettings,
    targets: Sequence[_IngestTarget],
    vault: str,
    remote: RemoteServer | None,
    report: IngestReport,
) -> None:
    import asyncio

    from server.cli.output import progress

    todo = iter(targets)
    most = loaded.settings.ingest.max_file if remote is None else loaded.settings.ingest.max_bytes

    async def work(intake: _OpenIntake, advance: Advance) -> None:
        for target in todo:
            await _take_in(intake, target, most, report)
            advance(report.done, len(targets), report.describe())

    opened = _open_here(loaded, vault) if remote is None else _open_remote(remote, vault)
    async with opened as intake:
        with progress("reading in") as advance:
            try:
                async with asyncio.TaskGroup() as tasks:
                    for _ in range(AT_ONCE):
                        tasks.create_task(work(intake, advance))
            except BaseExceptionGroup as failures:
                raise failures.exceptions[0] from None
        await intake.finish()


@dataclass(frozen=True, slots=True)
class _OpenIntake:
    """A vault that takes files and pages. ``finish``: when all are there."""

    take_file: Callable[[GivenFile], Awaitable[StoredDocument]]
    take_page: Callable[[DocumentSource], Awaitable[StoredDocument]]
    finish: Callable[[], Awaitable[None]]
    machine: str = ""  # the host in the addresses of files, where they are stored elsewhere


@asynccontextmanager
async def _open_here(loaded: LoadedSettings, name: str) -> AsyncIterator[_OpenIntake]:
    import gc
    from functools import partial

    from auth.principal import owner
    from server.allowance import StoreQuota
    from server.cli.admin_acts import recorded_in
    from server.cli.imports import add_vectors
    from server.cli.runtime import open_all, require_vault
    from vaults.domain.actors import Actor
    from vaults.domain.documents.file_intake import take_in
    from vaults.domain.documents.page_intake import take_in_page

    async with (
        open_all(loaded) as services,
        services.pool.lease(require_vault(services, name)) as vault,
        recorded_in(services, name, "ingest"),
    ):
        gc.freeze()  # what is loaded by now stays: the collector need not walk it for every file
        actor = Actor("owner", "owner")
        quota = StoreQuota(services, owner("cli"), vault, actor.identity)
        yield _OpenIntake(
            partial(take_in, vault, actor, quota=quota),
            partial(take_in_page, vault, actor, quota=quota),
            partial(add_vectors, vault),
        )


@asynccontextmanager
async def _open_remote(remote: RemoteServer, name: str) -> AsyncIterator[_OpenIntake]:
    import socket

    from server.remote_vault.file_push import FilePush
    from server.remote_vault.vault_client import connect_to_vault

    async def finish() -> None:
        """The server makes the vectors."""

    async with connect_to_vault(remote.url, remote.token_file, name) as vault:
        push = FilePush(vault.call)
        yield _OpenIntake(push.push, push.push_page, finish, socket.gethostname())


async def _take_in(intake: _OpenIntake, target: _IngestTarget, most: int, report: IngestReport) -> None:
    from vaults.domain.documents.file_intake import IntakeRefused, RejectedFile

    name = target.source.uri if target.is_page else target.source.name
    try:
        if target.is_page:
            stored = await intake.take_page(target.source)
        else:
            stored = await intake.take_file(await _read(target, most, intake.machine))
    except IntakeRefused as refused:
        if refused.problem == "unsupported" and not target.is_asked:
            report.counts["unsupported"] += 1
        else:
            report.rejected.append(RejectedFile(name or "", refused.problem, refused.message))
        return
    report.counts[stored.status] += 1
    report.warnings += [f"{name}: {warning}" for warning in stored.warnings]


async def _read(target: _IngestTarget, most: int, machine: str) -> GivenFile:
    """The bytes of a file, or of stdin. Raises ``IntakeRefused``."""
    import asyncio

    from vaults.domain.documents.file_intake import GivenFile, IntakeRefused
    from vaults.errors import StrongroomError, TooLarge
    from vaults.files.folder_files import read_whole

    if target.place is None:
        data = await asyncio.to_thread(_read_stdin, most + 1)
        if len(data) > most:
            raise IntakeRefused("too_large", f"it has more than {most:,} bytes")
        return GivenFile(data, target.source)
    try:
        content = await asyncio.to_thread(read_whole, target.place, most)
    except TooLarge:
        raise IntakeRefused("too_large", f"it has more than {most:,} bytes") from None
    except StrongroomError as failure:
        raise IntakeRefused("unreadable", failure.message.removeprefix("Validation error: path ")) from None
    uri = target.source.uri or ""
    known = uri.replace("file://", f"file://{machine}", 1) if machine else uri
    return GivenFile(content.data, replace(target.source, uri=known, modified_at=content.modified_at))


def _read_stdin(most: int) -> bytes:
    import sys

    return sys.stdin.buffer.read(most)


def _show(report: IngestReport, files: int, *, as_json: bool) -> None:
    from dataclasses import asdict

    from server.cli.output import say, say_json, say_on_stderr

    if as_json:
        rejected = [asdict(each) for each in report.rejected]
        say_json({"counts": report.counts, "rejected": rejected, "warnings": report.warnings})
        return
    for warning in report.warnings[:REJECTIONS_SHOWN]:
        say_on_stderr(warning)
    for each in report.rejected[:REJECTIONS_SHOWN]:
        say_on_stderr(f"{each.name}: rejected ({each.problem}): {each.message}")
    if len(report.rejected) > REJECTIONS_SHOWN:
        say_on_stderr(f"… and {len(report.rejected) - REJECTIONS_SHOWN} more; --json lists all")
    if report.done < files:
        say_on_stderr(f"{files - report.done} of {files} were not looked at; run the same command again to go on")
    say(report.describe())
