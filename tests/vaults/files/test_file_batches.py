"""Files in batches: each once, in order, none above its bounds but a file that is above them by itself."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from vaults.files.file_batches import split_batches
from vaults.files.file_stamps import FileStamp


@dataclass(frozen=True)
class Stamped:
    stamp: FileStamp


@given(sizes=st.lists(st.integers(0, 200), max_size=40), most=st.integers(1, 5))
def test_each_file_is_in_one_batch_in_its_order(sizes: list[int], most: int) -> None:
    files = [Stamped(FileStamp(size, 0, 0, 0)) for size in sizes]
    batches = list(split_batches(files, most, 100))
    assert [each for batch in batches for each in batch] == files
    for batch in batches:
        assert 0 < len(batch) <= most
        assert len(batch) == 1 or sum(each.stamp.size for each in batch) <= 100
