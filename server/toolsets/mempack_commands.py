"""mempack's command line, later named mem: the commands of January 2026 and those of 0.2.46."""

from __future__ import annotations

from server.toolsets import mempack, mempack_records
from server.toolsets.old_command import CommandLine, OldCommand, OurCommand

_SCOPE = {"--repo": True, "--workspace": True}
_TABLES = {"--full-paths": False}
_INGEST = OurCommand(
    ("ingest",),
    {
        "--thread": "--thread", "--repo": "--workspace", "--workspace": "--workspace", "--max-file-mb": "",
        "--chunk-tokens": "", "--overlap-tokens": "",
    },
    project="--workspace", arguments=1,
)  # fmt: skip
_SERVE = "clients start what serves them (as mempack mcp), or all share one server: strongroom serve"
_INIT_FLAGS = {
    "--no-agents": "--no-agents", "--agents": "", "--claude": "", "--gemini": "", "--all": "",
}  # fmt: skip

_MEMORIES = (
    OldCommand(
        "get", "what matters for a task, within a budget", mempack.mem_get_context, ("query",), joins=True, form="json",
        ignored={"--include-orphans": False, "--debug": False},
    ),
    OldCommand(
        "explain", "why get answers as it does", mempack.mem_explain, ("query",), joins=True, form="json",
        ignored={"--include-orphans": False},
    ),
    OldCommand("show", "a memory, whole", mempack_records.show, ("id",), ignored=_SCOPE, form="json"),
    OldCommand("recent", "the newest memories", mempack_records.recent, form="json", part="memories"),
    OldCommand("add", "keep a memory", mempack.mem_add_memory, ("title", "summary"), form="json"),
    OldCommand("update", "change a memory", mempack.mem_update_memory, ("id",), form="json"),
    OldCommand(
        "supersede", "put a memory in the place of another", mempack_records.supersede, ("id", "title", "summary"),
        ignored=_SCOPE, form="json",
    ),
    OldCommand(
        "link", "say how a memory relates to another", mempack.mem_link_memories, ("from_id", "rel", "to_id"),
        options={"--from": "from_id", "--to": "to_id"}, form="json",
    ),
    OldCommand("forget", "take a memory out of use", mempack_records.forget, ("id",), ignored=_SCOPE, form="json"),
    OldCommand(
        "checkpoint", "keep the state of your work", mempack.mem_checkpoint, ("reason", "state_json"), form="json",
        files={"--state-file": "state_json"},
    ),
)  # fmt: skip

_THREADS = (
    OldCommand("threads", "lines of work", mempack_records.threads, ignored=_SCOPE, form="json", part="threads"),
    OldCommand("thread", "one of them", mempack_records.thread, ("thread_id",), ignored=_SCOPE, form="json"),
    OldCommand("sessions", "past sessions", mempack_records.sessions, ignored=_SCOPE, form="json", part="sessions"),
    OldCommand(
        "session upsert", "say what this session is about", mempack_records.session_upsert, ("title", "summary"),
        ignored=_SCOPE | {"--thread": True, "--tags": True, "--entities": True, "--merge-window-ms": True,
                          "--min-gap-ms": True, "--only-auto-latest": False},
        form="json",
    ),
    OldCommand("repos", "projects with memories", mempack_records.repos, ignored=_TABLES, form="json", part="repos"),
    OldCommand(
        "use", "choose a project", instead="a command is about the repository it is run in, or that of --repo NAME"
    ),
    OldCommand("usage", "tokens used and saved", mempack.mem_usage),
)  # fmt: skip

_UPKEEP = (
    OldCommand(
        "init", "make a vault for this project",
        ours=OurCommand(("init",), flags=_INIT_FLAGS, arguments=1, vault="none"),
    ),
    OldCommand(
        "template agents", "write what tells agents of the vault; with --write",
        ours=OurCommand(
            ("init",), flags={"--write": "", "--memory": "", "--no-memory": ""}, options={"--assistants": ""},
            vault="none", needs="--write",
        ),
    ),
    OldCommand(
        "share export", "write the vault to a folder",
        ours=OurCommand(("export",), {"--out": "--to", "--repo": "", "--workspace": ""}, usual={"--to": "mem-share"}),
    ),
    OldCommand(
        "share import", "bring a shared folder",
        ours=OurCommand(
            ("import", "mempack"), {"--in": "PATH", "--repo": "--workspace", "--workspace": "--workspace"},
            flags={"--replace": ""}, usual={"PATH": "mem-share"},
        ),
    ),
    OldCommand(
        "embed", "make vectors anew", ours=OurCommand(("reindex",), {"--kind": "", "--repo": "", "--workspace": ""})
    ),
    OldCommand("embed status", "which texts have vectors", mempack_records.embed_status, ignored=_SCOPE, form="json"),
    OldCommand("ingest-artifact", "index files", ours=_INGEST),
    OldCommand("ingest", "index files", ours=_INGEST),
    OldCommand(
        "doctor", "whether all is well",
        ours=OurCommand(
            ("doctor",), {"--repo": ""}, {"--json": "--json", "--repair": "--repair", "--verbose": "--verbose"}
        ),
    ),
    OldCommand(
        "mcp", "serve mempack's tools on stdin and stdout",
        ours=OurCommand(
            ("stdio", "--tools", "mempack"), {"--write-mode": "--write-mode", "--repo": ""},
            {"--stdio": "", "--allow-write": "", "--require-repo": "", "--debug": "", "--repair": ""},
        ),
    ),
    OldCommand("mcp start", "run in the background", instead=_SERVE),
    OldCommand("mcp stop", "end that", instead=_SERVE),
    OldCommand("mcp status", "whether that runs", instead=_SERVE),
    OldCommand("mcp manager", "look after that", instead=_SERVE),
    OldCommand(
        "delete", "delete a project's data; with --yes",
        instead="a vault is taken out of service with: strongroom vault archive NAME",
    ),
    OldCommand("version", "version and commit", ours=OurCommand(("version",), vault="none")),
)  # fmt: skip

COMMAND_LINE = CommandLine("mempack", (*_MEMORIES, *_THREADS, *_UPKEEP))
