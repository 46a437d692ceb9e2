"""``strongroom call`` and ``strongroom hook`` where a server runs over the data folder: it is asked, and opens nothing.

Only the standard library is imported, and little of it: the interpreter's own start is most of what such a command
costs. Whatever is not plain (other options, wrong JSON, no server, one with other settings) is left to the command,
which says what is wrong or does the work itself.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence

from server.cli.local_connection import LocalServer, Wish
from server.hook_dialects import CLAUDE_CODE, DIALECTS
from server.local_socket import DECLINED, variable

WITHIN_S = {"session-start": 8.0, "prompt": 3.0, "stop": 60.0}
"""Seconds after which a hook gives up by default; nobody waits for what ``stop`` started."""

LONGEST_S = 86_400.0
STATE_FOLDER = ".strongroom"
FIRST_VAULT = "main"

_PLACES = ("--data", "--config", "--vault")
_OPTIONS = {"call": (*_PLACES, "--as"), "hook": (*_PLACES, "--within", "--client")}
_WORDS = {"call": (1, 2), "hook": (1, 1)}


def ask_local_server(arguments: Sequence[str]) -> int | None:
    """Have a server do what these arguments say, and return the exit code; None: the command is to do it. What was read
    from stdin can be read there again."""
    plain = _parse(arguments)
    if plain is None:
        return None
    command, words, options = plain
    return _call(words, options) if command == "call" else _hook(words[0], options)


def _parse(arguments: Sequence[str]) -> tuple[str, list[str], dict[str, str]] | None:
    """The command, its words, and its options; None if anything else stands there."""
    words: list[str] = []
    options: dict[str, str] = {}
    rest = iter(arguments)
    for word in rest:
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        name, equals, value = word.partition("=")
        value = value if equals else next(rest, "")
        if not value or value.startswith("-"):
            return None
        options[name] = value
    command = words.pop(0) if words else ""
    if command not in _OPTIONS or not options.keys() <= set(_OPTIONS[command]):
        return None
    fewest, most = _WORDS[command]
    return (command, words, options) if fewest <= len(words) <= most else None


def _call(words: Sequence[str], options: Mapping[str, str]) -> int | None:
    if "--vault" not in options:
        return None
    text = words[1] if len(words) > 1 else "{}"
    given = _parse_object(_read_stdin() if text == "-" else text.encode("utf-8", "surrogateescape"))
    server = LocalServer.find(find_data_folder(options), options, None) if given is not None else None
    if server is None:
        return None
    wish: Wish = {"vault": options["--vault"], "as": options.get("--as"), "tool": words[0], "arguments": given}
    with server:
        try:
            answer = server.ask(wish)
        except OSError:
            _say_on_stderr("strongroom: the server ended before it answered: whether it was done, it did not say")
            return 1
    if "content" not in answer:
        return None if answer.get("declined") else _fail(answer)
    is_said = _say(json.dumps(answer["content"], ensure_ascii=False, indent=2))
    return 0 if answer["ok"] and is_said else 1


def _fail(answer: Mapping[str, object]) -> int:
    _say_on_stderr(f"strongroom: {answer.get('reason')}")
    return 1


def _hook(event: str, options: Mapping[str, str]) -> int | None:
    if event not in ("session-start", "prompt") or variable("URL"):
        return None
    until, client = _deadline(event, options), options.get("--client", CLAUDE_CODE)
    raw = _read_stdin()
    given, dialect = _parse_object(raw), DIALECTS.get(client)
    if given is None or dialect is None or until is None:
        return None
    folder = _folder(dialect.read(given).get("cwd"))
    project = None if "--vault" in options else _find_project(folder)
    data = os.path.join(project, STATE_FOLDER) if project else find_data_folder(options)  # noqa: PTH118
    wish: Wish = {"event": event, "client": client, "input": raw.decode("utf-8", "surrogatepass"), "project": project}
    wish["vault"] = options.get("--vault") or ("" if project else FIRST_VAULT)
    wish["workspace"] = os.path.realpath(project or folder)
    answer = _ask_within(data, options, until, wish)
    if answer.get("declined"):
        return None
    if "reason" in answer:
        _say_on_stderr(f"strongroom hook: {answer['reason']}")
    elif isinstance(answer.get("answer"), str):
        _say(str(answer["answer"]))
    return 0


def _ask_within(data: str, options: Mapping[str, str], until: float, wish: Wish) -> Mapping[str, object]:
    """What a server answers a hook; without one, that it is declined."""
    try:
        server = LocalServer.find(data, options, until)
        if server is None:
            return DECLINED
        with server:
            return server.ask({**wish, "within": max(0.0, until - time.monotonic())})
    except TimeoutError:
        return {"reason": "gave up, it took too long"}
    except OSError:
        return {"reason": "the server ended"}


def _deadline(event: str, options: Mapping[str, str]) -> float | None:
    """When the hook gives up, by the monotonic clock; None if what was given is no number."""
    given = options.get("--within") or variable("HOOK_WITHIN") or "0"
    try:
        within = float(given)
    except ValueError:
        return None
    return time.monotonic() + (min(within, LONGEST_S) if within > 0 else WITHIN_S[event])


def _folder(cwd: object) -> str:
    """Where the agent works."""
    return cwd if isinstance(cwd, str) and cwd and os.path.isdir(cwd) else os.getcwd()  # noqa: PTH109, PTH112


def _find_project(folder: str) -> str | None:
    """As ``server.setup.project_vaults.find_project``, without pathlib."""
    while True:
        if os.path.isdir(os.path.join(folder, STATE_FOLDER)):  # noqa: PTH112, PTH118
            return os.path.realpath(folder)
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return None
        folder = above


def find_data_folder(options: Mapping[str, str]) -> str:
    """The data folder of a command with these options."""
    named = options.get("--data") or variable("DATA")
    if named:
        return os.path.expanduser(named)  # noqa: PTH111
    import platformdirs

    return platformdirs.user_data_dir("strongroom", appauthor=False)


def _read_stdin() -> bytes:
    """What stands on stdin, which can be read again by the command."""
    raw = sys.stdin.buffer.read()
    sys.stdin = io.TextIOWrapper(io.BytesIO(raw))
    return raw


def _parse_object(raw: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(raw.decode("utf-8") or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _say(text: str) -> bool:
    """Print a line; whether anybody reads it."""
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
        sys.stdout.buffer.flush()
    except OSError:
        return False
    return True


def _say_on_stderr(text: str) -> None:
    sys.stderr.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stderr.buffer.flush()
