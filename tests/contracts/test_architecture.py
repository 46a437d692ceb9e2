"""The gates of the design: directions, names, and call sites that would break a promise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("vaults", "auth", "ops", "server", "bench")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}


@dataclass(frozen=True)
class Read:
    """What a module says of itself: its public classes, everything it imports, and what of that it loads with it."""

    path: Path
    classes: set[str]
    imported: set[str]
    loaded: set[str]


@cache
def modules() -> list[Read]:
    """Every module, read once."""
    found = []
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")}
        imported, loaded = _names(_statements(tree)), _names(_loaded_statements(tree))
        found.append(Read(path.relative_to(ROOT), classes, imported, loaded))
    return found


def _names(statements: Iterator[ast.AST]) -> set[str]:
    imports = [node for node in statements if isinstance(node, ast.Import | ast.ImportFrom)]
    return {name for node in imports for name in _imported(node)}


def _loaded_statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Those that run as the module is imported, at its top or in a class."""
    for node in tree.body:
        is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if not is_for_types and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement, however deep. Expressions, which are most of a tree, hold none."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        for each in getattr(node, name, ()):
            yield each
            yield from _statements(each)


def test_there_is_something_to_check() -> None:
    assert len(SOURCES) > 50


def test_a_module_is_named_for_what_it_holds() -> None:
    assert [path.relative_to(ROOT) for path in SOURCES if path.stem.strip("_") in FORBIDDEN_NAMES] == []


def test_a_public_class_name_stands_in_one_module() -> None:
    places: dict[str, set[Path]] = {}
    for module in modules():
        for name in module.classes:
            places.setdefault(name, set()).add(module.path)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_only_settings_reads_the_environment() -> None:
    readers = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if path.parts[len(ROOT.parts)] != "bench"
        and re.search(r"os\.(environ|getenv)", path.read_text(encoding="utf-8"))
    ]
    assert set(readers) <= ALLOWED_ENVIRONMENT, readers


ALLOWED_ENVIRONMENT = {
    "server/settings.py",
    "server/local_socket.py",  # where a command finds a server, and whether both were told the same
    "ops/worker_metrics.py",  # writes one variable that prometheus_client takes from nowhere else; reads none
}

OUTBOUND = {
    "httpx",
    "httpx2",
    "httpcore2",
    "requests",
    "urllib.request",
    "urllib3",
    "aiohttp",
    "http.client",
    "huggingface_hub",
    "obstore",
    "psycopg",
    "psycopg_pool",
}
ALLOWED_OUTBOUND = {
    "vaults/endpoint_client.py",  # the client of the endpoints below that an operator configured
    "ops/backup/s3_store.py",  # backups, to the bucket of backup.to
    "auth/issuer_requests.py",  # keys of outside issuers, sign-ins through providers, at configured hosts
    "server/remote_vault/vault_client.py",  # import and export against a remote server the operator names
    "server/remote_vault/stdio_relay.py",  # a client's messages, to the server its user names
    "server/remote_vault/device_login.py",  # strongroom login, to the server its user names
    "server/remote_vault/single_call.py",  # one tool call of a hook, to the server its user names
    "server/oauth/client_documents.py",  # what describes a client, at the hosts of auth.client_hosts
    "ops/audit/syslog.py",  # entries of the audit, to audit.syslog
    "ops/audit/webhook.py",  # entries of the audit, to audit.webhook
    "vaults/cluster/postgres/connections.py",  # the database of cluster.url
    "vaults/cluster/postgres/prepared_statements.py",  # what is sent to it
    "vaults/cluster/postgres/timelines.py",  # the other hosts it names
    "vaults/cluster/postgres/advisory_lease.py",
    "vaults/cluster/control/postgres_control.py",  # its driver's errors
    "vaults/cluster/control/statement_runner.py",  # and its cursors
    "vaults/cluster/postgres/bases.py",  # its driver's errors
    "vaults/cluster/postgres/chain_tables.py",
    "vaults/cluster/postgres/driver_errors.py",
    "vaults/cluster/postgres/older_layouts.py",
    "vaults/cluster/postgres/schema.py",
    "vaults/cluster/postgres/servers.py",
    "vaults/domain/social/endpoint.py",  # a social network, at the address of social.moltbook.url
    "vaults/search/expansion_endpoint.py",  # query variants from the endpoint the operator named
    "vaults/transcripts/model_extraction/model_endpoint.py",  # conversations, to extraction.url
    "vaults/web/page_fetch.py",  # pages of the hosts of ingest.hosts
    "vaults/web/pinned_connections.py",  # the connections to these
    "vaults/embed/endpoint_connection.py",  # texts to be embedded, to embedding.endpoint
    "vaults/embed/model_source.py",  # looks a model up in the local cache, local_files_only
}


PROCESSES = re.compile(r"\bsubprocess\b|os\.(?:system|popen|spawn|exec|posix_spawn)")
ALLOWED_PROCESSES = {
    "server/cli/hand_over.py",  # itself, to read a transcript after the hook has returned
    "vaults/child_processes.py",  # this very interpreter, to read many notes or compare many rows at once
    "vaults/parsing/worker_process.py",  # this very interpreter, to read files that may break it
    "vaults/transcripts/model_extraction/model_command.py",  # extraction.command, which the operator named
}


def test_no_program_is_started_but_what_the_operator_configured() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in SOURCES
        if path.parts[len(ROOT.parts)] != "bench" and PROCESSES.search(path.read_text(encoding="utf-8"))
    }
    assert found <= ALLOWED_PROCESSES, found


def test_nothing_reaches_out_but_what_the_operator_configured() -> None:
    found = {
        str(module.path)
        for module in modules()
        if module.path.parts[0] != "bench"
        and any(name in OUTBOUND or name.partition(".")[0] in OUTBOUND for name in module.imported)
    }
    assert found <= ALLOWED_OUTBOUND, found


OF_A_CLUSTER = ("vaults/cluster", "server/cluster", "server/http/peers", "bench/cluster")
OF_THE_DRIVER = ("vaults/cluster/postgres", "vaults/cluster/control", "bench/cluster")


def test_one_machine_loads_nothing_of_a_cluster() -> None:
    """What is for a cluster alone is imported outside of it inside functions only, and its driver stays in two
    packages."""
    kept = re.compile(r"(vaults\.cluster|server\.cluster|server\.http\.peers|psycopg)\b")
    for module in modules():
        inside = any(module.path.is_relative_to(each) for each in OF_A_CLUSTER)
        assert inside or not {name for name in module.loaded if kept.match(name)}, module.path
        driver = {name for name in module.imported if name.startswith("psycopg")}
        speaks = any(module.path.is_relative_to(each) for each in OF_THE_DRIVER)
        assert speaks or not driver, module.path


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [alias.name for alias in node.names]


def test_every_table_says_whether_it_is_truth_or_derived() -> None:
    for script in (ROOT / "vaults/db/migrations").rglob("*.sql"):
        lines = script.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            if re.match(r"CREATE (VIRTUAL )?TABLE", line):
                tag = lines[number - 1]
                assert re.match(r"-- (canonical|derived from \w+)", tag), f"{script.name}:{number + 1}"


def test_nothing_runs_on_an_executor_without_the_context() -> None:
    for path in SOURCES:
        if path.name == "context.py":
            continue
        assert ".run_in_executor(" not in path.read_text(encoding="utf-8"), path
