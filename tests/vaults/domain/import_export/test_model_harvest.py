"""A working day that a configured model reads: asked when the day is quiet, for what is new, and within a budget.

Covers vaults.transcripts.model_extraction.conversation_extraction, vaults.transcripts.model_extraction.model_share,
vaults.transcripts.model_extraction.model_memory, vaults.transcripts.model_extraction.model_kinds,
vaults.transcripts.model_extraction.extraction_setup.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from server.services import Services
from tests.conftest import Asking
from tests.harvested_day import DAY_S, OWNER, QUIET_S, HarvestedDay, endpoint, kept
from tests.vaults.transcripts.model_extraction.completions import Completions, failing, memory
from vaults.domain.import_export import import_runs, run_undo
from vaults.domain.import_export.harvesting import Harvester
from vaults.domain.import_export.vault_import import open_push
from vaults.transcripts.exclusions import HarvestRules
from vaults.transcripts.model_extraction import conversation_extraction
from vaults.transcripts.model_extraction.model_command import ModelCommand
from vaults.transcripts.model_extraction.prompt import MARKER
from vaults.transcripts.model_extraction.waiting_state import FIRST_PAUSE_S
from vaults.transcripts.remembering import VOID
from vaults.vault import Vault

PNPM = "Please use pnpm, not npm, in this repository from now on."


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        yield held


@pytest.fixture
def completions() -> Iterator[Completions]:
    running = Completions()
    yield running
    running.close()


@pytest.fixture
def day(tmp_path: Path, vault: Vault) -> HarvestedDay:
    found = HarvestedDay(tmp_path, vault)
    found.now = found.path.stat().st_mtime + 10 * DAY_S  # the lines' own times are of another day
    return found


async def test_a_quiet_day_becomes_memories_that_point_to_their_turns(
    day: HarvestedDay, completions: Completions, ask: Asking
) -> None:
    day.add("user", PNPM)
    day.say("We keep tide tables in SQLite, since they are queried by day.")
    completions.say(
        memory(turns=[1], title="Tides live in SQLite"),
        memory(turns=[0], kind="preference", title="pnpm, not npm", content="Use pnpm.", confidence=1.0),
    )
    report = await day.pass_by(endpoint(completions), QUIET_S)
    assert (report.extraction.calls, report.extraction.memories, report.rejected) == (1, 2, [])
    found = {each["title"]: each for each in await kept(ask)}
    assert set(found) == {"Tides live in SQLite", "pnpm, not npm"}
    tides = (await ask("memory_get", ids=[found["Tides live in SQLite"]["id"]])).content["memories"][0]
    assert (tides["type"], tides["confidence"], tides["position"]) == ("learning", 0.6, 1)
    assert tides["metadata"] == {"turns": [1], "extracted": "codebase", "rule": "model"}
    assert (tides["tags"], tides["parent"]) == (["transcript", "episodic"], "transcript:claude-code:day")
    wish = (await ask("memory_get", ids=[found["pnpm, not npm"]["id"]])).content["memories"][0]
    assert (wish["type"], wish["confidence"]) == ("preference", 0.7)  # no more than the rules' floor
    assert '{"turn": 0, "who": "user", "text": "' + PNPM in completions.prompts[0]


async def test_a_day_that_goes_on_is_not_asked_about(day: HarvestedDay, completions: Completions, ask: Asking) -> None:
    model = endpoint(completions)
    for _ in range(3):
        day.add("user", PNPM)
        day.run("make test", "all passed")
        await day.pass_by(model, QUIET_S - 1)
    assert completions.asked == []
    assert [each["type"] for each in await kept(ask)] == ["learning"]  # a command that worked stays with the rules
    await day.pass_by(model, QUIET_S)
    assert len(completions.asked) == 1
    for _ in range(3):
        assert (await day.pass_by(model, DAY_S)).extraction.calls == 0  # unchanged
    assert len(completions.asked) == 1


async def test_one_that_was_left_is_asked_about_at_once(day: HarvestedDay, completions: Completions) -> None:
    day.add("user", PNPM)
    day.add("user", "<command-name>/exit</command-name><command-args></command-args>")
    assert (await day.pass_by(endpoint(completions))).extraction.calls == 1


async def test_only_what_is_new_is_asked_about_with_what_was_before_as_context(
    day: HarvestedDay, completions: Completions, ask: Asking
) -> None:
    day.add("user", "The harbour opens at nine.")
    completions.say(memory(title="Opening", content="The harbour opens at nine.", kind="useful"))
    await day.pass_by(endpoint(completions), QUIET_S)
    day.add("user", "No, it opens at ten since May.")
    completions.say(
        memory(title="Opening since May", content="It opens at ten.", kind="useful", turns=[0, 1], replaces=[1])
    )
    await day.pass_by(endpoint(completions), QUIET_S)
    second = completions.prompts[1]
    assert '"text": "The harbour opens at nine.", "context": true' in second
    assert '{"memory": 1, "title": "Opening"' in second
    assert '"text": "No, it opens at ten since May."}' in second
    assert [each["title"] for each in await kept(ask)] == ["Opening since May"]
    [gone] = [each for each in await kept(ask, archived=True) if each["title"] == "Opening"]
    assert gone["archived_reason"] == VOID


async def test_what_was_taken_back_may_be_so_again(day: HarvestedDay, completions: Completions, ask: Asking) -> None:
    ten = {"title": "Ten", "content": "It opens at ten."}
    for said, made in (
        ("nine", memory()),
        ("ten", memory(**ten, turns=[1], replaces=[1])),
        ("nine", memory(turns=[2], replaces=[1])),
    ):
        day.add("user", f"It opens at {said}.")
        completions.say(made)
        await day.pass_by(endpoint(completions), QUIET_S)
    assert [each["title"] for each in await kept(ask)] == ["Tides live in SQLite"]


async def test_what_is_told_again_is_one_memory_of_all_its_turns(
    day: HarvestedDay, completions: Completions, ask: Asking
) -> None:
    day.add("user", "Tides are in SQLite.")
    completions.say(memory())
    await day.pass_by(endpoint(completions), QUIET_S)
    day.add("user", "In tides.db, to be exact.")
    completions.say(memory(title="Tides live in  sqlite!", content="Tide tables are in tides.db.", turns=[1]))
    await day.pass_by(endpoint(completions), QUIET_S)
    [one] = await kept(ask, archived=True)
    found = (await ask("memory_get", ids=[one["id"]])).content["memories"][0]
    assert (found["content"], found["metadata"]["turns"]) == ("Tide tables are in tides.db.", [0, 1])


async def test_a_long_conversation_is_asked_about_in_parts_of_whole_turns(
    day: HarvestedDay, completions: Completions
) -> None:
    day.max_characters = 4_000
    for number in range(8):
        day.add("user", f"Line {number}: {'word ' * 250}")
    report = await day.pass_by(endpoint(completions), QUIET_S, most_calls=1)
    assert report.extraction.calls == 1
    report = await day.pass_by(endpoint(completions))
    assert report.extraction.calls == len(completions.prompts) - 1 > 1
    lines = [
        json.loads(line) for prompt in completions.prompts for line in prompt.splitlines() if line[:7] == '{"turn"'
    ]
    assert [line["turn"] for line in lines if "context" not in line] == list(range(8))
    assert all(line["text"].endswith("word") for line in lines if "context" not in line)
    assert any("context" in line for line in lines)
    assert all(len(prompt) < 8_000 for prompt in completions.prompts)


async def test_one_that_was_begun_anew_is_read_anew(day: HarvestedDay, completions: Completions, ask: Asking) -> None:
    day.add("user", "Tides are in SQLite.")
    completions.say(memory())
    await day.pass_by(endpoint(completions), QUIET_S)
    day.path.write_text("")
    day.add("user", "Tides are in a file.")
    completions.say(memory(title="Tides live in a file"))
    await day.pass_by(endpoint(completions))
    assert await kept(ask) == []
    await day.pass_by(endpoint(completions), QUIET_S)
    assert '"context"' not in completions.prompts[1].partition("<conversation")[2]
    assert [each["title"] for each in await kept(ask)] == ["Tides live in a file"]


async def test_secrets_leave_neither_with_the_prompt_nor_with_the_answer(
    day: HarvestedDay, completions: Completions, ask: Asking
) -> None:
    token = "ghp_" + "a1B2c3D4e5F6a7B8c9D0e1F2a3B4c5D6e7F8"
    other = "ghp_" + "f8E7d6C5b4A3f2E1d0C9b8A7f6E5d4C3b2A1"
    day.add("user", f"Always push with the token {token}, please.")
    day.run(f"git push https://x:{token}@github.com/a/b", f"fatal: {token} is no good", failed=True)
    completions.say(memory(content=f"The token is {other}.", title=f"Push with {other}"))
    report = await day.pass_by(endpoint(completions), QUIET_S)
    assert report.extraction.memories == 1
    assert token not in json.dumps(completions.asked)
    shown = json.dumps(await kept(ask))
    assert "redacted" in shown
    assert other not in shown
    states = b"".join((day.folder / "state" / name).read_bytes() for name in ("extraction.db", "memories.db"))
    assert token.encode() not in states
    assert other.encode() not in states


@pytest.mark.parametrize("text", ["I would rather chat.", '{"memories": [{"kind": "fi', '{"notes": []}'])
async def test_an_answer_of_no_use_leaves_that_part_to_the_rules(
    day: HarvestedDay, completions: Completions, ask: Asking, text: str
) -> None:
    day.add("user", PNPM)
    completions.text = text
    report = await day.pass_by(endpoint(completions), QUIET_S)
    assert (report.extraction.calls, report.extraction.unusable.total()) == (1, 1)
    assert [each["type"] for each in await kept(ask)] == ["preference"]
    day.say("Tide tables live in SQLite.")
    completions.say(memory(turns=[1]))
    await day.pass_by(endpoint(completions), QUIET_S)  # what follows is the model's again
    assert sorted(each["type"] for each in await kept(ask)) == ["learning", "preference"]


async def test_a_model_that_fails_is_left_alone_and_asked_again(
    day: HarvestedDay, completions: Completions, ask: Asking
) -> None:
    day.add("user", PNPM)
    completions.script = [failing(401), failing(401)]
    model = endpoint(completions)
    report = await day.pass_by(model, QUIET_S)
    assert report.extraction.failed == {"the endpoint answered 401": 1}
    await day.pass_by(model, FIRST_PAUSE_S - 1)
    assert len(completions.asked) == 1
    await day.pass_by(model, 1)
    await day.pass_by(model, FIRST_PAUSE_S)  # twice as long, the second time
    assert (len(completions.asked), await kept(ask)) == (2, [])
    completions.say(memory())
    await day.pass_by(model, FIRST_PAUSE_S)
    assert [each["title"] for each in await kept(ask)] == ["Tides live in SQLite"]


async def test_what_a_model_fails_at_time_after_time_is_left_to_the_rules(
    day: HarvestedDay, completions: Completions, ask: Asking
) -> None:
    day.add("user", PNPM)
    completions.script = [failing(401)] * 20
    model = endpoint(completions)
    for _ in range(8):
        await day.pass_by(model, DAY_S / 2)
    assert len(completions.asked) == conversation_extraction.MAX_FAILURES
    assert [each["type"] for each in await kept(ask)] == ["preference"]


async def test_a_budget_is_one_a_day_and_outlasts_a_restart(
    day: HarvestedDay, completions: Completions, ask: Asking
) -> None:
    day.max_calls = 1
    day.now -= day.now % DAY_S  # midnight
    day.add("user", PNPM)
    model = endpoint(completions)
    completions.say(memory())
    await day.pass_by(model, QUIET_S)
    day.add("user", "And Tuesday is the day of the tides.")
    completions.say(memory(title="Tuesday", turns=[1]))
    for _ in range(3):
        report = await day.pass_by(model, QUIET_S)
        assert (report.extraction.calls, report.extraction.waiting) == (0, 1)
    assert [each["title"] for each in await kept(ask)] == ["Tides live in SQLite"]
    await day.pass_by(model, DAY_S)
    assert {each["title"] for each in await kept(ask)} == {"Tides live in SQLite", "Tuesday"}


async def test_tokens_are_counted_as_the_endpoint_counts_them(day: HarvestedDay, completions: Completions) -> None:
    day.max_tokens, completions.tokens = 100_000, 99_900
    day.now -= day.now % DAY_S
    day.add("user", PNPM)
    assert (await day.pass_by(endpoint(completions), QUIET_S)).extraction.calls == 1
    day.add("user", "Thank you.")
    report = await day.pass_by(endpoint(completions), QUIET_S)
    assert (report.extraction.calls, report.extraction.waiting) == (0, 1)


async def test_what_a_budget_never_reaches_is_left_to_the_rules(
    day: HarvestedDay, completions: Completions, ask: Asking
) -> None:
    day.max_tokens = 10
    day.add("user", PNPM)
    model = endpoint(completions)
    await day.pass_by(model, QUIET_S)
    assert await kept(ask) == []
    report = await day.pass_by(model, conversation_extraction.LONGEST_WAIT_S + 1)
    assert (report.extraction.left_to_rules, completions.asked) == (1, [])
    assert [each["type"] for each in await kept(ask)] == ["preference"]


async def test_its_own_conversations_are_neither_harvested_nor_asked_about(
    day: HarvestedDay, completions: Completions, ask: Asking
) -> None:
    day.add("user", "The harbour opens at nine.")
    day.say("<command-name>sail</command-name> is a mark of Claude Code, @harbour.md a file.")
    await day.pass_by(endpoint(completions), QUIET_S)
    [prompt] = completions.prompts
    day.path = day.path.with_name("own.jsonl")  # as `claude -p` writes down what it was asked
    day.add("user", prompt)
    report = await day.pass_by(endpoint(completions), QUIET_S)
    assert (report.seen.own, report.outcomes) == (1, {})
    day.say("Tide tables live in SQLite, and we decided to keep them there.")  # read later than the prompt
    report = await day.pass_by(endpoint(completions), QUIET_S)
    assert (report.seen.own, report.outcomes, len(completions.prompts)) == (1, {}, 1)
    await day.vault.background.wait()  # until there are vectors: no word of the question is in the other talk
    found = await ask("search", query="decided to keep", kinds=["transcript"], workspace="all")
    assert {hit["title"] for hit in found.content["hits"]} == {"The harbour opens at nine."}
    day.path = day.path.with_name("talk.jsonl")
    day.say(f"This is our prompt:\n{prompt}")
    day.add("user", f"It begins with {MARKER}, I see.")
    report = await day.pass_by(endpoint(completions), QUIET_S)
    assert (report.seen.own, report.extraction.calls) == (0, 1)  # talking about it hides nothing


async def test_what_is_left_out_since_is_not_asked_about(day: HarvestedDay, completions: Completions) -> None:
    day.add("user", PNPM)
    await day.pass_by(endpoint(completions))
    day.rules = HarvestRules(patterns=(".claude/projects/-work-harbour/",))
    await day.pass_by(endpoint(completions), QUIET_S)
    assert completions.asked == []


ECHOING = """
import json, sys
prompt = sys.stdin.read()
turn = next(json.loads(line) for line in prompt.splitlines() if line.startswith('{"turn"'))
made = {"kind": "useful", "title": "What was said", "content": turn["text"], "turns": [turn["turn"]], "confidence": 0.5}
print("```json\\n" + json.dumps({"memories": [made]}) + "\\n```")
"""


async def test_a_command_may_answer_as_well(day: HarvestedDay, tmp_path: Path, ask: Asking) -> None:
    day.add("user", "The harbour opens at nine.")
    command = ModelCommand((sys.executable, "-c", ECHOING), {"PATH": os.environ["PATH"]}, tmp_path / "run", 60.0)
    report = await day.pass_by(command, QUIET_S)
    assert (report.extraction.failed, report.extraction.unusable) == ({}, {})
    assert [each["title"] for each in await kept(ask)] == ["What was said"]


async def test_a_kill_after_the_answer_costs_no_second_call(
    day: HarvestedDay, completions: Completions, ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    day.add("user", "Tides are in SQLite.")
    completions.say(memory())

    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(conversation_extraction.ConversationExtractor, "confirm", die)
        with pytest.raises(Killed):
            await day.pass_by(endpoint(completions), QUIET_S)
    completions.say(memory(title="Worded otherwise"))
    await day.pass_by(endpoint(completions))
    assert len(completions.asked) == 1
    assert [each["title"] for each in await kept(ask)] == ["Tides live in SQLite"]


async def test_what_the_rules_made_before_stays_until_the_model_has_read_it(
    vault: Vault, day: HarvestedDay, completions: Completions, ask: Asking
) -> None:
    day.add("user", PNPM)
    async with open_push(vault, OWNER, ("harvest", "home")) as push:
        await Harvester(day.home, day.folder / "state").run(push)
    day.add("user", "Good night.")
    await day.pass_by(endpoint(completions))
    assert [each["type"] for each in await kept(ask)] == ["preference"]
    completions.say(memory(kind="preference", title="pnpm", content="Use pnpm."))
    await day.pass_by(endpoint(completions), QUIET_S)
    assert [each["title"] for each in await kept(ask)] == ["pnpm"]


async def test_what_a_model_made_is_undone_with_its_harvest(
    vault: Vault, day: HarvestedDay, completions: Completions, ask: Asking
) -> None:
    day.add("user", "Tides are in SQLite.")
    completions.say(memory())
    await day.pass_by(endpoint(completions), QUIET_S)
    run = (await vault.db.read(lambda tx: import_runs.list_runs(tx, OWNER, 1)))[0]
    await run_undo.undo(vault, OWNER, run)
    assert await kept(ask) == []
