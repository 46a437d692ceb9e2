"""Pages of tools, and what they say of each tool.

Covers server.mcp_bridge.error_wall, server.mcp_bridge.pending_requests, server.caller_views.
"""

from __future__ import annotations

import pytest

from auth.roles import Role
from server.caller_views import first_preset, strictest_mode
from server.mcp_bridge.catalogue import ToolCatalogue
from server.mcp_bridge.error_wall import replace_surrogates
from server.mcp_bridge.pending_requests import PendingRequests, parse_message
from server.tools import discover
from vaults.errors import InvalidArgument

VIEW = (Role.ADMIN, "full", "auto")


def pages(catalogue, view):
    cursor, found = None, []
    while True:
        page = catalogue.page(view, cursor)
        found.append([tool.name for tool in page.tools])
        if (cursor := page.next_cursor) is None:
            return found


def test_pages_join_to_the_whole_list_in_registry_order():
    registry = discover()
    names = [spec.name for spec in registry]
    found = pages(ToolCatalogue(registry, page=5), VIEW)
    assert [name for page in found for name in page] == names
    assert [len(page) for page in found[:-1]] == [5] * (len(found) - 1)
    assert pages(ToolCatalogue(registry), VIEW) == [names]


def test_a_cursor_of_another_view_is_refused():
    catalogue = ToolCatalogue(discover(), page=2)
    cursor = catalogue.page(VIEW, None).next_cursor
    catalogue.page(VIEW, cursor)
    for other in ((Role.READER, "full", "auto"), (Role.ADMIN, "agent", "auto"), (Role.ADMIN, "full", "off")):
        with pytest.raises(InvalidArgument):
            catalogue.page(other, cursor)


@pytest.mark.parametrize("write_mode", ["auto", "ask", "off"])
@pytest.mark.parametrize("role", Role)
def test_annotations_are_true_for_the_role(role, write_mode):
    registry = discover()
    for tool in ToolCatalogue(registry).page((role, "full", write_mode), None).tools:
        spec = registry.get(tool.name)
        writes = spec.writes_for(role) and write_mode != "off"
        hints = tool.annotations
        assert hints.read_only_hint is not writes
        assert hints.destructive_hint is (writes and spec.effect.destructive)
        assert hints.open_world_hint is False
        if spec.actions_for(Role.ADMIN):
            shown = tool.input_schema["properties"]["action"]["enum"]
            mine = [name for name, action in spec.actions.items() if action.role <= role]
            assert shown == [action for action in mine if write_mode != "off" or not spec.actions[action].writes]
            assert shown


def test_the_strictest_write_mode_wins_and_an_unknown_one_allows_nothing():
    assert strictest_mode("auto", "ask") == "ask"
    assert strictest_mode("ask", "off", "auto") == "off"
    assert strictest_mode("auto", "whatever") == "whatever"


def test_the_first_wish_that_is_a_preset_is_taken():
    assert first_preset(None, "x", "notes", "full") == "notes"
    assert first_preset(None, "x") == "agent"


def test_what_no_encoder_takes_is_replaced():
    assert replace_surrogates({"a\ud800": ["ü", "\udfff", ("x", 1)]}) == {"a?": ["ü", "?", ["x", 1]]}


async def test_the_end_of_input_waits_for_what_is_owed():
    ended = []
    owed = PendingRequests(at_end=lambda: ended.append(True))
    for line in (b'{"id":1,"method":"a"}', b'{"id":"b","method":"a"}', b'{"method":"n"}', b"[]", b"no", b'{"id":3}'):
        owed.received(parse_message(line))
    owed.sent('{"jsonrpc":"2.0","method":"x"}')
    owed.sent('{"jsonrpc":"2.0","id":1,"result":{}}')
    assert not owed._none.is_set()
    owed.received(parse_message(b'{"method":"notifications/cancelled","params":{"requestId":"b"}}'))
    await owed.wait_until_answered()
    assert ended == [True]
