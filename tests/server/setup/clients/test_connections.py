"""A server in the configuration of a client: server.setup.clients.connections, server.setup.clients.known_clients,
server.setup.clients.server_entry and server.setup.clients.config_files."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.setup.clients import config_files
from server.setup.clients.connections import FORMATS, connect_client, disconnect_client, show_entry
from server.setup.clients.known_clients import CLIENTS, UserFolders
from server.setup.clients.server_entry import ConnectedServer, StartedServer, started_by_client
from tests.server.setup.clients.test_jsonc_edits import files
from tests.work import examples
from vaults.errors import Conflict, NotFound

FILES = {path.stem: path for path in (Path(__file__).parent / "files").iterdir()}
STARTED = StartedServer("/opt/bin/strongroom", ("stdio", "--vault", "research"))
REMOTE = ConnectedServer("https://memory.example.org/v/research/mcp", "STRONGROOM_TOKEN")
PLAIN = {"command": "/opt/bin/strongroom", "args": ["stdio", "--vault", "research"]}
TYPED = {"type": "stdio", **PLAIN}
AS_STARTED: dict[str, dict[str, Any]] = {
    "claude-code": TYPED,
    "claude-desktop": PLAIN,
    "cursor": TYPED,
    "vscode": TYPED,
    "codex": PLAIN,
    "opencode": {"type": "local", "command": ["/opt/bin/strongroom", "stdio", "--vault", "research"]},
    "gemini-cli": PLAIN,
    "windsurf": PLAIN,
    "zed": PLAIN,
}


def bearer(reference: str) -> dict[str, dict[str, str]]:
    return {"headers": {"Authorization": f"Bearer {reference}"}}


URL = "https://memory.example.org/v/research/mcp"
AS_CONNECTED: dict[str, dict[str, Any]] = {
    "claude-code": {"type": "http", "url": URL, **bearer("${STRONGROOM_TOKEN}")},
    "cursor": {"url": URL, **bearer("${env:STRONGROOM_TOKEN}")},
    "vscode": {"type": "http", "url": URL, **bearer("${env:STRONGROOM_TOKEN}")},
    "codex": {"url": URL, "bearer_token_env_var": "STRONGROOM_TOKEN"},
    "opencode": {"type": "remote", "url": URL, **bearer("{env:STRONGROOM_TOKEN}")},
    "gemini-cli": {"httpUrl": URL, **bearer("${STRONGROOM_TOKEN}")},
    "windsurf": {"serverUrl": URL, **bearer("${env:STRONGROOM_TOKEN}")},
}


def is_left_after_removing(shorter: str, longer: str) -> bool:
    rest = iter(longer)
    return all(character in rest for character in shorter)


def said(client: str, text: str) -> dict[str, Any]:
    """The servers a file names."""
    servers = FORMATS[CLIENTS[client].format].read(text)
    for key in CLIENTS[client].path:
        servers = servers[key]
    return servers


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_told_what_to_start_and_keeps_the_rest(client: str, tmp_path: Path) -> None:
    path = tmp_path / FILES[client].name
    before = FILES[client].read_bytes()
    path.write_bytes(before)
    known = CLIENTS[client]
    change = connect_client(known, path, "strongroom", known.started(STARTED))
    after = path.read_text()
    assert said(client, after).pop("strongroom") == AS_STARTED[client]
    assert is_left_after_removing(before.decode(), after)
    assert change.backup is not None
    assert change.backup.read_bytes() == before
    assert connect_client(known, path, "strongroom", known.started(STARTED)).outcome == "unchanged"
    assert disconnect_client(known, path, "strongroom").outcome == "restored"
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_told_where_to_connect_and_by_which_variable(client: str, tmp_path: Path) -> None:
    known = CLIENTS[client]
    if known.connected is None:
        assert client not in AS_CONNECTED
        return
    entry = known.connected(REMOTE)
    assert entry == AS_CONNECTED[client]
    assert said(client, show_entry(known, "team", entry)) == {"team": entry}
    assert "STRONGROOM_TOKEN" not in str(known.connected(ConnectedServer(URL, "")))
    path = tmp_path / "new" / "file"
    connect_client(known, path, "strongroom", known.started(STARTED))
    connect_client(known, path, "strongroom", entry)
    assert said(client, path.read_text()) == {"strongroom": entry}
    assert path.stat().st_mode & 0o777 == 0o600
    assert disconnect_client(known, path, "strongroom").outcome == "deleted"
    assert list(path.parent.iterdir()) == []


def test_files_lie_where_each_client_looks() -> None:
    home = Path("/home/ann")
    names = {"linux": {}, "darwin": {}, "win32": {"APPDATA": "/roaming"}}
    found = {
        platform: {name: str(each.file(UserFolders(home, names[platform], platform))) for name, each in CLIENTS.items()}
        for platform in names
    }
    assert found["linux"] == {
        "claude-code": "/home/ann/.claude.json",
        "claude-desktop": "/home/ann/.config/Claude/claude_desktop_config.json",
        "cursor": "/home/ann/.cursor/mcp.json",
        "vscode": "/home/ann/.config/Code/User/mcp.json",
        "codex": "/home/ann/.codex/config.toml",
        "opencode": "/home/ann/.config/opencode/opencode.json",
        "gemini-cli": "/home/ann/.gemini/settings.json",
        "windsurf": "/home/ann/.codeium/windsurf/mcp_config.json",
        "zed": "/home/ann/.config/zed/settings.json",
    }
    support = "/home/ann/Library/Application Support"
    assert found["darwin"]["claude-desktop"] == f"{support}/Claude/claude_desktop_config.json"
    assert found["darwin"]["vscode"] == f"{support}/Code/User/mcp.json"
    assert found["win32"]["claude-desktop"] == "/roaming/Claude/claude_desktop_config.json"
    moved = UserFolders(home, {"CODEX_HOME": "/srv/codex", "CLAUDE_CONFIG_DIR": "/srv/claude"}, "linux")
    assert CLIENTS["codex"].file(moved) == Path("/srv/codex/config.toml")
    assert CLIENTS["claude-code"].file(moved) == Path("/srv/claude/.claude.json")


def test_opencode_gets_the_form_its_file_has(tmp_path: Path) -> None:
    known = CLIENTS["opencode"]
    where = UserFolders(tmp_path, {}, "linux")
    path = tmp_path / ".config" / "opencode" / "opencode.jsonc"
    path.parent.mkdir(parents=True)
    path.write_text('{\n  "mcp": {\n    "servers": {}\n  }\n}\n')
    assert known.file(where) == path
    connect_client(known, path, "strongroom", known.started(STARTED))
    assert FORMATS["json"].read(path.read_text())["mcp"] == {"servers": {"strongroom": AS_STARTED["opencode"]}}
    named = '{"mcp": {"servers": {"type": "local", "command": ["x"]}}}'
    path.write_text(named)
    connect_client(known, path, "strongroom", known.started(STARTED))
    assert list(FORMATS["json"].read(path.read_text())["mcp"]) == ["servers", "strongroom"]


def test_the_command_is_the_one_of_this_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("environment", "path"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "strongroom").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr("sys.executable", str(tmp_path / "environment" / "python"))
    started = started_by_client(["--vault", "main"])
    assert started == StartedServer(str(tmp_path / "environment" / "strongroom"), ("stdio", "--vault", "main"))
    (tmp_path / "environment" / "strongroom").unlink()
    assert started_by_client([]).command == str(tmp_path / "path" / "strongroom")


CURSOR = CLIENTS["cursor"]
ENTRY = CURSOR.started(STARTED)


def test_byte_order_mark_line_ends_and_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    before = b'\xef\xbb\xbf{\r\n  "mcpServers": {\r\n    "a": {}\r\n  }\r\n}\r\n'
    path.write_bytes(before)
    path.chmod(0o640)
    connect_client(CURSOR, path, "strongroom", ENTRY)
    after = path.read_bytes()
    assert after.startswith(b"\xef\xbb\xbf{")
    assert after.count(b"\n") == after.count(b"\r\n") > before.count(b"\n")
    assert path.stat().st_mode & 0o777 == 0o640
    disconnect_client(CURSOR, path, "strongroom")
    assert path.read_bytes() == before


def test_a_link_stays_and_what_it_leads_to_is_edited(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "cursor.json"
    target.parent.mkdir()
    target.write_text("{}")
    path = tmp_path / "mcp.json"
    path.symlink_to(target)
    connect_client(CURSOR, path, "strongroom", ENTRY)
    assert path.is_symlink()
    assert "strongroom" in said("cursor", target.read_text())
    assert [each.name for each in target.parent.iterdir()] == ["cursor.json"]
    disconnect_client(CURSOR, path, "strongroom")
    assert (path.is_symlink(), target.read_text()) == (True, "{}")


def test_a_file_that_its_client_is_writing_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {}}')
    sync = os.fsync

    def sync_slowly(descriptor: int) -> None:
        sync(descriptor)
        if stat.S_ISREG(os.fstat(descriptor).st_mode) and b"strongroom" in os.pread(descriptor, 1000, 0):
            path.write_text('{"mcpServers": {"theirs": {}}}')

    monkeypatch.setattr(os, "fsync", sync_slowly)
    with pytest.raises(Conflict, match="changed by another program"):
        connect_client(CURSOR, path, "strongroom", ENTRY)
    assert path.read_text() == '{"mcpServers": {"theirs": {}}}'
    monkeypatch.undo()
    absent = config_files.read_config(tmp_path / "absent.json")
    absent.path.write_text("{}")
    with pytest.raises(Conflict):
        config_files.replace_config(absent, b"ours")
    assert absent.path.read_text() == "{}"


@pytest.mark.parametrize(
    ("client", "content"),
    [
        ("cursor", b'{"mcpServers": {'),
        ("cursor", b"[]"),
        ("cursor", b'{"mcpServers": []}'),
        ("cursor", b'{"mcpServers": {}, "mcpServers": {}}'),
        ("cursor", b"\xff\xfe{\x00}\x00"),
        ("cursor", b"[" * 5000),
        ("codex", b"mcp_servers = 3"),
        ("codex", b'token = "secret'),
        ("codex", b"[[mcp_servers]]\n"),
        ("codex", b"[mcp_servers.strongroom]\ncommand = '''\n[tui]\na = 1 # '''\n"),  # a head within a string
    ],
)
def test_what_is_no_configuration_is_refused_and_untouched(client: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(Conflict) as refused:
        connect_client(CLIENTS[client], path, "strongroom", PLAIN)
    assert "secret" not in refused.value.message
    assert path.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "ring").symlink_to(tmp_path / "ring")
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", config_files.BYTES_MAX + 1)
    for name, words in (("pipe", "not a file"), ("ring", "nowhere"), ("large", "larger")):
        with pytest.raises(Exception, match=words):
            connect_client(CURSOR, tmp_path / name, "strongroom", ENTRY)


@pytest.mark.parametrize("empty", ["", "\n", "// mine\n", "  "])
def test_an_empty_file_is_filled(empty: str, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(empty)
    connect_client(CURSOR, path, "strongroom", ENTRY)
    assert path.read_text().startswith(empty)
    assert said("cursor", path.read_text()) == {"strongroom": ENTRY}
    disconnect_client(CURSOR, path, "strongroom")
    assert path.read_text() == empty


@given(files(), st.sampled_from([b"", b"\xef\xbb\xbf"]), st.booleans())
@settings(max_examples=examples(40))
def test_undo_gives_back_the_very_bytes_of_any_file(text: str, mark: bytes, again: bool) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mcp.json"
        path.write_bytes(mark + text.encode())
        connect_client(CURSOR, path, "strongroom", ENTRY)
        if again:
            connect_client(CURSOR, path, "strongroom", {"url": URL})
        disconnect_client(CURSOR, path, "strongroom")
        assert path.read_bytes() == mark + text.encode()
        assert [each.name for each in path.parent.iterdir()] == ["mcp.json"]


def test_undo_keeps_what_the_client_has_written_since(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{\n  "mcpServers": {\n    "a": {} // one\n  }\n}\n')
    connect_client(CURSOR, path, "strongroom", ENTRY)
    path.write_text(path.read_text().replace('"a": {}', '"a": {"url": "x"}'))
    assert disconnect_client(CURSOR, path, "strongroom").outcome == "removed"
    assert path.read_text() == '{\n  "mcpServers": {\n    "a": {"url": "x"} // one\n  }\n}\n'
    with pytest.raises(NotFound):
        disconnect_client(CURSOR, path, "strongroom")


def test_undo_gives_back_the_entry_there_was(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"strongroom": {"command": "older"}}}')
    connect_client(CURSOR, path, "strongroom", ENTRY)
    connect_client(CURSOR, path, "strongroom", {"url": URL})
    path.write_text(path.read_text().replace("{", '{"theme": "dark",', 1))
    assert disconnect_client(CURSOR, path, "strongroom").outcome == "removed"
    assert FORMATS["json"].read(path.read_text()) == {
        "theme": "dark",
        "mcpServers": {"strongroom": {"command": "older"}},
    }


def test_an_entry_that_is_somebody_elses_is_never_lost(tmp_path: Path) -> None:
    path, theirs = tmp_path / "mcp.json", '{"mcpServers": {"strongroom": {"command": "theirs", "env": {"KEY": "k"}}}}'
    path.write_text(theirs)
    with pytest.raises(Conflict, match="is not one of strongroom"):
        disconnect_client(CURSOR, path, "strongroom")
    path.write_text("{}")
    connect_client(CURSOR, path, "strongroom", ENTRY)  # a copy is kept: of "{}"
    path.write_text(theirs)
    connect_client(CURSOR, path, "strongroom", ENTRY)
    disconnect_client(CURSOR, path, "strongroom")
    assert path.read_text() == theirs


def test_a_copy_that_was_damaged_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"a": 1}')
    connect_client(CURSOR, path, "strongroom", ENTRY)
    path.with_name("mcp.json.before-strongroom").write_text("{{")
    with pytest.raises(Conflict, match=r"mcp\.json\.before-strongroom cannot be read"):
        disconnect_client(CURSOR, path, "strongroom")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_file_that_root_edits_stays_its_owners(tmp_path: Path) -> None:
    path, backup = tmp_path / "mcp.json", tmp_path / "mcp.json.before-strongroom"
    path.write_text('{"mcpServers": {}}')
    os.chown(path, 1234, 4321)
    connect_client(CURSOR, path, "strongroom", ENTRY)
    assert [(each.stat().st_uid, each.stat().st_gid) for each in (path, backup)] == [(1234, 4321)] * 2
    disconnect_client(CURSOR, path, "strongroom")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


def test_a_file_whose_owner_would_change_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("{}")
    read = config_files.read_config(path)
    assert read.owner is not None

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refuse)
    with pytest.raises(Conflict, match="belongs to another user"):
        config_files.replace_config(replace(read, owner=(read.owner[0] + 1, read.owner[1])), b"ours")
    assert path.read_text() == "{}"


def test_two_servers_are_undone_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{\n  "mcpServers": {\n    "a": {}\n  }\n}\n')
    before = path.read_bytes()
    connect_client(CURSOR, path, "one", ENTRY)
    connect_client(CURSOR, path, "two", ENTRY)
    disconnect_client(CURSOR, path, "one")
    assert list(said("cursor", path.read_text())) == ["a", "two"]
    disconnect_client(CURSOR, path, "two")
    assert path.read_bytes() == before
