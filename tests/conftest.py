"""Builders every test may use: real SQLite, real FAISS, a small deterministic embedder."""

from __future__ import annotations

import gc
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import HealthCheck
from hypothesis import settings as property_settings

from auth.principal import Principal, local_names, owner
from auth.roles import Role
from server import vault_admin
from server.call import Caller
from server.cli import GARBAGE
from server.dispatch import CallOutcome, dispatch
from server.services import Services, open_services
from server.settings import configured_endpoints, load
from server.tool_json_schema import to_listed_output
from server.tool_spec import ToolSpec
from server.tools import discover
from tests.blanks import lay_out_audit, lay_out_used
from tests.fakes import HashEmbedder
from tests.file_reading import WorkerHere
from tests.work import PATIENCE_S, examples
from vaults.embed.backend import Embedder
from vaults.parsing import parser_pool
from vaults.parsing.worker_process import WorkerProcess

if TYPE_CHECKING:
    from tests.cluster.postgres_server import PostgresServer

TESTS = Path(__file__).parent
WHOLE_FOLDERS = ("e2e", "integrations", "crash", "load")
WHOLE_MODULES = (
    "server/cli/test_hand_over.py",
    "server/cli/test_project.py",
    "server/cli/test_transfer.py",
    "server/http/test_serve.py",
    "server/remote_vault/test_stdio_relay.py",
    "server/test_stdio.py",
    "vaults/test_read_only.py",
)
"""Where tests start clients and servers as programs of their own, each of which takes a second or more to load."""

PARTLY_WHOLE = (
    "bench/test_bench_files.py",
    "bench/test_bench_languages.py",
    "bench/test_bench_quality.py",
    "contracts/test_contributing.py",
    "server/cli/test_vault_models.py",
    "server/http/test_certificate.py",
)
"""Where single tests do, and bear the mark themselves. ``make e2e`` loads no other module: all of them take ten seconds
of each worker. A test with the mark in another module ends every run, so that none is left out."""

LOAD_TORCH = (
    "server/test_reranked_recall.py",
    "vaults/embed/test_cross_encoder.py",
    "vaults/embed/test_cross_encoder_onnx.py",
    "vaults/embed/test_engines.py",
)
"""What takes five seconds to load before the first test: they come first and together, so that one worker loads it."""

OPT_IN = ("crash", "load", "cluster", "conformance")
"""Marks of what takes minutes and has a target of its own."""

# A property holds or does not; how long its examples take is the machine's matter.
property_settings.register_profile(
    "any machine", max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
property_settings.load_profile("any machine")


WAITS = (
    "server.tool_discovery.similarity.WAIT_S",
    "server.tools.collections.WAIT_S",
    "vaults.activity_log.log_writer.READ_S",
    "vaults.domain.code.symbol_search.PARTS_SECONDS",
    "vaults.domain.notes.edit.similar_notes.WAIT_S",
    "vaults.domain.notes.read.note_listing.SYNC_WAIT_S",
    "vaults.graph.co_access.FLUSH_WAIT_S",
    "vaults.pool.ROOM_WAIT_S",
)
"""How long an answer waits for what is still under way before it goes without. In a test as long as it takes: neither
what is in an answer, nor whether a vault that is being closed makes room, may be up to the machine. Tests of an answer
that goes without set these themselves."""


def pytest_configure(config: pytest.Config) -> None:
    """Only where tests run: programs that tests start, and that import this, read files and wait as a server does. What
    only hands tests out to others need not load what is patched: they begin that much sooner."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        return
    parser_pool.WorkerProcess = WorkerHere  # type: ignore[assignment,misc]
    patient = pytest.MonkeyPatch()  # never undone
    for wait in WAITS:
        patient.setattr(wait, PATIENCE_S)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave unread what holds no test of a run of whole clients and servers alone."""
    among = collection_path.is_dir() or _is_whole(collection_path) or _path_of(collection_path) in PARTLY_WHOLE
    return True if config.option.markexpr == "e2e" and not among else None


def _is_whole(module: Path) -> bool:
    return module.parent.name in WHOLE_FOLDERS or _path_of(module) in WHOLE_MODULES


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them, so that ``make test`` stays quick and ``make e2e`` runs them."""
    for item in items:
        if _is_whole(item.path) and not any(item.get_closest_marker(mark) for mark in OPT_IN):
            item.add_marker(pytest.mark.e2e)
        elif item.get_closest_marker("e2e") and not (_is_whole(item.path) or _path_of(item.path) in PARTLY_WHOLE):
            raise pytest.UsageError(f"{item.nodeid}: its module is to stand in PARTLY_WHOLE of tests/conftest.py")
    items.sort(key=lambda item: _path_of(item.path) not in LOAD_TORCH)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """PyTorch leaves fifty loggers that keep their lines to themselves, and to each of these pytest would add its
    handlers six times a test from here on."""
    if _path_of(item.path) in LOAD_TORCH:
        for logger in logging.root.manager.loggerDict.values():
            if isinstance(logger, logging.Logger):
                logger.propagate = True


@cache
def _path_of(module: Path) -> str:
    return module.relative_to(TESTS).as_posix() if module.is_relative_to(TESTS) else ""


def pytest_collection() -> None:
    """Everything that is collected stays to the end: the collector of garbage need not walk it, now or later."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(GARBAGE)  # as a server does
    gc.enable()


QUIET = {"storage.reserve_mb": 0, "embedding.write_wait_s": 30}
"""No room kept on a disk for one test, and vectors are waited for however slow the machine is."""

Opening = Callable[..., AbstractAsyncContextManager[Services]]

the_tools = cache(lambda endpoints: discover(endpoints=endpoints))
"""The same for every server of a process, as what is worked out about a registry is kept by it."""


@asynccontextmanager
async def open_at(
    data: Path,
    vaults: tuple[str, ...] = ("main",),
    flags: Mapping[str, Any] | None = None,
    load_model: Callable[[], Embedder] = HashEmbedder,
) -> AsyncIterator[Services]:
    """A server's services over ``data``, with those vaults."""
    loaded = load(data, flags={**QUIET, **(flags or {})}, environment={})
    lay_out_used(data, vaults)
    tools = the_tools(configured_endpoints(loaded.settings))
    async with open_services(loaded.settings, loaded.data, tools, load_model=load_model) as services:
        for name in vaults:
            if not services.registry_cache.known(name):
                await vault_admin.create(services, name)
        lay_out_audit(data, ("installation", *(entry.vault_id for entry in services.registry_cache.entries())))
        yield services


@pytest.fixture
def opening(tmp_path: Path) -> Opening:
    """``async with opening() as services``: a server's services over ``tmp_path``; again for a restart."""

    def opened(
        flags: Mapping[str, Any] | None = None,
        load_model: Callable[[], Embedder] = HashEmbedder,
        vaults: tuple[str, ...] = ("main",),
        data: Path = tmp_path,
    ) -> AbstractAsyncContextManager[Services]:
        return open_at(data, vaults, flags, load_model)

    return opened


@pytest.fixture
async def services(opening: Opening) -> AsyncIterator[Services]:
    async with opening() as opened:
        yield opened


@pytest.fixture(scope="session")
def lasting_postgres() -> Iterator[PostgresServer]:
    """One for all tests of a process. What outlasts a test has a database with a name there."""
    from tests.cluster.postgres_server import running_postgres

    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres(lasting_postgres: PostgresServer) -> Iterator[PostgresServer]:
    """The same, for one test: its databases are dropped some time after it."""
    yield lasting_postgres
    lasting_postgres.drop_databases()


@pytest.fixture
def readers_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read by processes of their own, as a server has them read."""
    monkeypatch.setattr(parser_pool, "WorkerProcess", WorkerProcess)


@pytest.fixture
def cheap_passphrases(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a passphrase closes costs a two-thousandth of what it should."""
    monkeypatch.setattr("ops.backup.age_passphrase.COST", 6)


Asking = Callable[..., Awaitable[CallOutcome]]


@pytest.fixture
def ask(services: Services) -> Asking:
    """``await ask("recall", query="…")`` as the owner, in vault main."""
    return asker(services)


def asker(services: Services, caller: Caller | None = None) -> Asking:
    """Calls tools through dispatch as ``caller``."""
    who = caller or Caller(owner("cli"), "main", Role.ADMIN, "cli")

    async def ask(tool: str, /, **arguments: Any) -> CallOutcome:
        outcome = await dispatch(services, who, tool, arguments)
        spec = services.registry.get(tool)
        if outcome.ok and spec is not None:
            _published(spec).validate(outcome.content)
        return outcome

    return ask


_VALIDATORS: dict[int, tuple[ToolSpec, jsonschema.Draft202012Validator]] = {}


def _published(spec: ToolSpec) -> jsonschema.Draft202012Validator:
    """What clients hold every result against: they refuse one that does not fit what was listed."""
    known = _VALIDATORS.get(id(spec))
    if known is None:
        known = _VALIDATORS[id(spec)] = (spec, jsonschema.Draft202012Validator(to_listed_output(spec.output_schema)))
    return known[1]


def local(subject: str, role: Role = Role.ADMIN) -> Principal:
    """A bearer of a local token without caps but ``role``; what it may do is up to the grants."""
    return Principal(subject, "local", local_names(subject), token_role=role)
