"""Numbers and names in the pages about notes and promises are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from auth.access_cache import POLL_S, STALE_S
from ops.settings import OpsSettings
from server.tools import discover
from vaults.domain.notes.commit import overwrites
from vaults.domain.notes.index import extraction
from vaults.files import notebook, paths
from vaults.markdown.edit import text_search
from vaults.markdown.frontmatter import edits, parser, values, yaml_writer
from vaults.settings import NotesSettings

ROOT = Path(__file__).resolve().parents[2]
NOTES = NotesSettings()
MIB, KIB = 1024 * 1024, 1024
PRESETS = ("agent", "notes", "full")


def shown(preset: str) -> int:
    """How many tools a preset shows."""
    within = PRESETS[: PRESETS.index(preset) + 1]
    return sum(spec.preset in within for spec in discover())


TRUE = (
    ("notes.md", f"A client sees {shown('agent')} tools by default"),
    ("notes.md", f"The preset `notes` shows {shown('notes')}"),
    ("notes.md", f"`full` all {shown('full')}"),
    ("notes.md", f"files of more than `notes.max_note` ({NOTES.max_note // MIB} MiB)"),
    ("notes.md", f"paths of more than {paths.MAX_PATH_BYTES:,} bytes or {paths.MAX_SEGMENTS} folders"),
    ("notes.md", f"the last {NOTES.versions:,} changes, {NOTES.versions_mb} MB"),
    ("notes.md", f"{parser.MAX_CHARACTERS:,} characters, {values.MAX_DEPTH} levels"),
    ("notes.md", f"{edits.MAX_KEYS} keys of {yaml_writer.MAX_VALUE // KIB} KB each"),
    ("notes.md", f"{text_search.MAX_PATTERN:,} characters of RE2"),
    ("notes.md", f"who waits for {notebook.WAIT_S:.0f} s is told to come again"),
    ("notes.md", f"(Notes of up to {overwrites.MAX_BYTES // MIB} MiB.)"),
    ("promises.md", f"links and tasks of notes over {extraction.LONG_BYTES // KIB} KB"),
    ("promises.md", f"more than {NOTES.versions:,} changes or {NOTES.versions_mb} MB ago"),
    ("promises.md", f"notes over {overwrites.MAX_BYTES // MIB} MiB"),
    ("promises.md", f"Revocation and role changes hold in {STALE_S:.0f} s"),
    ("operations.md", f"then `token revoke` the old one | within {STALE_S:.0f} s"),
    ("operations.md", f"more than `ops.shutdown_grace_s` ({OpsSettings().shutdown_grace_s:g})"),
)


@pytest.mark.parametrize(("page", "said"), TRUE)
def test_what_a_page_says_is_what_the_code_does(page: str, said: str) -> None:
    text = " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())
    assert said in text


def test_grants_are_read_each_second_as_promised() -> None:
    assert POLL_S == 1.0


def test_tools_named_for_a_preset_are_in_it() -> None:
    text = " ".join((ROOT / "docs" / "notes.md").read_text(encoding="utf-8").split())
    presets = {spec.name: spec.preset for spec in discover()}
    for preset, sentence in (("agent", r"of those for notes (.+?)\."), ("notes", r"The preset `notes` shows (.+?);")):
        found = re.search(sentence, text)
        assert found is not None
        for name in re.findall(r"`([a-z_]+)`", found[1]):
            assert presets[name] == preset, name


def test_tests_that_promises_rest_on_exist() -> None:
    text = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:tests/[a-z]+/)?(test_[a-z_]+)(?:\.py)?`", text))
    there = {path.stem for path in (ROOT / "tests").rglob("test_*.py")}
    assert len(named) > 15
    assert named <= there, named - there
