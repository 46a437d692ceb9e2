"""Models behind endpoints are known again by the vector they give.

Covers vaults.embed.endpoint_stamps.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from vaults.embed import endpoint_stamps
from vaults.embed.endpoint_stamps import SAME_COSINE, cosine, find_or_keep, read_stamps
from vaults.embed.prefixes import NO_PREFIXES
from vaults.errors import EmbeddingUnavailable, StorageFull

ONE, NEAR, OTHER = [1.0, 0.0, 0.0], [1.0, 0.02, 0.0], [0.9, 0.4, 0.0]


def test_near_vectors_are_of_one_model_and_far_ones_of_two(tmp_path: Path) -> None:
    assert cosine(ONE, NEAR) > SAME_COSINE > cosine(ONE, OTHER)
    found = [find_or_keep(tmp_path, "m", NO_PREFIXES, vector).revision for vector in (ONE, NEAR, OTHER, ONE, [1.0])]
    assert found[0] == found[1] == found[3]
    assert len(set(found)) == 3
    assert len(read_stamps(tmp_path, "m", NO_PREFIXES)) == 3
    assert read_stamps(tmp_path, "another", NO_PREFIXES) == []


@pytest.mark.parametrize("vector", [[float("nan"), 1.0, 1.0], [float("inf"), 1.0, 1.0], [0.0, 0.0, 0.0], []])
def test_what_is_no_vector_is_like_none(vector: list[float]) -> None:
    assert cosine(ONE, vector) == cosine(vector, ONE) == 0.0


def test_large_numbers_are_compared_as_any() -> None:
    assert cosine([1e200, 1e200], [1e300, 1e300]) == pytest.approx(1.0)
    assert cosine([1e200, -1e200], [1e200, 1e200]) == pytest.approx(0.0)


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "one.json").mkdir()
    with pytest.raises(EmbeddingUnavailable, match="cannot be read and written"):
        read_stamps(tmp_path, "m", NO_PREFIXES)


def test_a_process_that_stopped_as_it_kept_one_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_stamps, "LOCK_WAIT_S", 0.0)
    with FileLock(tmp_path / ".lock"), pytest.raises(EmbeddingUnavailable):
        find_or_keep(tmp_path, "m", NO_PREFIXES, ONE)


def test_processes_that_start_together_agree(tmp_path: Path) -> None:
    def start(number: int) -> str:
        return find_or_keep(tmp_path, "m", NO_PREFIXES, [1.0, number / 1e6, 0.0]).revision

    with ThreadPoolExecutor(4) as several:
        assert len(set(several.map(start, range(8)))) == 1


def test_a_damaged_file_makes_a_model_a_new_one(tmp_path: Path) -> None:
    known = find_or_keep(tmp_path, "m", NO_PREFIXES, ONE)
    (tmp_path / f"{known.revision}.json").write_text("{")
    assert find_or_keep(tmp_path, "m", NO_PREFIXES, NEAR).revision != known.revision


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(endpoint_stamps, "_keep", full)
    with pytest.raises(StorageFull, match="remember"):
        find_or_keep(tmp_path, "m", NO_PREFIXES, ONE)
