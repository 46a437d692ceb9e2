from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path

import pytest

from ops import tracing
from tests.work import PATIENCE_S
from vaults.errors import InvalidArgument


def test_without_an_endpoint_nothing_of_the_sdk_is_imported():
    code = (
        "import sys; from ops import tracing; assert tracing.start_tracing(None, version='1') is None;"
        "assert not [m for m in sys.modules if m.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2], timeout=PATIENCE_S)


def test_a_missing_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter")):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InvalidArgument, match="telemetry extra") as refused:
        tracing.start_tracing("http://127.0.0.1:4318/v1/traces", version="1")
    assert "strongroom[telemetry]" in refused.value.hint


def test_a_wrong_address_is_refused_before_anything_is_imported():
    with pytest.raises(InvalidArgument, match=r"ops\.otlp_endpoint"):
        tracing.start_tracing("collector:4317", version="1")
