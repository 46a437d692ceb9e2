"""Settings of logs, metrics, shutdown and the audit: frozen sections, read from outside by ``server.settings``."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from vaults.durations import parse_duration
from vaults.settings import SettingsSection


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
