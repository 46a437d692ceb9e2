"""Settings of storage and search: frozen sections, composed and read from outside by ``server.settings``.

A field is the one place where a setting exists: its default and description feed ``config show``, the
table of ``docs/settings.md`` and the validation at start.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from vaults.durations import parse_duration, parse_size
from vaults.listed_hosts import parse_pattern


class SettingsSection(BaseModel):
    """A frozen group of settings; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _check_duration(value: str) -> str:
    parse_duration(value)
    return value


def _check_absolute(folders: tuple[str, ...]) -> tuple[str, ...]:
    for each in folders:
        if not each.startswith("/") or ".." in each.split("/"):
            raise ValueError(f"must be absolute paths, not {each}")
    return folders


def _check_hosts(patterns: tuple[str, ...]) -> tuple[str, ...]:
    for each in patterns:
        parse_pattern(each)
    return patterns


def _check_size(value: str) -> str:
    parse_size(value)
    return value


def _check_limit(value: str | None) -> str | None:
    if value not in (None, NO_LIMIT):
        parse_size(value or "")
    return value


def _check_retention(value: str | None) -> str | None:
    if value not in (None, NO_LIMIT):
        parse_duration(value or "")
    return value


NO_LIMIT = "none"
"""What lifts a limit that is set more generally."""

EvictableKind = Literal["transcript", "document", "code", "memory"]

SizeLimit = Annotated[
    str | None,
    AfterValidator(_check_limit),
    Field(description="size of a vault's database, such as 2GB, above which the oldest go; of a kind: of its texts"),
]
RetentionLimit = Annotated[
    str | None,
    AfterValidator(_check_retention),
    Field(description="age, such as 90d or 1y, at which transcripts and documents nobody opened since go"),
]


class KindLimitSettings(SettingsSection):
    """Limits of a kind. What is left out is as for all kinds; ``none`` lifts it."""

    max_size: SizeLimit = None
    retention: RetentionLimit = None


class VaultLimitSettings(SettingsSection):
    """Limits of a vault. What is left out is as for all vaults; ``none`` lifts it."""

    max_size: SizeLimit = None
    retention: RetentionLimit = None
    memories: bool | None = None
    kinds: dict[EvictableKind, KindLimitSettings] = {}


class StorageSettings(SettingsSection):
    open_vaults: Annotated[
        int, Field(ge=1, le=1024, description="vaults kept open at once; the least used is closed")
    ] = 64
    idle_close_s: Annotated[float, Field(gt=0, description="seconds after which an unused vault is closed")] = 300.0
    memory_budget_mb: Annotated[int, Field(ge=16, description="MB of vectors held in memory over all vaults")] = 2048
    readers: Annotated[int, Field(ge=1, le=8, description="read connections per open vault, opened on demand")] = 2
    busy_timeout_ms: Annotated[int, Field(ge=0, description="milliseconds to wait for another process's write")] = 5000
    synchronous: Annotated[
        Literal["full", "normal"], Field(description="full: an answer survives power loss; normal: only a crash")
    ] = "full"
    reserve_mb: Annotated[int, Field(ge=0, description="MB of disk left free: below it writes answer storage_full")] = (
        32
    )
    min_free_disk: Annotated[
        str, AfterValidator(_check_size), Field(description="disk left free by harvests, imports, reindexing, vectors")
    ] = "100MB"
    max_size: SizeLimit = None
    retention: RetentionLimit = None
    memories: Annotated[
        bool, Field(description="a limit lets memories go, too, once no transcript and document is left to go")
    ] = False
    kinds: Annotated[
        dict[EvictableKind, KindLimitSettings],
        Field(description="max_size and retention of transcript, document, code or memory; see storage"),
    ] = {}
    vaults: Annotated[
        dict[str, VaultLimitSettings],
        Field(description="the same, and memories and kinds, for a vault by its name"),
    ] = {}


EmbeddingEngine = Literal["onnx", "sentence-transformers", "endpoint", "off"]
"""Engines by name; ``vaults.embed.engines`` loads each."""

EmbeddingProtocol = Literal["ollama", "openai", "tei"]

EMBEDDING_PATHS: Mapping[str, EmbeddingProtocol] = {"/api/embed": "ollama", "/embeddings": "openai", "/embed": "tei"}
"""How the path of an embedding endpoint ends, and what is spoken there; the first that fits counts."""


def find_embedding_protocol(url: str) -> EmbeddingProtocol | None:
    """What an embedding endpoint speaks, by its address; None where that does not tell."""
    path = urlsplit(url).path
    return next((spoken for ending, spoken in EMBEDDING_PATHS.items() if path.endswith(ending)), None)


class EmbeddingSettings(SettingsSection):
    engine: Annotated[
        Literal["auto", EmbeddingEngine],
        Field(
            description="auto: onnx for the bundled and prepared models, else sentence-transformers; endpoint: the "
            "server at embedding.endpoint; off: keyword only"
        ),
    ] = "auto"
    model: Annotated[
        str,
        Field(
            min_length=1,
            description="bundled all-MiniLM-L6-v2, a sentence-transformers name or folder, or its name at the endpoint",
        ),
    ] = "all-MiniLM-L6-v2"
    endpoint: Annotated[
        str | None,
        Field(
            pattern=r"^https?://[^\s@#]+$",
            description="with engine endpoint, or for vaults that name a model there: Ollama's /api/embed, an "
            "OpenAI-compatible /v1/embeddings, TEI's /embed; what is stored and searched for goes there",
        ),
    ] = None
    api_key_file: Annotated[str | None, Field(description="file that holds the endpoint's key")] = None
    query_prefix: Annotated[
        str | None,
        Field(description="put before what is searched for, at an endpoint; default: what the model was trained with"),
    ] = None
    document_prefix: Annotated[
        str | None, Field(description="put before what is stored, at an endpoint; default: likewise")
    ] = None
    device: Annotated[
        str, Field(description="cpu, cuda, cuda:1 or mps; all but cpu by sentence-transformers, unless engine is onnx")
    ] = "cpu"
    threads: Annotated[int, Field(ge=1, le=64, description="threads inside the model")] = 1
    models_dir: Annotated[str | None, Field(description="prepared models; default: inside the environment")] = None
    timeout_s: Annotated[float, Field(gt=0, description="seconds of silence until the model counts as hung")] = 30.0
    write_wait_s: Annotated[
        float, Field(ge=0, description="seconds a write waits for its vector before it answers pending")
    ] = 2.0
    batch: Annotated[int, Field(ge=1, le=512, description="texts per model call")] = 64
    queue: Annotated[int, Field(ge=1, description="texts waiting for the model before overloaded")] = 4096
    query_cache: Annotated[int, Field(ge=0, description="query vectors kept")] = 2048

    @property
    def is_endpoint_private(self) -> bool:
        """Whether nobody between here and the endpoint can read what goes there."""
        return is_safe_for_keys(self.endpoint or "")

    @property
    def endpoint_place(self) -> str | None:
        """The endpoint's address without its query, which may hold a secret."""
        return self.endpoint.partition("?")[0] if self.endpoint else None

    @model_validator(mode="after")
    def _check_endpoint(self) -> EmbeddingSettings:
        if self.endpoint and find_embedding_protocol(self.endpoint) is None:
            raise ValueError(
                "must have an embedding.endpoint that ends in /api/embed (Ollama), /embeddings (OpenAI-compatible) or"
                " /embed (text-embeddings-inference)"
            )
        if self.engine == "endpoint" and not self.endpoint:
            raise ValueError("must have embedding.endpoint where embedding.engine is endpoint")
        if self.engine == "endpoint" and "model" not in self.model_fields_set:
            raise ValueError("must have embedding.model, as the endpoint names it, where embedding.engine is endpoint")
        if self.api_key_file and not self.endpoint:
            raise ValueError("may have embedding.api_key_file only with embedding.endpoint")
        if self.api_key_file and not self.is_endpoint_private:
            raise ValueError("with a key must have an embedding.endpoint that is https, or http on a loopback address")
        return self


class IndexSettings(SettingsSection):
    flat_limit: Annotated[int, Field(ge=1000, description="passages up to which search is exact")] = 50_000
    refine_factor: Annotated[int, Field(ge=1, le=100, description="candidates re-scored per result above that")] = 30
    passage_tokens: Annotated[int, Field(ge=32, le=512, description="tokens of a passage at most")] = 200


class SearchSettings(SettingsSection):
    candidates: Annotated[int, Field(ge=10, le=2000, description="candidates per channel, at least")] = 60
    fusion: Annotated[
        Literal["auto", "rrf", "fixed"],
        Field(description="auto: scores, dense_weight of them by meaning; rrf: ranks; fixed: 0.7 by meaning"),
    ] = "auto"
    dense_weight: Annotated[float, Field(ge=0, le=1, description="share of meaning in a joint score")] = 0.4
    before: Annotated[float, Field(ge=0, le=5, description="weight of the text before a passage; its own has 1")] = 0.5
    after: Annotated[float, Field(ge=0, le=5, description="weight of the text after a passage")] = 0.4
    smoothing: Annotated[float, Field(ge=0, le=2, description="weight of the vectors around a passage")] = 0.5
    frequent_share: Annotated[
        float, Field(gt=0, le=1, description="words in more passages than this share are kept from the model")
    ] = 0.3
    corrections: Annotated[bool, Field(description="take words found nowhere for slips of the vault's own words")] = (
        True
    )
    common_from: Annotated[int, Field(ge=0, description="passages from which common words are not searched for")] = (
        200_000
    )
    common_share: Annotated[float, Field(gt=0, le=1, description="share of passages that makes a word common")] = 0.02
    keyword_ms: Annotated[
        int, Field(ge=1, description="milliseconds for keyword search in a vault of over 100,000 passages")
    ] = 250
    named: Annotated[
        float, Field(ge=0, le=1, description="lift of memories whose author or entity the query names")
    ] = 0.3
    entity: Annotated[
        float, Field(ge=0, le=1, description="lift of notes whose title, file name or alias stands in the query")
    ] = 0.2
    question: Annotated[float, Field(ge=0, le=1, description="drop: the passage itself asks")] = 0.1
    links: Annotated[float, Field(ge=0, le=1, description="lift: linked from or named by one of the first four")] = 0.4
    hub: Annotated[int, Field(ge=1, description="links to an item from which it lifts nothing any more")] = 50
    thread: Annotated[float, Field(ge=0, le=1, description="lift: its thread is named in the query")] = 0.1
    recency: Annotated[float, Field(ge=0, le=1, description="lift where recent ones are asked for, at no age")] = 0.15
    recency_days: Annotated[float, Field(gt=0, description="days in which that lift falls to 0.37 of itself")] = 14.0
    adversarial: Annotated[float, Field(ge=0, le=2, description="drop: the passage tries to give orders")] = 1.0
    learned: Annotated[float, Field(ge=0, le=1, description="share of the learned order; 0: none")] = 1.0
    unlearned: Annotated[
        tuple[Literal["own_words", "around", "meaning", "answer", "dates", "form", "speaker", "talk"], ...],
        Field(description="groups of features that the learned order leaves out"),
    ] = ()
    several: Annotated[float, Field(ge=0, le=1, description="share of an item's next two passages in its score")] = 0.1
    likely: Annotated[
        float, Field(ge=0, le=1, description="relevance from which a hit is a likely answer; packs need one")
    ] = 0.4
    near_duplicate: Annotated[float, Field(gt=0, le=1, description="cosine from which a memory counts as similar")] = (
        0.92
    )


_FOLDER = r"^[^./\\\x00-\x1f~%-][^./\\\x00-\x1f~%]*(/[^./\\\x00-\x1f~%-][^./\\\x00-\x1f~%]*)*$"
"""A folder inside a vault, its names plain: none hidden, none that climbs."""


class NotesSettings(SettingsSection):
    max_note: Annotated[int, Field(ge=1024, description="bytes of a note at most; longer files are left out")] = (
        5 * 1024 * 1024
    )
    exclude: Annotated[
        tuple[str, ...], Field(description="files and folders left out, as in .gitignore; also .strongroomignore")
    ] = ()
    watch: Annotated[
        Literal["auto", "events", "poll", "off"],
        Field(description="how changes by other programs are noticed; poll for network disks; off: at the next start"),
    ] = "auto"
    poll_s: Annotated[float, Field(ge=0.5, description="seconds between two looks where watch is poll")] = 2.0
    rescan_s: Annotated[float, Field(ge=5, description="seconds between two full looks, beside events")] = 60.0
    history: Annotated[
        Literal["off", "auto", "batch"],
        Field(description="Git commits: off, one for each change, or one for all of a minute by the same writer"),
    ] = "off"
    repository: Annotated[
        str | None,
        Field(description="folder in a Git repository memories speak of; default: that of notes served in place"),
    ] = None
    versions: Annotated[int, Field(ge=1, description="changes kept, with the versions before and after them")] = 5000
    versions_mb: Annotated[int, Field(ge=1, description="MB of versions kept at most, compressed")] = 256
    guardrails: Annotated[
        Literal["warn", "strict", "off"], Field(description="what an edit that looks wrong meets, if it says nothing")
    ] = "warn"
    policies: Annotated[
        str, Field(pattern=_FOLDER, max_length=200, description="folder of the notes in which written procedures lie")
    ] = "policies"


class RerankSettings(SettingsSection):
    model: Annotated[
        str | None, Field(description="cross-encoder: a folder, or a name in the local cache; none is bundled")
    ] = None
    head: Annotated[int, Field(ge=1, le=200, description="passages of a result the model is asked about")] = 30
    max_tokens: Annotated[
        int, Field(ge=16, le=8192, description="tokens of query and passage together, at most what the model reads")
    ] = 512
    timeout_s: Annotated[
        float, Field(gt=0, le=120, description="seconds one reranking may take before the search goes on without")
    ] = 10.0
    cache: Annotated[int, Field(ge=0, description="scores kept")] = 4096


class ExpansionSettings(SettingsSection):
    feedback: Annotated[bool, Field(description="add words of the first results to the query")] = False
    words: Annotated[int, Field(ge=1, le=20, description="words added at most")] = 5
    endpoint: Annotated[
        str | None,
        Field(pattern=r"^https?://[^\s@#]+$", description="address that returns variants of a query; queries go there"),
    ] = None
    timeout_s: Annotated[float, Field(gt=0, le=30, description="seconds the endpoint may take")] = 2.0
    cache: Annotated[int, Field(ge=0, description="answers kept")] = 1024


class ExtractionSettings(SettingsSection):
    """Who makes memories of conversations besides the rules: a command, an endpoint, or nobody."""

    command: Annotated[
        tuple[str, ...],
        Field(description="program and arguments that extract memories: prompt on stdin, answer on stdout, no shell"),
    ] = ()
    pass_environment: Annotated[
        tuple[str, ...], Field(description="names of variables the command gets besides PATH, HOME, USER, LANG, TMPDIR")
    ] = ()
    url: Annotated[
        str | None,
        Field(
            pattern=r"^https?://[^\s@#]+$",
            description="base of an OpenAI-compatible API that extracts memories, such as http://127.0.0.1:11434/v1; "
            "conversations go there",
        ),
    ] = None
    model: Annotated[str | None, Field(min_length=1, description="the model, as the API names it; with url")] = None
    api_key: Annotated[str | None, Field(min_length=1, repr=False, description="the API's key; with url")] = None
    api_key_file: Annotated[str | None, Field(description="file that holds the API's key; with url")] = None
    timeout_s: Annotated[float, Field(gt=0, le=3600, description="seconds one answer may take")] = 120.0
    max_calls_a_day: Annotated[
        int, Field(ge=1, description="answers asked for in a day (UTC), over all harvests of a data folder")
    ] = 200
    max_tokens_a_day: Annotated[
        int | None, Field(ge=1, description="tokens of prompts and answers in a day; default: no limit")
    ] = None
    max_characters: Annotated[
        int, Field(ge=4_000, le=2_000_000, description="characters of a conversation handed over at once; more in turn")
    ] = 60_000
    quiet_s: Annotated[
        float, Field(ge=0, description="seconds without a new turn from which on a conversation is extracted")
    ] = 900.0

    @property
    def is_configured(self) -> bool:
        """Whether anybody extracts besides the rules."""
        return bool(self.command or self.url)

    @model_validator(mode="after")
    def _check_keys(self) -> ExtractionSettings:
        if self.command and self.url:
            raise ValueError("may not have both extraction.command and extraction.url")
        if self.command and not self.command[0]:
            raise ValueError("must name a program first in extraction.command")
        if bool(self.url) != bool(self.model):
            raise ValueError("must have both of extraction.url and extraction.model, or neither")
        if self.api_key and self.api_key_file:
            raise ValueError("may not have both extraction.api_key and extraction.api_key_file")
        if (self.api_key or self.api_key_file) and not self.url:
            raise ValueError("may have extraction.api_key or extraction.api_key_file only with extraction.url")
        if (self.api_key or self.api_key_file) and not is_safe_for_keys(self.url or ""):
            raise ValueError("with a key must have an extraction.url that is https, or http on a loopback address")
        if self.max_tokens_a_day is not None and self.max_tokens_a_day < self.max_characters // 2:
            raise ValueError("must have an extraction.max_tokens_a_day of at least half of extraction.max_characters")
        return self


class SessionSettings(SettingsSection):
    idle_s: Annotated[
        float, Field(ge=1, description="seconds without a call after which a session over HTTP is paused")
    ] = 1800.0
    stale_s: Annotated[
        float, Field(ge=1, description="seconds without a heartbeat after which a session over stdio is paused")
    ] = 60.0
    heartbeat_s: Annotated[float, Field(ge=0.1, description="seconds between two heartbeats over stdio")] = 30.0
    max_active: Annotated[
        int, Field(ge=1, description="sessions one caller has open in a vault; above, the longest silent is paused")
    ] = 1000


class TelemetrySettings(SettingsSection):
    keep: Annotated[str, AfterValidator(_check_duration), Field(description="how long events of calls are kept")] = (
        "90d"
    )
    query_context: Annotated[
        bool, Field(description="keep what searches asked for, 500 characters at most, beside the event of the call")
    ] = False


class HygieneSettings(SettingsSection):
    secrets: Annotated[
        Literal["refuse", "redact", "off"],
        Field(
            description="a memory that holds a token, key or password: refused, stored without it, or stored as it is"
        ),
    ] = "refuse"
    contradiction: Annotated[
        float, Field(gt=0, le=1, description="cosine from which a memory is read for a contradiction; 1: never")
    ] = 0.5
    echo_s: Annotated[
        float, Field(ge=0, description="seconds in which text that was just read is not stored again; 0: never")
    ] = 3600.0
    unread: Annotated[
        str,
        AfterValidator(_check_duration),
        Field(description="how long a memory goes unread before its confidence fades"),
    ] = "7d"
    half_life: Annotated[
        str,
        AfterValidator(_check_duration),
        Field(description="time in which the confidence of an unread memory halves"),
    ] = "30d"
    floor: Annotated[float, Field(ge=0, le=1, description="confidence below which none fades")] = 0.1
    never_read: Annotated[
        str, AfterValidator(_check_duration), Field(description="age from which a memory nobody read is reported")
    ] = "30d"
    superseded: Annotated[
        str,
        AfterValidator(_check_duration),
        Field(description="how long superseded memories are kept before they are deleted"),
    ] = "90d"
    sweep_s: Annotated[float, Field(ge=1, description="seconds between two sweeps of what ran out")] = 3600.0


class LinkSettings(SettingsSection):
    auto_link: Annotated[
        bool, Field(description="link known names in what tools write to notes, where the call does not say")
    ] = False
    strictness: Annotated[
        Literal["conservative", "balanced", "aggressive"],
        Field(description="how sure a suggested link must be, where the call does not say"),
    ] = "balanced"
    proactive: Annotated[
        bool, Field(description="link names that are beyond doubt in notes nobody works on, where writing is auto")
    ] = False
    proactive_idle_s: Annotated[
        float, Field(ge=60, description="seconds a changed note must be left alone before that")
    ] = 900.0
    proactive_per_hour: Annotated[int, Field(ge=1, le=1000, description="notes so linked in an hour at most")] = 20
    occurrences: Annotated[
        Literal["first", "all"],
        Field(description="which places of a name become links; first: none where the note links it already"),
    ] = "first"
    implicit: Annotated[
        Literal["off", "suggest", "link"],
        Field(description="names that no note is about, told by how they are written; link: they become links too"),
    ] = "suggest"
    implicit_patterns: Annotated[
        tuple[Literal["proper-nouns", "single-caps", "camel-case", "acronyms", "quoted-terms", "ticket-refs"], ...],
        Field(description="how such names may be written"),
    ] = ("proper-nouns", "single-caps", "camel-case", "acronyms", "quoted-terms", "ticket-refs")


class IngestSettings(SettingsSection):
    """Reading files into documents, each in a process with limits of its own."""

    workers: Annotated[int, Field(ge=1, le=64, description="files read at once, each by a process of its own")] = 2
    parse_seconds: Annotated[float, Field(gt=0, description="seconds reading one file may take")] = 60.0
    parse_memory: Annotated[
        int, Field(ge=256 * 1024 * 1024, description="bytes of address space of a process that reads files")
    ] = 1024 * 1024 * 1024
    max_file: Annotated[int, Field(ge=1024, description="bytes of a file at most")] = 100 * 1024 * 1024
    max_pages: Annotated[
        int, Field(ge=1, description="pages, slides or sheets read of a file; what follows is left out, and said")
    ] = 2000
    max_bytes: Annotated[
        int, Field(ge=1024, description="bytes of a file that comes in a call, or from an address, at most")
    ] = 10 * 1024 * 1024
    roots: Annotated[
        tuple[str, ...],
        AfterValidator(_check_absolute),
        Field(description="folders of this machine from which the tool ingest may read, as absolute paths"),
    ] = ()
    hosts: Annotated[
        tuple[str, ...],
        AfterValidator(_check_hosts),
        Field(
            description="hosts from which ingest may read pages: docs.example.org, *.example.org for all below,"
            " an address; with :port, or :* for any"
        ),
    ] = ()
    fetch_seconds: Annotated[
        float, Field(gt=0, le=300, description="seconds one page may take, redirects included")
    ] = 30.0
    reread: Annotated[
        Annotated[str, AfterValidator(_check_duration)] | None,
        Field(description="age at which pages are read again by themselves, such as 1d; default: never"),
    ] = None


class CodeSettings(SettingsSection):
    """Reading source code."""

    max_file: Annotated[int, Field(ge=1024, description="bytes of a source file at most")] = 5 * 1024 * 1024
    max_size: Annotated[
        int, Field(ge=1024, description="bytes of source code of one collection at most; files after that are left out")
    ] = 2 * 1024 * 1024 * 1024


class CollectionSettings(SettingsSection):
    """Folders that vaults read besides their notes."""

    roots: Annotated[
        tuple[str, ...],
        Field(description="folders in which callers over HTTP may add collections; at the machine any folder will do"),
    ] = ()
    watch: Annotated[
        Literal["auto", "events", "poll", "off"],
        Field(description="how changed files are noticed; off: read when they are added and when asked for"),
    ] = "auto"
    poll_s: Annotated[float, Field(ge=0.5, description="seconds between two looks where watch is poll")] = 5.0
    rescan_s: Annotated[float, Field(ge=5, description="seconds between two full looks, beside events")] = 900.0
    max_files: Annotated[
        int, Field(ge=1, description="files of one collection at most; those after that are left out")
    ] = 100_000


def _check_over_tls(url: str | None) -> str | None:
    """A key is sent there: over TLS, or not over a network at all."""
    if url is None:
        return None
    if not is_safe_for_keys(url):
        raise ValueError("must be https, or http on a loopback address")
    return url.rstrip("/")


def is_safe_for_keys(url: str) -> bool:
    """Whether nobody between here and there could read a key that is sent to the address."""
    address = urlsplit(url)
    return address.scheme == "https" or _is_this_machine(address.hostname or "")


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class MoltbookSettings(SettingsSection):
    url: Annotated[
        str | None,
        Field(
            pattern=r"^https?://[^\s@?#]+$",
            description="the API of Moltbook, such as https://www.moltbook.com/api/v1: with it there is the tool social"
            " and the view moltmind has mb_*; what agents post goes there",
        ),
        AfterValidator(_check_over_tls),
    ] = None


class SocialSettings(SettingsSection):
    """Networks that agents may speak to; nothing is contacted whose address is not set."""

    moltbook: MoltbookSettings = MoltbookSettings()
