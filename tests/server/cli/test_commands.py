"""What each command prints, and with which code it ends.

Covers server.cli.calls, server.cli.configuration, server.cli.grants, server.cli.tokens, server.cli.vaults,
server.cli.version, server.redaction, server.version, vaults.activity_log.query_contexts.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

from server.redaction import redact
from server.version import ROOT, commit
from tests.server.cli.command import Strongroom


def test_vaults_come_and_go(strongroom: Strongroom) -> None:
    assert strongroom("vault", "create", "one").code == 0
    again = strongroom("vault", "create", "one")
    assert (again.code, again.err) == (1, "strongroom: vault one exists already\n")
    assert strongroom("vault", "create", "../up").code == 2
    assert strongroom("vault", "create", "two", "--path", "/nowhere").code == 2
    assert [each["name"] for each in strongroom("vault", "list", "--json").json["vaults"]] == ["one"]
    info = strongroom("vault", "info", "one", "--json").json
    assert (info["name"], info["memories"]["living"], info["embedding"]["pending"]) == ("one", 0, 0)
    assert strongroom("vault", "info", "two").code == 1
    assert strongroom("vault", "archive", "one").code == 0
    assert strongroom("vault", "list", "--json").json["vaults"][0]["state"] == "archived"
    assert strongroom("call", "status", "--vault", "one").json["error"]["code"] == "not_found"
    assert (strongroom.data / "vaults" / "one" / "vault.db").is_file()


def test_how_writing_goes_is_a_vaults_to_say(strongroom: Strongroom) -> None:
    assert strongroom("vault", "create", "one", "--write-mode", "ask").code == 0
    assert strongroom("vault", "create", "two", "--destructive", "auto").code == 0

    def rules() -> dict[str, tuple[str, str]]:
        listed = strongroom("vault", "list", "--json").json["vaults"]
        return {each["name"]: (each["write_mode"], each["destructive"]) for each in listed}

    assert rules() == {"one": ("ask", "ask"), "two": ("auto", "auto")}
    said = strongroom("vault", "update", "one", "--write-mode", "off", "--destructive", "auto")
    assert (said.code, said.out) == (0, "vault one: writing off; what destroys: auto\n")
    assert strongroom("vault", "update", "two", "--destructive", "ask").code == 0
    assert rules() == {"one": ("off", "auto"), "two": ("auto", "ask")}
    refused = strongroom("call", "remember", '{"content": "x"}', "--vault", "one")
    assert refused.json["error"]["code"] == "read_only"
    for wrong in (["two"], ["two", "--write-mode", "never"], ["two", "--destructive", "off"]):
        assert strongroom("vault", "update", *wrong).code == 2, wrong
    assert strongroom("vault", "update", "none", "--write-mode", "ask").code == 1


def test_files_that_are_there_already_are_taken_over(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "one")
    strongroom("call", "remember", '{"content": "kept"}', "--vault", "one")
    for file in strongroom.data.glob("control.db*"):
        file.unlink()
    assert strongroom("vault", "create", "one").code == 0
    assert strongroom.memories("one") == 1


def test_a_call_goes_through_the_door(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "main")
    stored = strongroom.process("call", "remember", '{"content": "Grüße \U0001f642"}', "--vault", "main", LC_ALL="C")
    assert (stored.code, stored.json["title"]) == (0, "Grüße \U0001f642")
    assert strongroom("call", "recall", "-", "--vault", "main", stdin='{"query": "Grüße"}').json["total"] == 1
    refused = strongroom("call", "remember", '{"content": ""}', "--vault", "main")
    assert (refused.code, refused.json["error"]["code"]) == (1, "invalid_argument")
    for wrong in (["nosuch"], ["remember", "no json"], ["remember", "[]"], ["remember", "-"], ["recall", "{}", "x"]):
        ran = strongroom("call", *wrong, "--vault", "main", stdin="broken")
        assert (ran.code, ran.out) == (2, ""), wrong
    assert strongroom("call", "status").code == 2


def test_a_subject_has_its_grants_and_no_more(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "main")
    assert strongroom("call", "recall", '{"query": "x"}', "--vault", "main", "--as", "bob").code == 1
    assert strongroom("grant", "set", "bob", "main", "reader").code == 0
    assert strongroom("call", "recall", '{"query": "x"}', "--vault", "main", "--as", "bob").code == 0
    refused = strongroom("call", "remember", '{"content": "x"}', "--vault", "main", "--as", "bob")
    assert (refused.code, refused.json["error"]["code"]) == (1, "forbidden")
    assert strongroom("grant", "list", "--json").json["grants"][0]["issuer"] == "local"
    assert strongroom("grant", "remove", "bob", "main").code == 0
    assert strongroom("grant", "remove", "bob", "main").code == 1
    assert strongroom("grant", "set", "bob", "nowhere", "reader").code == 1
    assert strongroom("grant", "set", "bob", "main", "king").code == 2


def test_tokens_are_shown_once(strongroom: Strongroom) -> None:
    for name in ("a", "b"):
        strongroom("vault", "create", name)
    made = strongroom(
        "token", "create", "--subject", "s", "--vault", "a", "--vault", "b", "--role", "writer", "--json"
    ).json
    assert set(made) == {"token", "id", "subject", "vaults", "role", "expires_at"}
    assert (made["subject"], made["vaults"], made["role"]) == ("s", ["a", "b"], "writer")
    plain = strongroom("token", "create", "--subject", "s", "--vault", "*", "--role", "reader", "--ttl", "1w")
    assert plain.out.count(".") == 2
    assert plain.out.strip() not in plain.err
    assert "http://127.0.0.1:8700/v/main/mcp" in plain.err
    assert '"Authorization": "Bearer $TOKEN"' in plain.err
    listed = strongroom("token", "list", "--json")
    assert made["token"] not in listed.out
    assert [each["role"] for each in listed.json["tokens"]] == ["writer", "reader"]
    assert strongroom("token", "revoke", made["id"]).code == 0
    assert strongroom("token", "list", "--json").json["tokens"][0]["revoked_at"]
    assert strongroom("token", "revoke", "nobody").code == 1
    for wrong in (["--ttl", "soon"], ["--role", "king"], ["--tools", "moldmint"], ["--vault", "typo"]):
        base = {"--subject": "s", "--vault": "a", "--role": "reader", "--ttl": "1d"} | {wrong[0]: wrong[1]}
        ran = strongroom("token", "create", *(word for pair in base.items() for word in pair))
        assert (ran.code, ran.out) == (1 if wrong[0] == "--vault" else 2, ""), wrong


def test_a_token_may_be_shown_the_tools_of_another_system(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "a")
    made = strongroom("token", "create", "--subject", "s", "--vault", "a", "--role", "writer", "--tools", "moltmind")
    claims = made.out.split(".")[1]
    assert json.loads(base64.urlsafe_b64decode(claims + "=="))["preset"] == "moltmind"


def test_configuration_errors_are_one_line_naming_the_key(strongroom: Strongroom, tmp_path: Path) -> None:
    for name, value, key in (
        ("STRONGROOM_SERVER__PORTX", "1", "server.portx"),
        ("STRONGROOM_SERVER__PORT", "x", "server.port"),
        ("STRONGROOM_NOWHERE", "1", "nowhere"),
    ):
        for command in (["config", "check"], ["vault", "list"], ["serve"], ["stdio"]):
            ran = strongroom(*command, **{name: value})
            assert (ran.code, ran.out) == (2, "")
            assert ran.err.startswith(f"strongroom: {key} "), ran.err
            assert ran.err.count("\n") == 1
    file = tmp_path / "other.toml"
    file.write_text('[server]\nport = 1234\n[ops]\notlp_endpoint = "http://me:secret@host:4318"\n')
    shown = strongroom("config", "show", "--json", "--config", str(file)).json["settings"]
    assert shown["server.port"] == {"value": 1234, "source": str(file)}
    assert "secret@" not in json.dumps(shown)
    assert strongroom("--config", str(tmp_path / "absent"), "config", "check").code == 2
    assert strongroom("config", "check", STRONGROOM_AUTH__MODE="none", STRONGROOM_SERVER__HOST="0.0.0.0").code == 2
    assert strongroom("config", "check", STRONGROOM_SERVER__TLS_CERT="/nowhere").code == 2
    assert strongroom("config", "check").code == 0


def test_secrets_are_masked_by_name_and_in_urls() -> None:
    assert redact("client_secret", "abc") == "********"
    assert redact("token_ttl", "30d") == "30d"
    assert redact("issuers", [{"api_key": "abc", "issuer": "https://u:p@h"}]) == [
        {"api_key": "********", "issuer": "https://********@h"}
    ]


def test_the_version_names_the_commit_of_a_checkout(strongroom: Strongroom) -> None:
    said = strongroom("version").out
    assert said.startswith("strongroom 0.1.0")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    if head.returncode == 0:
        assert commit() == head.stdout.strip()
        assert head.stdout[:12] in said


def test_nothing_heavy_is_imported_to_say_the_version_or_to_show_help() -> None:
    heavy = {"mcp", "starlette", "rich", "numpy", "faiss", "aiosqlite", "structlog", "jwt", "psycopg"}
    for words in (["version"], ["serve", "--help"], ["vault", "--help"]):
        script = (
            "import sys; from server.cli.app import run; code = run(sys.argv[1:]);"
            f" sys.exit(code or sorted({heavy} & set(sys.modules)) or 0)"
        )
        ran = subprocess.run(
            [sys.executable, "-c", script, *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, (words, ran.stderr)


def test_a_server_takes_no_drawing_of_terminals_along() -> None:
    """rich, which its log library imports where it can: 4 MB of an idle server."""
    script = (
        "import sys; from server.cli import runtime; runtime.import_structlog(); import structlog.dev, ops.logs;"
        " held = 'rich' in sys.modules; import rich; sys.exit(held)"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_usage_errors_end_with_2(strongroom: Strongroom) -> None:
    for wrong in (["nosuch"], ["vault"], ["vault", "nosuch"], ["verify", "--bogus"], ["import", "jsonl"], []):
        assert strongroom(*wrong).code == 2, wrong
    assert strongroom("--help").code == 0


def test_a_data_folder_that_cannot_be_used_is_named(strongroom: Strongroom, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for data, code in ((str(tmp_path / "file" / "below"), 2), ("/proc/strongroom", 1)):
        ran = strongroom("vault", "list", "--data", data)
        assert (ran.code, ran.out) == (code, "")
        assert ran.err.startswith("strongroom: ")
        assert data in ran.err
        assert ran.err.count("\n") == 1


def test_verify_and_reindex(strongroom: Strongroom) -> None:
    import sqlite3

    strongroom("vault", "create", "main")
    strongroom("call", "remember", '{"content": "tea at four"}', "--vault", "main")
    whole = strongroom("verify", "--json")
    assert (whole.code, whole.json["agrees"]) == (0, True)
    raw = sqlite3.connect(strongroom.data / "vaults" / "main" / "vault.db")
    raw.execute("UPDATE passages SET body = 'coffee'")
    raw.commit()
    raw.close()
    broken = strongroom("verify", "--vault", "main")
    assert (broken.code, "passages_differ" in broken.out) == (1, True)
    assert strongroom("reindex", "--vault", "main").code == 0
    assert strongroom("verify").code == 0
    assert strongroom("verify", "--vault", "nowhere").code == 1
    (strongroom.data / "vaults" / "main" / "vault.db").write_bytes(b"not a database at all, but long enough" * 200)
    damaged = strongroom("verify", "--json")
    assert (damaged.code, damaged.json["vaults"][0]["agrees"]) == (1, False)
    assert "Traceback" not in damaged.err


def test_an_unknown_source_is_named_with_those_there_are(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "main")
    ran = strongroom("import", "nosuch", "x", "--vault", "main")
    assert ran.code == 2
    assert "nosuch" in ran.err
    assert "moltmind" in ran.err


def test_what_calls_ask_for_is_kept_vault_by_vault(strongroom: Strongroom) -> None:
    def logged(vault: str) -> list[str | None]:
        assert strongroom("call", "recall", '{"query": "ferry times"}', "--vault", vault).code == 0
        events = strongroom("call", "doctor", '{"action": "log"}', "--vault", vault).json["events"]
        return [each.get("context") for each in events if each["tool"] == "recall"]

    for name in ("open", "closed"):
        assert strongroom("vault", "create", name).code == 0
    assert logged("open") == [None]
    assert strongroom("vault", "update", "open", "--query-context", "on").out.endswith("is kept\n")
    assert logged("open") == ["query=ferry times", None]
    assert logged("closed") == [None]
    every = {"STRONGROOM_TELEMETRY__QUERY_CONTEXT": "true"}
    ran = strongroom("vault", "update", "closed", "--query-context", "off", **every)
    assert ran.out.endswith("is not kept\n")
    assert strongroom("call", "recall", '{"query": "pier"}', "--vault", "closed", **every).code == 0
    assert logged("closed") == [None, None, None]
    assert strongroom("vault", "update", "closed", "--query-context", "default", **every).out.endswith("is kept\n")
