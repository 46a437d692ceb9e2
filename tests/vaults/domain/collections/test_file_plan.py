"""What is to be read and what is gone, from rows and files alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaults.domain.collections import file_plan
from vaults.domain.collections.file_plan import FileBudget
from vaults.domain.collections.file_rows import KnownFile, to_stamp
from vaults.files.file_stamps import FileStamp
from vaults.files.file_walk import FileWalk, FoundFile

PATHS = st.sampled_from(["a.md", "b.md", "sub/a.md", "sub/deep/c.md", "other/d.md"])
VERSIONS = st.dictionaries(PATHS, st.integers(1, 3))


def found(path: str, version: int = 1) -> FoundFile:
    return FoundFile(path, FileStamp(version, version, 7, 1))


def known(path: str, version: int = 1) -> KnownFile:
    return KnownFile(path, to_stamp(found(path, version).stamp), "hash", version)


@given(before=VERSIONS, now=VERSIONS, unread=st.lists(st.sampled_from(["sub", "sub/deep", "other"]), max_size=2))
def test_everything_new_or_changed_is_read_and_nothing_unlisted_goes(
    before: dict[str, int], now: dict[str, int], unread: list[str]
) -> None:
    rows = {path: known(path, version) for path, version in before.items()}
    walk = FileWalk([found(path, version) for path, version in now.items()], unread=unread)
    plan = file_plan.plan_files(rows, walk)
    assert {each.path for each in plan.read} == {path for path in now if before.get(path) != now[path]}
    for each in plan.gone:
        assert each.path not in now
        assert not any(each.path.startswith(f"{folder}/") for folder in unread)
    hidden = {path for path in before if any(path.startswith(f"{folder}/") for folder in unread)}
    assert {each.path for each in plan.gone} == before.keys() - now.keys() - hidden


def test_a_file_that_something_happened_to_is_read_whatever_its_stamp() -> None:
    walk = FileWalk([found("a.md"), found("b.md")])
    plan = file_plan.plan_files({"a.md": known("a.md"), "b.md": known("b.md")}, walk, touched={"b.md"})
    assert [each.path for each in plan.read] == ["b.md"]


def test_one_that_may_have_changed_unseen_is_read_again() -> None:
    row = KnownFile("a.md", "", "hash", 1)
    assert file_plan.plan_files({"a.md": row}, FileWalk([found("a.md")])).read == [found("a.md")]


def test_over_the_budget_the_same_files_are_kept_each_time_and_the_others_counted() -> None:
    walk = FileWalk([found(name, 10) for name in ("c", "a", "b")])
    kept = file_plan.keep_within(walk, FileBudget(files=9, bytes=25))
    assert ([each.path for each in kept.found], dict(kept.left_out)) == (["a", "b"], {file_plan.OVER_BUDGET: 1})
    kept = file_plan.keep_within(walk, FileBudget(files=1, bytes=99))
    assert ([each.path for each in kept.found], dict(kept.left_out)) == (["a"], {file_plan.TOO_MANY: 2})


@given(sizes=st.lists(st.integers(0, 2 * file_plan.BATCH_BYTES), max_size=60))
def test_batches_hold_every_file_once_and_are_bounded(sizes: list[int]) -> None:
    files = [FoundFile(str(number), FileStamp(size, 1, 1, 1)) for number, size in enumerate(sizes)]
    batches = list(file_plan.split_batches(files))
    assert [each for batch in batches for each in batch] == files
    for batch in batches:
        assert 0 < len(batch) <= file_plan.BATCH_FILES
        assert len(batch) == 1 or sum(each.stamp.size for each in batch) <= file_plan.BATCH_BYTES


def test_many_missing_of_few_are_a_lost_disk_and_few_of_many_are_not() -> None:
    assert file_plan.has_vanished(30, 50)
    assert not file_plan.has_vanished(30, 100)
    assert not file_plan.has_vanished(file_plan.MANY_FILES, file_plan.MANY_FILES)
