"""Import and export as processes: killed and run again, and against another server."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.cli.command import Strongroom
from tests.work import PROGRAM_PATIENCE_S


def lines(path: Path, count: int) -> Path:
    path.write_text("".join(json.dumps({"content": f"memory {n} of many", "thread": "t"}) + "\n" for n in range(count)))
    return path


def test_a_killed_import_is_finished_by_the_next(strongroom: Strongroom, tmp_path: Path) -> None:
    strongroom("vault", "create", "main")
    count = 3_000
    source = lines(tmp_path / "in.jsonl", count)
    wal = strongroom.data / "vaults" / "main" / "vault.db-wal"
    running = strongroom.start("import", "jsonl", str(source), "--vault", "main", stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + PROGRAM_PATIENCE_S
    while running.poll() is None and time.monotonic() < deadline:
        if wal.exists() and wal.stat().st_size > 800_000:  # some batches are in
            break
    running.kill()
    running.wait()
    partly = strongroom.memories()
    assert 0 < partly < count
    assert partly % 256 == 0
    assert strongroom("verify").code == 0
    again = strongroom("import", "jsonl", str(source), "--vault", "main")
    assert again.code == 0
    assert again.out.startswith(f"{count - partly} stored, {partly} known already")
    assert strongroom.memories() == count


def test_an_import_with_bad_lines_ends_with_1_and_says_where(strongroom: Strongroom, tmp_path: Path) -> None:
    strongroom("vault", "create", "main")
    source = tmp_path / "in.jsonl"
    source.write_text('{"content": "good"}\nbad\n')
    ran = strongroom("import", "jsonl", str(source), "--vault", "main")
    assert (ran.code, ran.out) == (1, "1 stored, 0 known already, 1 rejected\n")
    assert "in.jsonl.rejected.jsonl" in ran.err
    assert strongroom("import", "jsonl", "absent", "--vault", "main").code == 2
    assert strongroom("import", "jsonl", str(source), "--vault", "nowhere").code == 1
    assert strongroom("import", "jsonl", str(source), "--vault", "main", "--url", "http://x").code == 2


def test_rejected_lines_are_kept_to_be_mended(strongroom: Strongroom, tmp_path: Path) -> None:
    strongroom("vault", "create", "main")
    source = tmp_path / "in.jsonl"
    rejected = ['{"contnt": "tea"}', "bad \u00e4", '{"content": ""}']
    source.write_bytes("\ufeff".encode() + "\r\n".join(rejected).encode() + b'\n{"content": "good"}\nbad \xff\n')
    assert strongroom("import", "jsonl", str(source), "--vault", "main").code == 1
    report = tmp_path / "in.jsonl.rejected.jsonl"
    told = [json.loads(line) for line in report.read_text("utf-8").splitlines()]
    records = [{"contnt": "tea"}, None, {"content": ""}, None]
    assert [each.get("record") for each in told] == records
    assert told[1]["text"] == rejected[1]
    assert base64.b64decode(told[3]["base64"]) == b"bad \xff"
    assert [each["line"] for each in told] == [1, 2, 3, 5]
    assert told[0]["reason"] == "content is required"
    assert not any(each["reason"].startswith("Validation error") for each in told)
    assert report.stat().st_mode & 0o077 == 0
    mended = tmp_path / "mended.jsonl"
    mended.write_text(json.dumps(told[0]["record"]).replace("contnt", "content"))
    assert strongroom("import", "jsonl", str(mended), "--vault", "main").out.startswith("1 stored")


def test_what_is_exported_can_be_imported(strongroom: Strongroom, tmp_path: Path) -> None:
    for name in ("main", "other"):
        strongroom("vault", "create", name)
    strongroom("import", "jsonl", str(lines(tmp_path / "in.jsonl", 600)), "--vault", "main")
    out, back = tmp_path / "out", tmp_path / "back"
    assert strongroom("export", "--vault", "main", "--to", str(out)).out == f"600 memories written to {out}\n"
    assert len(list((out / "memories").iterdir())) == 600
    assert strongroom("import", "jsonl", str(out / "memories.jsonl"), "--vault", "other").code == 0
    assert strongroom("export", "--vault", "other", "--to", str(back), "--format", "jsonl").code == 0
    assert (back / "memories.jsonl").read_bytes() == (out / "memories.jsonl").read_bytes()
    assert not (back / "memories").exists()


@pytest.fixture
def server(strongroom: Strongroom) -> Iterator[tuple[str, str, subprocess.Popen[bytes]]]:
    """A first start: its URL and the owner's token, both from what it printed."""
    running = strongroom.start(
        "serve", "--port", "0", "--metrics-port", "0", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stdout is not None
    said = []
    for raw in running.stdout:
        said.append(raw.decode())
        if " serves " in said[-1]:
            break
    url = said[-1].split()[-1].removesuffix("/v/<vault>/mcp")
    token = next(line for line in said if line.startswith("claude mcp add")).split("Bearer ")[1].strip().rstrip('"')
    _until_live(url)
    yield url, token, running
    if running.poll() is None:
        running.send_signal(signal.SIGTERM)
    running.communicate(timeout=PROGRAM_PATIENCE_S)


def _until_live(url: str) -> None:
    with urllib.request.urlopen(f"{url}/health/live", timeout=PROGRAM_PATIENCE_S) as answer:
        assert answer.status == 200


def test_a_first_start_prints_how_to_connect_once_and_logs_no_token(
    strongroom: Strongroom, server: tuple[str, str, subprocess.Popen[bytes]]
) -> None:
    _, token, running = server
    running.send_signal(signal.SIGTERM)
    _, logged = running.communicate(timeout=PROGRAM_PATIENCE_S)
    assert running.returncode == 0
    assert b"serving" in logged
    (opened,) = (line for line in map(json.loads, logged.splitlines()) if line["event"] == "opened")
    assert min(opened["control_schema"], opened["vault_schema"], opened["tools"]) > 1
    assert token.encode() not in logged
    assert [each["subject"] for each in strongroom("token", "list", "--json").json["tokens"]] == ["owner"]
    again = strongroom.start("serve", "--port", "0", "--metrics-port", "0", stdout=subprocess.PIPE)
    assert again.stdout is not None
    first = again.stdout.readline().decode()
    _until_live(first.split()[-1].removesuffix("/v/<vault>/mcp"))
    again.send_signal(signal.SIGTERM)
    again.communicate(timeout=PROGRAM_PATIENCE_S)
    assert " serves http://127.0.0.1:" in first


def test_import_and_export_reach_another_server(
    strongroom: Strongroom, server: tuple[str, str, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    url, token, _ = server
    (tmp_path / "token").write_text(token + "\n")
    far = ("--url", url, "--token-file", str(tmp_path / "token"))
    source = tmp_path / "in.jsonl"
    old = {"content": "old ways", "external_id": "o", "archived_at": "2026-01-01", "archived_reason": "outdated"}
    dated = {"content": "dated", "created_at": "2025-05-05T00:00:00Z", "metadata": {"a": 1}}
    many = [{"content": f"far {n}", "external_id": str(n)} for n in range(40)]
    source.write_text("".join(json.dumps(line) + "\n" for line in [old, dated, *many]) + "bad\n")
    pushed = strongroom("import", "jsonl", str(source), "--vault", "main", *far)
    assert (pushed.code, pushed.out) == (1, "42 stored, 0 known already, 1 rejected\n"), pushed.err
    again = strongroom("import", "jsonl", str(source), "--vault", "main", *far)
    assert again.out == "0 stored, 42 known already, 1 rejected\n"
    assert strongroom.memories() == 41
    assert strongroom("export", "--vault", "main", "--to", str(tmp_path / "out"), *far).code == 0
    pulled = [json.loads(line) for line in (tmp_path / "out" / "memories.jsonl").read_text().splitlines()]
    assert len(pulled) == 42
    by_id = {line["external_id"]: line for line in pulled}
    assert by_id["o"]["archived_reason"] == "outdated"
    assert any(line["created_at"] == "2025-05-05T00:00:00.000Z" for line in pulled)
    assert strongroom("export", "--vault", "main", "--to", str(tmp_path / "near"), "--format", "jsonl").code == 0
    near = (tmp_path / "near" / "memories.jsonl").read_text()
    assert sorted(near.splitlines()) == sorted((tmp_path / "out" / "memories.jsonl").read_text().splitlines())
    (tmp_path / "token").write_text("wrong")
    refused = strongroom("export", "--vault", "main", "--to", str(tmp_path / "no"), *far)
    assert refused.code == 1
    assert "Traceback" not in refused.err
    assert token not in refused.err


def test_a_far_server_that_does_not_take_part_is_told_from_one_that_is_not_there(
    strongroom: Strongroom, server: tuple[str, str, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    url, token, _ = server
    source = tmp_path / "in.jsonl"
    source.write_text('{"content": "a fact"}\n')
    for text, vault, place, reason in (
        ("wrong", "main", url, "refuses the token"),
        (token, "unknown", url, "is no vault that the token opens"),
        (token, "main", "http://127.0.0.1:9", "cannot be reached"),
    ):
        (tmp_path / "token").write_text(text)
        far = ("--url", place, "--token-file", str(tmp_path / "token"))
        ran = strongroom("import", "jsonl", str(source), "--vault", vault, *far)
        assert (ran.code, ran.err.splitlines()[-1]) == (1, f"strongroom: {place}/v/{vault}/mcp {reason}")


def test_a_port_in_use_and_an_open_bind_stop_the_start(
    strongroom: Strongroom, server: tuple[str, str, subprocess.Popen[bytes]]
) -> None:
    port = server[0].rpartition(":")[2]
    second = strongroom("serve", "--port", "0", "--metrics-port", "0")
    assert (second.code, second.out) == (1, "")
    assert f"a server runs over this data folder, at {server[0]}" in second.err
    taken = Strongroom(strongroom.data.parent / "other")("serve", "--port", port, "--metrics-port", "0")
    assert (taken.code, taken.out) == (2, "")
    assert taken.err.startswith(f"strongroom: --port {port}")
    open_bind = strongroom("serve", "--host", "0.0.0.0", "--port", "0", STRONGROOM_AUTH__MODE="none")
    assert open_bind.code == 2
    assert "auth.mode" in open_bind.err


def test_an_interrupted_import_ends_with_130_and_says_how_much_is_stored_and_how_to_go_on(
    strongroom: Strongroom, tmp_path: Path
) -> None:
    strongroom("vault", "create", "main")
    source = lines(tmp_path / "in.jsonl", 8_000)
    running = strongroom.start(
        *("import", "jsonl", str(source), "--vault", "main"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A test run in the background of a shell ignores interrupts, and would hand that on.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wal = strongroom.data / "vaults" / "main" / "vault.db-wal"
    deadline = time.monotonic() + PROGRAM_PATIENCE_S
    while not (wal.exists() and wal.stat().st_size > 800_000) and time.monotonic() < deadline:  # some batches are in
        os.sched_yield()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=PROGRAM_PATIENCE_S)
    assert (running.returncode, out) == (130, b"")
    last = err.decode().splitlines()[-1]
    told = re.fullmatch(r"interrupted: (\d+) stored, 0 known already, 0 rejected, after \d+ % of in\.jsonl; (.+)", last)
    assert told is not None, err
    assert told[2] == "run the same command again to go on: what is stored already is left alone"
    stored = strongroom.memories()
    assert stored - 256 <= int(told[1]) <= stored < 8_000  # the batch under way may have been stored
