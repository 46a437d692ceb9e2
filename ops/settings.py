"""Settings of logs, metrics and shutdown: one frozen section, read from outside by ``server.settings``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

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
