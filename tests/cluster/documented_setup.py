"""Three servers, set up by the steps of docs/cluster.md: what is typed there is typed here."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.cluster.installation import Installation, ServerProcess
from tests.cluster.postgres_pair import PostgresPair
from tests.cluster.postgres_server import programs
from tests.kept_ports import kept_port
from tests.server.cli.command import ENVIRONMENT, ROOT

ROLES = ROOT / "deploy/cluster/roles.sql"
OWNER, SERVER, DATABASE = "strongroom_owner", "strongroom_server", "strongroom"

SETTINGS = """
[cluster]
url_file = "{url_file}"
{own}
[auth]
public_url = "{public_url}"
first_token_ttl = "none"

[ops]
shutdown_grace_s = 60
"""


@asynccontextmanager
async def set_up_three(folder: Path, pair: PostgresPair, front: int, vault: str) -> AsyncIterator[Installation]:
    """They serve, and the vault is there. ``front``: the port that callers know."""
    async with AsyncExitStack() as stack:
        await asyncio.to_thread(_make_roles, pair)
        url_file = folder / "database-url"
        url_file.write_text(f"{_address(pair, SERVER)}?target_session_attrs=read-write")
        url_file.chmod(0o600)
        made = {"url_file": url_file, "public_url": f"http://127.0.0.1:{front}"}

        operator = _lay_out(folder / "operator", **made, own="")
        installation = Installation(folder, operator)
        installation.database = pair.conninfo(DATABASE)
        await installation.command("cluster", "init", "--url", _address(pair, OWNER), "--role", SERVER)
        for name in ("alpha", "beta", "gamma"):
            peers, port = (stack.enter_context(kept_port()) for _ in range(2))
            own = _lay_out(folder / name, **made, own=f'name = "{name}"\nport = {peers}\n')
            server = ServerProcess(name, folder / name, port, own)
            stack.push_async_callback(server.close)
            installation.servers.append(server)
        await installation.start_all()
        await installation.command("vault", "create", vault)
        yield installation


def _make_roles(pair: PostgresPair) -> None:
    with psycopg.connect(pair.conninfo("postgres"), autocommit=True) as administrator:
        administrator.execute(f"CREATE ROLE {OWNER} LOGIN PASSWORD 'owners'")
        administrator.execute(f"CREATE DATABASE {DATABASE} OWNER {OWNER}")
    psql = [f"{programs()}/psql", "--set=server_password=servers", f"--file={ROLES}", pair.conninfo(DATABASE)]
    done = subprocess.run(psql, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _address(pair: PostgresPair, role: str) -> str:
    hosts = urlsplit(pair.conninfo(DATABASE)).netloc.rpartition("@")[2]
    return f"postgresql://{role}:{role.removeprefix('strongroom_')}s@{hosts}/{DATABASE}"


def _lay_out(data: Path, *, url_file: Path, public_url: str, own: str) -> dict[str, str]:
    """A data folder with its settings in it, and what a program is told of it."""
    data.mkdir()
    (data / "strongroom.toml").write_text(SETTINGS.format(url_file=url_file, public_url=public_url, own=own))
    return {**ENVIRONMENT, "STRONGROOM_DATA": str(data)}
