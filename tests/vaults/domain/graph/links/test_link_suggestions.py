"""Which links a text is offered, and by what: in a real vault, without a model where none is said.

Covers vaults.domain.graph.links.entity_vector_job, vaults.graph.entity_vectors.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.conftest import Opening
from tests.fakes import HashEmbedder
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from tests.work import PATIENCE_S
from vaults.domain.actors import Actor
from vaults.domain.graph.links import entity_vector_job, link_suggestions
from vaults.domain.graph.links.link_suggestions import NO_MODEL, LinkSuggestion, LinkSuggestions, SuggestionOptions
from vaults.graph import entity_vectors
from vaults.graph.link_feedback import link_trust

ME = Actor("owner", "me")
NOTES = {
    "Space Lua.md": "# Space Lua\n\nA language for scripts.\n",
    "Page.md": "# Page\n\nA single document.\n",
    "ideas/Turbopump.md": "---\naliases: [fuel pump]\ncategory: part\n---\n# Turbopump\n\nIt turns quickly.\n",
    "a/Twin.md": "# Twin\n",
    "b/Twin.md": "# Twin\n",
    **{f"log {number}.md": "We wrote [[Space Lua]] on every page, a page a day.\n" for number in range(6)},
}


@asynccontextmanager
async def vault_of(opening: Opening, notes: dict[str, str] | None = None, **flags: Any) -> AsyncIterator[Desk]:
    async with desk_in(opening, flags) as desk:
        await desk.put(NOTES | (notes or {}))
        yield desk


async def suggested(desk: Desk, text: str, source: str = "new.md", **ask: Any) -> LinkSuggestions:
    return await link_suggestions.suggest_with_total(desk.vault, ME, text, source, SuggestionOptions(**ask))


def by_title(found: LinkSuggestions) -> dict[str, LinkSuggestion]:
    return {each.title: each for each in found.suggestions}


async def test_a_name_people_link_is_offered_and_one_they_only_say_is_not(opening: Opening) -> None:
    async with vault_of(opening) as desk:
        text = "On this page\nwe use Space Lua, and Space Lua again.\n"
        found = by_title(await suggested(desk, text))
        assert list(found) == ["Space Lua"]
        one = found["Space Lua"]
        assert (one.kind, one.term, one.line) == ("mention", "Space Lua", 2)
        assert text[one.start : one.end] == "Space Lua"
        assert one.layers["exact"]
        assert one.layers["habit"] > 0
        lax = by_title(await suggested(desk, text, strictness="aggressive", limit=50))
        assert "Page" not in lax or lax["Page"].layers["habit"] < 0


async def test_each_form_of_a_name_is_offered_once(opening: Opening) -> None:
    async with vault_of(opening) as desk:
        for text, term, layer in (
            ("The Turbopump and a turbo-pump.", "Turbopump", "exact"),
            ("See fuel pump for more.", "fuel pump", "exact"),
            ("See Turbopumps.", "Turbopumps", "stem"),
            ("See Turbo-pump.", "Turbo-pump", "fuzzy"),
            ("See Turbopmp.", "Turbopmp", "fuzzy"),
        ):
            (one,) = (await suggested(desk, text, "ideas/new.md", strictness="aggressive", related=0)).suggestions
            assert (one.path, one.term) == ("ideas/Turbopump.md", term)
            assert layer in one.layers


async def test_what_is_linked_already_and_the_note_itself_are_not_offered(opening: Opening) -> None:
    async with vault_of(opening) as desk:
        linked = "[[Space Lua|scripts]] and Space Lua, and [it](ideas/Turbopump.md), the Turbopump.\n"
        assert not (await suggested(desk, linked, strictness="aggressive")).suggestions
        itself = "Space Lua is Space Lua.\n"
        assert not (await suggested(desk, itself, "Space Lua.md", strictness="aggressive")).suggestions


async def test_no_link_is_offered_where_none_may_stand(opening: Opening) -> None:
    async with vault_of(opening) as desk:
        text = "---\nx: Space Lua\n---\n# Space Lua\n\n`Space Lua` <b title='Space Lua'>\n\n```\nSpace Lua\n```\n"
        assert not (await suggested(desk, text, strictness="aggressive")).suggestions


async def test_of_two_notes_of_one_name_one_is_offered_the_nearer(opening: Opening) -> None:
    async with vault_of(opening) as desk:
        (one,) = (await suggested(desk, "See Twin.", "b/new.md", strictness="aggressive")).suggestions
        assert one.path == "b/Twin.md"


async def test_what_nobody_wants_here_is_not_offered_here(opening: Opening) -> None:
    async with vault_of(opening) as desk:
        await desk.vault.db.write(lambda tx: link_trust.suppress(tx, "owner", "space lua", "diary"))
        assert not (await suggested(desk, "We use Space Lua.", "diary/new.md")).suggestions
        assert (await suggested(desk, "We use Space Lua.", "elsewhere.md")).suggestions


async def test_notes_that_are_linked_together_are_offered_together(opening: Opening) -> None:
    pairs = {f"pair {number}.md": "[[Page]] with [[Turbopump]]\n" for number in range(6)}
    async with vault_of(opening, pairs) as desk:
        found = by_title(await suggested(desk, "We use a [[Page]] here.", strictness="aggressive"))
        assert found["Turbopump"].kind == "related"
        assert found["Turbopump"].term is None
        assert found["Turbopump"].layers["cooccurrence"] > 5


@pytest.mark.parametrize("text", ["", "\n", "---\n---\n", "🦊" * 50, "[" * 5000, "]]" * 5000, "\0\r\n\x1b", "a\ud800b"])
async def test_any_text_is_answered(opening: Opening, text: str) -> None:
    async with desk_in(opening) as desk:
        await desk.put({"Space Lua.md": "x", "(.*)+.md": "y"})
        assert (await suggested(desk, text, "")).suggestions == []


async def test_of_an_endless_text_the_beginning_is_looked_at(opening: Opening) -> None:
    async with vault_of(opening) as desk:
        found = await suggested(desk, "We use Space Lua. " + "word " * 50_000)
        assert found.warnings == [link_suggestions.TEXT_CUT]
        assert list(by_title(found)) == ["Space Lua"]


# Vectors.


def counting(made: list[str], revision: str = "1") -> Callable[[], HashEmbedder]:
    class Counting(HashEmbedder):
        def embed(self, texts: Any) -> Any:
            made.extend(texts)
            return super().embed(texts)

    return lambda: Counting(revision=revision)


async def settled(desk: Desk) -> None:
    await desk.vault.embedder.warm()
    await desk.vault.adopt_model()
    desk.vault.start_background_work()
    async with asyncio.timeout(PATIENCE_S):
        while desk.vault.background.is_busy or await desk.vault.db.read(entity_vectors.is_due):
            if not desk.vault.background.is_busy:
                desk.vault.start_background_work()
            await asyncio.sleep(0.01)


@asynccontextmanager
async def embedded(opening: Opening, made: list[str], revision: str = "1") -> AsyncIterator[Desk]:
    flags = {"notes.watch": "off", "embedding.write_wait_s": 30}
    async with (
        opening(flags, load_model=counting(made, revision)) as services,
        services.pool.lease(services.registry_cache.entry("main")) as vault,
    ):
        assert await vault.notes.wait_for_index(PATIENCE_S)
        desk = Desk(services, vault, vault.notes.root, None)  # type: ignore[arg-type]
        await desk.put(NOTES)
        await settled(desk)
        yield desk


async def rows(desk: Desk) -> dict[str, str]:
    query = "SELECT n.path, v.text_hash FROM entity_vectors v JOIN notes n ON n.seq = v.note"
    return dict(await desk.vault.db.read(lambda tx: tx.all(query)))


async def test_a_note_that_is_about_the_same_is_offered_though_it_is_not_named(opening: Opening) -> None:
    made: list[str] = []
    async with embedded(opening, made) as desk:
        assert set(await rows(desk)) == set(NOTES)
        text = "A pump for fuel: a part that turns quickly. It turns. Turbopump-like: fuel pump part."
        found = await suggested(desk, text.replace("Turbopump-like: fuel pump", "turbopumplike fuel"), "", related=10)
        assert found.warnings == []
        near = link_suggestions.weigh_candidates(desk.vault, "It turns quickly part pump fuel.", "")
        assert any(each.evidence.likeness >= 0.3 and each.place is None for each in (await near).candidates)


async def test_vectors_follow_their_notes_and_nothing_else_is_made_anew(opening: Opening) -> None:
    made: list[str] = []
    async with embedded(opening, made) as desk:
        before = await rows(desk)
        text = (desk.root / "ideas/Turbopump.md").read_text()
        assert sum(each.startswith("Turbopump\nTurbopump\nfuel pump\npart\n") for each in made) == 1
        made.clear()
        # What stands far down does not say what a note is about; what stands at its beginning does.
        await desk.put({"Page.md": NOTES["Page.md"] + "\n" + "word " * 400 + "\n"})
        await settled(desk)
        await desk.put({"Page.md": NOTES["Page.md"] + "\n" + "word " * 400 + "\nfar down\n"})
        await settled(desk)
        about = [each for each in made if each.startswith("Page\nPage\n")]
        assert len(about) == 1
        await desk.put({"ideas/Turbopump.md": text.replace("quickly", "slowly")})
        await settled(desk)
        after = await rows(desk)
        assert {path for path in before if before[path] != after[path]} == {"Page.md", "ideas/Turbopump.md"}
        assert len((await desk.vault.db.read(desk.vault.graph_cache.suggestions.matrix)).notes) == len(NOTES)
        (desk.root / "Page.md").unlink()
        await desk.look()
        assert set(await rows(desk)) == set(NOTES) - {"Page.md"}
        matrix = await desk.vault.db.read(desk.vault.graph_cache.suggestions.matrix)
        assert len(matrix.notes) == len(NOTES) - 1


async def test_another_model_has_every_vector_made_anew(opening: Opening) -> None:
    async with embedded(opening, []) as desk:
        first = await desk.vault.db.read(entity_vectors.read_model)
    made: list[str] = []
    async with embedded(opening, made, revision="2") as desk:
        second = await desk.vault.db.read(entity_vectors.read_model)
        models = await desk.vault.db.read(lambda tx: tx.all("SELECT DISTINCT model FROM entity_vectors"))
        assert first != second
        assert models == [(second,)]
        assert any(each.startswith("Turbopump\nTurbopump\n") for each in made)


async def test_a_saved_note_needs_no_model_to_be_compared(opening: Opening) -> None:
    made: list[str] = []
    async with embedded(opening, made) as desk:
        made.clear()
        text = NOTES["ideas/Turbopump.md"]
        assert (await suggested(desk, text, "ideas/Turbopump.md")).warnings == []
        assert made == []
        await suggested(desk, text.replace("quickly", "slowly"), "ideas/Turbopump.md")
        assert len(made) == 1


async def test_without_a_model_names_and_links_still_count(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    async with embedded(opening, []) as desk:
        monkeypatch.setattr(type(desk.vault.embedder), "texts", _unavailable)
        found = await suggested(desk, "We use Space Lua.")
        assert found.warnings == [NO_MODEL]
        assert list(by_title(found)) == ["Space Lua"]


async def _unavailable(self: object, texts: object, *, urgent: bool) -> object:
    raise entity_vector_job.EmbeddingUnavailable("down")


async def test_a_resting_vault_gives_what_it_learned_back(opening: Opening) -> None:
    async with embedded(opening, []) as desk:
        await suggested(desk, "We use Space Lua.")
        desk.vault.graph_cache.clear()
        learned = desk.vault.graph_cache.suggestions
        assert learned._matrix.rows is None
        assert not learned._lexicon.stems
        assert list(by_title(await suggested(desk, "We use Space Lua."))) == ["Space Lua"]
