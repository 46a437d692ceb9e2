"""Files pushed through the tool become what they would become here."""

from __future__ import annotations

from typing import Any

import pytest

from server.remote_vault.file_push import FilePush
from server.services import Services
from tests.people import person
from vaults.domain.documents.file_intake import GivenFile, IntakeRefused
from vaults.domain.documents.intake import DocumentSource


async def test_a_file_is_pushed_once_with_all_that_is_said_of_it(services: Services) -> None:
    ann = await person(services, "ann")

    async def call(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        outcome = await ann(tool, **arguments)
        assert outcome.ok, outcome.text
        return outcome.content

    push = FilePush(call)
    source = DocumentSource(name="a.txt", uri="file://laptop/a.txt", thread="t", collection="c", title="A")
    stored = await push.push(GivenFile(b"The tender closes in May.", source))
    assert (stored.status, stored.title, stored.format) == ("new", "A", "text")
    again = await push.push(GivenFile(b"The tender closes in May.", source))
    assert (again.status, again.id) == ("unchanged", stored.id)
    (listed,) = (await ann("ingest", action="list")).content["documents"]
    assert (listed["uri"], listed["thread"], listed["collection"]) == ("file://laptop/a.txt", "t", "c")
    with pytest.raises(IntakeRefused, match="binary"):
        await push.push(GivenFile(b"\0\1", DocumentSource(name="a.bin")))
    with pytest.raises(IntakeRefused, match=r"ingest\.hosts"):
        await push.push_page(DocumentSource(name="", uri="https://example.org/"))
