"""The only reader of environment and configuration file; composes the frozen sections of every package.

Flags win over ``STRONGROOM_<SECTION>__<FIELD>``, which wins over ``strongroom.toml``. An unknown key or a wrong type
stops the start with one line that names it.
"""

from __future__ import annotations

import copy
import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import platformdirs
from pydantic import Field, ValidationError

from auth.plans import BUILT_IN
from auth.settings import AuthSettings, LimitSettings, PlanName, PlanSettings
from ops.settings import AuditSettings, BackupSettings, OpsSettings
from server.cluster_settings import ClusterSettings
from server.local_socket import PLACES, PREFIX
from server.reasons import reword_message
from vaults import storage_limits
from vaults.errors import InvalidArgument
from vaults.files.permissions import deny_reason
from vaults.settings import (
    CodeSettings,
    CollectionSettings,
    EmbeddingSettings,
    ExpansionSettings,
    ExtractionSettings,
    HygieneSettings,
    IndexSettings,
    IngestSettings,
    LinkSettings,
    NotesSettings,
    RerankSettings,
    SearchSettings,
    SessionSettings,
    SettingsSection,
    SocialSettings,
    StorageSettings,
    TelemetrySettings,
)
from vaults.transcripts.extraction.extracted_memory import ExtractionKind
from vaults.transcripts.extraction.kinds import DEFAULT_KINDS, KINDS
from vaults.transcripts.model_extraction.model_kinds import MODEL_KINDS, ModelKind

FILE = "strongroom.toml"

MOLTBOOK_URL = "social.moltbook.url"
"""The setting by which an operator has agents speak to Moltbook."""

ENDPOINTS = (MOLTBOOK_URL,)
"""The settings with the address of another server that are needed for a tool to exist."""


class ServerSettings(SettingsSection):
    host: Annotated[str, Field(description="address to listen on")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535, description="port to listen on; 0 takes a free one")] = 8700
    workers: Annotated[int, Field(ge=1, le=64, description="processes that serve")] = 1
    tls_cert: Annotated[str | None, Field(description="PEM certificate chain; with tls_key the server speaks TLS")] = (
        None
    )
    tls_key: Annotated[str | None, Field(description="PEM private key")] = None
    allowed_hosts: Annotated[
        tuple[str, ...],
        Field(
            description="Host headers accepted besides loopback, public_url and the names of tls_cert; "
            "name:* for any port, *.name for any one label"
        ),
    ] = ()
    allowed_origins: Annotated[tuple[str, ...], Field(description="browser origins accepted besides loopback")] = ()
    trusted_proxies: Annotated[
        tuple[str, ...], Field(description="addresses or networks whose X-Forwarded-* headers count")
    ] = ()
    connections: Annotated[
        int, Field(ge=8, le=65_536, description="connections of one worker at once; at the limit idle ones are closed")
    ] = 1024
    connections_per_address: Annotated[
        int | None,
        Field(ge=1, description="of these one address may hold, trusted_proxies excepted; default: half"),
    ] = None
    max_body: Annotated[
        int,
        Field(
            ge=65_536,
            description="bytes of a request body at most; unless set also what ingest.max_bytes takes as base64",
        ),
    ] = 4 * 1024 * 1024
    call_timeout_s: Annotated[float, Field(gt=0, description="seconds a tool call may take")] = 60.0
    fast_path: Annotated[
        bool,
        Field(description="plain tool calls and listings go round the MCP SDK; false sends every request through it"),
    ] = True
    write_mode: Annotated[
        Literal["auto", "ask", "off"],
        Field(description="ask: a person agrees to every write; off hides every writing tool; a vault may be stricter"),
    ] = "auto"


RememberedKind: TypeAlias = ExtractionKind | ModelKind
REMEMBERED_KINDS: tuple[RememberedKind, ...] = (*KINDS, *(kind for kind in MODEL_KINDS if kind not in KINDS))
"""What memories can be made of: by rules, by a model, or by either."""


class HarvestSettings(SettingsSection):
    enabled: Annotated[
        bool, Field(description="keep conversations with agents of this machine in the vault `strongroom stdio` serves")
    ] = False
    every_s: Annotated[float, Field(ge=1, description="seconds between two looks at them")] = 2.0
    exclude: Annotated[
        tuple[str, ...],
        Field(description="transcripts and projects left out, below the home folder, as in .gitignore"),
    ] = ()
    remember: Annotated[
        tuple[RememberedKind, ...],
        Field(description="what memories are made of; codebase, pattern and useful only where a model extracts"),
    ] = tuple(kind for kind in REMEMBERED_KINDS if kind in DEFAULT_KINDS or kind in MODEL_KINDS)


class ConsoleSettings(SettingsSection):
    enabled: Annotated[
        bool,
        Field(description="serve people the console below /ui/, where they sign in here or everybody is the owner"),
    ] = True


class Settings(SettingsSection):
    """Everything that can be set, by section."""

    server: ServerSettings = ServerSettings()
    auth: AuthSettings = AuthSettings()
    ui: ConsoleSettings = ConsoleSettings()
    limits: LimitSettings = LimitSettings()
    plans: dict[PlanName, PlanSettings] = {}
    storage: StorageSettings = StorageSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    index: IndexSettings = IndexSettings()
    search: SearchSettings = SearchSettings()
    notes: NotesSettings = NotesSettings()
    ingest: IngestSettings = IngestSettings()
    collections: CollectionSettings = CollectionSettings()
    code: CodeSettings = CodeSettings()
    rerank: RerankSettings = RerankSettings()
    expansion: ExpansionSettings = ExpansionSettings()
    extraction: ExtractionSettings = ExtractionSettings()
    sessions: SessionSettings = SessionSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    hygiene: HygieneSettings = HygieneSettings()
    links: LinkSettings = LinkSettings()
    harvest: HarvestSettings = HarvestSettings()
    social: SocialSettings = SocialSettings()
    ops: OpsSettings = OpsSettings()
    backup: BackupSettings = BackupSettings()
    audit: AuditSettings = AuditSettings()
    cluster: ClusterSettings = ClusterSettings()

    @property
    def body_limit(self) -> int:
        """Bytes of a request at most: what the operator set, else so many that a file that ``ingest`` takes fits, as
        base64."""
        if "max_body" in self.server.model_fields_set:
            return self.server.max_body
        return max(self.server.max_body, self.ingest.max_bytes * 4 // 3 + ENVELOPE)


ENVELOPE = 64 * 1024
"""Bytes of a request besides a file in it."""

GROUPED = ("social",)
"""Sections whose settings stand in groups, such as ``social.moltbook.url``."""


def configured_endpoints(settings: Settings) -> frozenset[str]:
    """Those of ``ENDPOINTS`` that are set."""
    addresses = {MOLTBOOK_URL: settings.social.moltbook.url}
    return frozenset(name for name in ENDPOINTS if addresses[name] is not None)


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """Settings, the data folder, and the source of each value that was set. ``warnings``: what was no limit of storage,
    a line each; ``file``: where the settings file is, or would be."""

    settings: Settings
    data: Path
    sources: Mapping[str, str]
    warnings: tuple[str, ...] = ()
    file: Path = Path(FILE)


def load(
    data: Path | None = None,
    config: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> LoadedSettings:
    """Read everything once. ``flags`` are dotted names, ``{"server.port": 8701}``. Raises ``InvalidArgument`` naming
    the first key that is unknown or does not fit; limits of storage that are none are left out and warned of."""
    env = os.environ if environment is None else environment
    folder = (data or _path(env.get(f"{PREFIX}DATA")) or default_data()).expanduser().resolve()
    _check_folder(folder)
    file = config or _path(env.get(f"{PREFIX}CONFIG")) or folder / FILE
    values: dict[str, dict[str, Any]] = {}
    sources: dict[str, str] = {}
    must_exist = config is not None or f"{PREFIX}CONFIG" in env
    for name, value in _file_values(file, must_exist=must_exist).items():
        _set(values, sources, name, value, str(file))
    for name, value in _env_values(env).items():
        _set(values, sources, name, value, "environment")
    for name, value in (flags or {}).items():
        if value is not None:
            _set(values, sources, name, value, "flag")
    values["storage"] = storage = copy.deepcopy(values.get("storage", {}))
    warnings = tuple(storage_limits.drop_nonsense(storage))
    try:
        settings = Settings.model_validate(values)
    except ValidationError as failure:
        first = failure.errors(include_url=False, include_context=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        reason = "is not a setting" if first["type"] == "extra_forbidden" else reword_message(first["msg"])
        source = sources.get(key) or sources.get(".".join(str(part) for part in first["loc"][:2]), "settings")
        if source == "flag":  # named as it was typed
            raise InvalidArgument(f"--{str(first['loc'][-1]).replace('_', '-')}", reason) from None
        raise InvalidArgument(key, f"{reason} ({source})") from None
    _check_plans(settings, sources)
    dropped = {f"storage.{name}" for name in storage_limits.DEFAULTS if name not in storage}
    return LoadedSettings(
        settings, folder, {name: each for name, each in sources.items() if name not in dropped}, warnings, file
    )


def _check_folder(folder: Path) -> None:
    if folder.is_dir() and (reason := deny_reason(folder, os.R_OK | os.X_OK)) is not None:
        hint = "start as that user, or give the folder to this one"
        raise InvalidArgument("data", f"{folder} cannot be entered: {reason}", hint=hint)


def _check_plans(settings: Settings, sources: Mapping[str, str]) -> None:
    if "unlimited" in settings.plans:
        raise InvalidArgument("plans.unlimited", "has no numbers: call yours otherwise")
    if settings.limits.plan not in BUILT_IN.keys() | settings.plans.keys():
        source = sources.get("limits.plan", "settings")
        raise InvalidArgument("limits.plan", f"is no plan: there is no section plans.{settings.limits.plan} ({source})")


def default_data() -> Path:
    """The platform's folder for a user's data."""
    return Path(platformdirs.user_data_dir("strongroom", appauthor=False))


def export_environment() -> None:
    """Set, before anything heavy is imported, what libraries read from the environment: one thread per model and
    index call (two thread pools on few cores fight), no tokenizer threads, nothing fetched from a model hub."""
    for name, value in (
        ("OMP_NUM_THREADS", "1"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("HF_HUB_OFFLINE", "1"),
        ("HF_HUB_DISABLE_TELEMETRY", "1"),
    ):
        os.environ.setdefault(name, value)


COMMAND_ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "TZ", "SYSTEMROOT")
"""What a program needs to find itself and its files; our own variables, which may hold tokens, are none of it."""


def command_environment(names: Iterable[str]) -> dict[str, str]:
    """The environment of a command the operator configured: what every program needs, and ``names``."""
    return {name: os.environ[name] for name in (*COMMAND_ENVIRONMENT, *names) if name in os.environ}


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _file_values(file: Path, *, must_exist: bool) -> dict[str, Any]:
    try:
        parsed = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if must_exist:
            raise InvalidArgument("config", f"{file} does not exist") from None
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as failure:
        raise InvalidArgument("config", f"{file} cannot be read: {failure}") from failure
    found: dict[str, Any] = {}
    for section, fields in parsed.items():
        if not isinstance(fields, dict):
            raise InvalidArgument(section, f"is not a section of {file}")
        found |= {f"{section}.{name}": value for name, value in fields.items()}
    return found


def _env_values(env: Mapping[str, str]) -> dict[str, Any]:
    found = {}
    for variable, text in env.items():
        if not variable.startswith(PREFIX) or variable.removeprefix(PREFIX) in PLACES:
            continue
        name = variable.removeprefix(PREFIX).lower().replace("__", ".", 1)
        if name.partition(".")[0] in GROUPED:
            name = name.replace("__", ".")
        found[name] = _parse_value(name, text)
    return found


def _parse_value(name: str, text: str) -> Any:
    """Environment text: JSON for a structure; for a list JSON, or words separated by commas."""
    section, _, field = name.partition(".")
    if text.startswith("{"):
        return _json(name, text)
    info = Settings.model_fields.get(section)
    spec = info.annotation.model_fields.get(field) if info and isinstance(info.annotation, type) else None
    if spec is None or not str(spec.annotation).startswith("tuple"):
        return text
    if text.lstrip().startswith("["):
        return _json(name, text)
    return [word.strip() for word in text.split(",") if word.strip()]


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidArgument(name, "is not valid JSON (environment)") from None


def _set(values: dict[str, dict[str, Any]], sources: dict[str, str], name: str, value: Any, source: str) -> None:
    section, _, field = name.partition(".")
    if not field:
        raise InvalidArgument(name, f"is not a setting ({source})")
    if section in GROUPED and isinstance(value, dict):
        for inner, each in value.items():
            _set(values, sources, f"{name}.{inner}", each, source)
        return
    into = values.setdefault(section, {})
    if section in GROUPED:
        group, _, field = field.partition(".")
        if not field:
            raise InvalidArgument(name, f"is not a setting ({source})")
        into = into.setdefault(group, {})
    into[field] = value
    sources[name] = source
