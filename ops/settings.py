"""Settings of logs, metrics, shutdown and the audit: frozen sections, read from outside by ``server.settings``."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from ops.backup.rotation import parse_plan
from vaults.durations import parse_duration, parse_size
from vaults.settings import SettingsSection, is_safe_for_keys


class OpsSettings(SettingsSection):
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Field(description="least level of strongroom's own lines; libraries stay at warning"),
    ] = "info"
    log_format: Annotated[
        Literal["auto", "console", "json"], Field(description="auto: console on a terminal, else json")
    ] = "auto"
    metrics_host: Annotated[str, Field(description="address of the metrics port; not the public one")] = "127.0.0.1"
    metrics_port: Annotated[int, Field(ge=0, le=65535, description="port of GET /metrics; 0 = off")] = 9700
    loop_lag_interval_s: Annotated[
        float, Field(ge=0.01, le=60, description="seconds between two measurements of the event loop's lag")
    ] = 0.25
    otlp_endpoint: Annotated[
        str | None, Field(description="OTLP/HTTP address for traces, http://host:4318/v1/traces; unset = off")
    ] = None
    shutdown_grace_s: Annotated[
        float, Field(ge=1, le=600, description="seconds from SIGTERM until the process is gone")
    ] = 10.0


S3 = "s3://"
LEAST_EVERY_S = 60
LEAST_BANDWIDTH = 1024

LEAST_LOG_KEEP_S = 3600


def _check_every(value: str | None) -> str | None:
    if value is not None and parse_duration(value) < LEAST_EVERY_S:
        raise ValueError("must be 1m or longer")
    return value


def _check_target(value: str | None) -> str | None:
    if value is None or (value.startswith("/") and ".." not in value.split("/")):
        return value
    address = urlsplit(value)
    if address.scheme != "s3" or not address.netloc or address.query or address.fragment or "@" in address.netloc:
        raise ValueError("must be a folder's absolute path, or a bucket: s3://bucket/prefix")
    return value.rstrip("/")


def _check_plan(value: str) -> str:
    parse_plan(value)
    return value


def _check_bandwidth(value: str | None) -> str | None:
    if value is not None and parse_size(value) < LEAST_BANDWIDTH:
        raise ValueError("must be 1KiB (a second) or more")
    return value


def _check_log_keep(value: str) -> str:
    if parse_duration(value) < LEAST_LOG_KEEP_S:
        raise ValueError("must be 1h or more")
    return value


class BackupSettings(SettingsSection):
    """Backups: how often, where to, who can read them, how many are kept."""

    every: Annotated[
        str | None,
        Field(description="backs up every vault this often, such as 1d or 6h; needs backup.to; unset: only when asked"),
        AfterValidator(_check_every),
    ] = None
    to: Annotated[
        str | None,
        Field(
            description="where backups go: a folder that exists (another disk, a mounted bucket), or an S3 bucket as "
            "s3://bucket/prefix"
        ),
        AfterValidator(_check_target),
    ] = None
    keep: Annotated[
        str,
        Field(
            description="scheduled backups kept of each vault: a number, or numbers of h, d, w, m, y such as 7d 4w 12m"
        ),
        AfterValidator(_check_plan),
    ] = "4"
    bandwidth: Annotated[
        str | None,
        Field(description="bytes a second that a backup may move, such as 20MB; unset: no bound"),
        AfterValidator(_check_bandwidth),
    ] = None
    recipients: Annotated[
        tuple[str, ...],
        Field(
            description="public keys of age (age1…) that backups are encrypted for; their secret keys stay elsewhere"
        ),
    ] = ()
    sign: Annotated[bool, Field(description="sign backups with this server's key")] = False
    log: Annotated[
        bool,
        Field(
            description="keep every commit of every vault in backup.to, a second after it, so that any second can be "
            "restored (restore --at)"
        ),
    ] = False
    log_keep: Annotated[
        str,
        Field(description="how far back every second stays restorable, such as 7d or 12h"),
        AfterValidator(_check_log_keep),
    ] = "7d"
    drill_every: Annotated[
        str | None,
        Field(description="restores the newest backup of each vault aside and proves it this often, such as 7d"),
        AfterValidator(_check_every),
    ] = None
    drill_identity_file: Annotated[
        str | None, Field(description="file of age with a secret key for drills of encrypted backups")
    ] = None
    endpoint: Annotated[
        str | None,
        Field(
            pattern=r"^https?://[^\s@?#]+$",
            description="address of the S3-compatible service; default: that of Amazon in backup.region",
        ),
    ] = None
    region: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,40}$", description="region of the bucket")] = "us-east-1"
    access_key: Annotated[str | None, Field(min_length=1, description="id of the key for the bucket")] = None
    secret_key: Annotated[str | None, Field(min_length=1, repr=False, description="the key for the bucket")] = None
    secret_key_file: Annotated[str | None, Field(description="file that holds the key for the bucket")] = None

    @property
    def is_scheduled(self) -> bool:
        """Whether backups are made unasked."""
        return self.every is not None

    @property
    def every_s(self) -> int:
        """Seconds between two backups of a vault; 0: none are made unasked."""
        return parse_duration(self.every) if self.every else 0

    @property
    def log_keep_s(self) -> int:
        """Seconds for which every commit stays restorable."""
        return parse_duration(self.log_keep)

    @property
    def drill_every_s(self) -> int:
        """Seconds between two drills; 0: none are held unasked."""
        return parse_duration(self.drill_every) if self.drill_every else 0

    @property
    def bytes_per_s(self) -> int | None:
        return parse_size(self.bandwidth) if self.bandwidth else None

    @model_validator(mode="after")
    def _check_together(self) -> BackupSettings:
        if self.every and not self.to:
            raise ValueError("must have a backup.to for backup.every")
        if self.log and not self.to:
            raise ValueError("must have a backup.to for backup.log")
        if self.drill_every and self.recipients and not self.drill_identity_file:
            raise ValueError("must have a backup.drill_identity_file for drills of backups encrypted for recipients")
        if self.secret_key and self.secret_key_file:
            raise ValueError("may not have both backup.secret_key and backup.secret_key_file")
        has_key = bool(self.access_key and (self.secret_key or self.secret_key_file))
        if (self.to or "").startswith(S3) and not has_key:
            raise ValueError("must have backup.access_key and backup.secret_key_file for a bucket in backup.to")
        if self.endpoint and not is_safe_for_keys(self.endpoint):
            raise ValueError("must have a backup.endpoint that is https, or http on a loopback address")
        return self


def _check_keep(value: str) -> str:
    if value != "forever":
        parse_duration(value)
    return value


def _check_syslog(value: str) -> str:
    scheme, port = urlsplit(value).scheme, urlsplit(value).port
    if scheme not in ("udp", "tcp") or not urlsplit(value).hostname or port is None:
        raise ValueError("must be udp://host:port or tcp://host:port")
    return value


def _check_webhook(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme == "https" and parts.hostname:
        return value
    if parts.scheme == "http" and parts.hostname in ("127.0.0.1", "::1", "localhost"):
        return value
    raise ValueError("must be an https URL; http only to this machine itself")


class AuditSettings(SettingsSection):
    reads: Annotated[bool, Field(description="also record calls that only read")] = False
    shown_ids: Annotated[bool, Field(description="also record the ids and paths of what an answer showed")] = False
    keep: Annotated[
        str,
        Field(description="how long entries are kept, such as 730d; forever: nothing is ever pruned"),
        AfterValidator(_check_keep),
    ] = "forever"
    syslog: Annotated[
        Annotated[str, AfterValidator(_check_syslog)] | None,
        Field(description="where entries are sent as well, as RFC 5424: tcp://host:port, or udp:// where loss is fine"),
    ] = None
    webhook: Annotated[
        Annotated[str, AfterValidator(_check_webhook)] | None,
        Field(description="https address that entries are posted to as well, as JSON lines"),
    ] = None
    webhook_token_file: Annotated[
        str | None, Field(description="file with a token that is sent to the webhook as Authorization: Bearer")
    ] = None
