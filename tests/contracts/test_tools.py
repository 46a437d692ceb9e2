"""What is asked of every tool, read off the registry: a new one is asked too.

Covers server.tool_json_schema, server.tool_registry, server.tool_spec.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic.fields import FieldInfo

from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.dispatch import dispatch
from server.mcp_bridge.catalogue import ToolCatalogue
from server.services import Services
from server.settings import ENDPOINTS
from server.tool_json_schema import WHOLE_SCHEMA_LIMIT, to_listed_output
from server.tool_spec import COMMON_ARGUMENTS, CONFIRMED, PRESETS, ToolSpec
from server.tools import discover
from tests.tool_list import registry_with
from vaults.search import tokenizer

TOOLS = list(discover(endpoints=ENDPOINTS))
SNAPSHOTS = Path(__file__).resolve().parents[1] / "snapshots" / "tools"
each_tool = pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)


@each_tool
def test_the_first_words_say_what_it_is_for(spec: ToolSpec) -> None:
    assert len(spec.description) >= 40
    assert spec.description[0].isupper()
    assert spec.description.endswith(".")


def _properties(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, value in schema.get("properties", {}).items():
        yield f"{path}{name}", value


@each_tool
def test_the_description_says_when_to_use_it(spec: ToolSpec) -> None:
    assert re.search(r"\b(use|when|before|after)\b", spec.description.casefold())


@each_tool
def test_every_argument_is_described_and_bounded(spec: ToolSpec) -> None:
    for preset in (*PRESETS, None):
        whole = spec.input_schema if preset is None else spec.input_schema_for(Role.ADMIN, preset, "ask")
        for name, schema in _properties(whole):
            assert schema.get("description"), (preset, name)
            bounded = {"maxLength", "maximum", "enum", "const", "maxItems"} & set(schema)
            free = schema.get("type") in ("boolean", "object") or "format" in schema or _number(schema)
            assert bounded or free, (preset, name)


def _number(schema: dict[str, Any]) -> bool:
    return "anyOf" in schema or {"minimum", "exclusiveMinimum"} & set(schema) != set()


@each_tool
def test_schemas_are_plain_objects_that_refuse_what_they_do_not_know(spec: ToolSpec) -> None:
    jsonschema.Draft202012Validator.check_schema(spec.input_schema)
    jsonschema.Draft202012Validator.check_schema(spec.output_schema)
    assert spec.input_schema["additionalProperties"] is False
    for schema in (spec.input_schema, spec.output_schema):
        assert schema["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf", "$ref", "$defs"} & set(schema)
        assert "$ref" not in json.dumps(schema)


@each_tool
def test_what_is_shown_is_taken_and_what_must_be_given_is_shown(spec: ToolSpec) -> None:
    taken, required = spec.input_schema["properties"], spec.input_schema.get("required", [])
    assert set(spec.hidden_args) <= set(taken)
    for preset in PRESETS:
        shown = spec.input_schema_for(Role.WRITER, preset)
        jsonschema.Draft202012Validator.check_schema(shown)
        assert set(required) <= set(shown["properties"]) < {*taken, CONFIRMED}
        assert shown.get("required", []) == required
        always = {"session"} if spec.shows_budget else set(COMMON_ARGUMENTS)
        hidden = {*always, *spec.hidden_args} if preset == "agent" else always
        assert set(taken) - set(shown["properties"]) == hidden


@each_tool
def test_who_may_only_read_is_shown_no_action_that_writes(spec: ToolSpec) -> None:
    assert not spec.writes_for(Role.READER)
    if names := spec.actions_for(Role.ADMIN):
        assert set(spec.input_schema["properties"]["action"]["enum"]) == set(names)
        for role in Role:
            assert spec.input_schema_for(role)["properties"]["action"]["enum"] == spec.actions_for(role)
    for action in spec.actions.values():
        assert action.writes == (action.role > Role.READER) or spec.name in ("doctor", "audit", "backup")


@each_tool
def test_the_interface_did_not_change_unnoticed(spec: ToolSpec) -> None:
    """The diff of these files is the review of the interface; `make snapshots` writes them anew."""
    kept = json.loads((SNAPSHOTS / f"{spec.name}.json").read_text(encoding="utf-8"))
    assert kept == snapshot(spec), f"{spec.name} changed: run make snapshots and review the diff"


def test_no_snapshot_is_left_of_a_tool_that_is_gone() -> None:
    assert {path.stem for path in SNAPSHOTS.glob("*.json")} == {spec.name for spec in TOOLS}


def snapshot(spec: ToolSpec) -> dict[str, Any]:
    """Everything about a tool that callers may rely on."""
    return {
        "name": spec.name,
        "description": spec.description,
        "role": spec.role.label,
        "preset": spec.preset,
        **({"endpoint": spec.endpoint} if spec.endpoint is not None else {}),
        "effect": {"writes": spec.writes, **asdict(spec.effect)},
        "actions": {name: spec.actions[name].role.label for name in spec.actions_for(Role.ADMIN)},
        "input": spec.input_schema,
        "output": spec.output_schema,
    }


@pytest.mark.parametrize("write_mode", ["auto", "ask", "off"])
@pytest.mark.parametrize("role", Role)
def test_the_default_preset_costs_a_model_little(role: Role, write_mode: str) -> None:
    shown = [
        {
            "name": spec.name,
            "description": spec.description,
            "inputSchema": spec.input_schema_for(role, "agent", write_mode),
        }
        for spec in discover().visible(role, "agent", write_mode)
    ]
    assert tokenizer.count_tokens(json.dumps(shown, ensure_ascii=False)) <= 4500


LISTED = 24_000
"""Bytes of the default preset's listing at most, output schemas and envelope included."""


@pytest.mark.parametrize("write_mode", ["auto", "ask", "off"])
@pytest.mark.parametrize("role", Role)
def test_the_listing_of_the_default_preset_is_short_with_its_output_schemas(role: Role, write_mode: str) -> None:
    page = ToolCatalogue(discover()).page((role, "agent", write_mode), None)
    assert len(page.model_dump_json(by_alias=True, exclude_none=True).encode()) <= LISTED


@each_tool
def test_the_published_output_schema_names_and_types_what_the_whole_one_does(spec: ToolSpec) -> None:
    short, whole = to_listed_output(spec.output_schema), spec.output_schema
    jsonschema.Draft202012Validator.check_schema(short)
    assert (short["type"], list(short["properties"])) == ("object", list(whole["properties"]))
    assert short.get("required", []) == whole.get("required", [])
    text = json.dumps(short, separators=(",", ":"))
    assert not {"description", "default", "title", "$ref", "$defs", "null"} & set(_words(short))
    assert len(text) <= WHOLE_SCHEMA_LIMIT or _depth(short) == 1


def _words(node: Any) -> Iterator[str]:
    """Keywords and types of a schema, without the names of properties."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield key
            if key not in ("required", "enum"):
                yield from _words(list(value.values()) if key == "properties" else value)
    elif isinstance(node, list):
        for each in node:
            yield from _words(each)
    elif isinstance(node, str):
        yield node


def _depth(node: Any) -> int:
    if isinstance(node, list):
        return max(map(_depth, node), default=0)
    if not isinstance(node, dict):
        return 0
    return max(("properties" in node) + max(map(_depth, node.values()), default=0), 0)


@pytest.mark.parametrize(
    "whole",
    [
        {"hits": [{"id": "x", "signals": {"a": None}, "tags": [None]}], "more": None},
        {"hits": [], "note": {"deep": {"deeper": 1}}, "either": [1, "x"]},
    ],
)
def test_whatever_fits_the_whole_schema_fits_the_published_one(whole: dict[str, Any]) -> None:
    nullable = {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None, "title": "A"}
    hit = {"type": "object", "required": ["id"], "description": "x" * WHOLE_SCHEMA_LIMIT, "properties": {
        "id": {"type": "string"}, "signals": {"type": "object", "additionalProperties": nullable},
        "tags": {"type": "array", "items": nullable}}}  # fmt: skip
    either = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    deep = {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {"type": "integer"}}}
    properties = {"hits": {"type": "array", "items": hit}, "more": nullable, "note": deep,
                  "either": {"type": "array", "items": either}}  # fmt: skip
    schema = {"type": "object", "properties": properties, "required": ["hits"]}
    jsonschema.validate(whole, schema, jsonschema.Draft202012Validator)
    sent = {name: value for name, value in whole.items() if value is not None}
    jsonschema.validate(sent, to_listed_output(schema), jsonschema.Draft202012Validator)
    longer = {f"field_{number}": {"type": "string"} for number in range(60)}
    flat = to_listed_output({**schema, "properties": {**properties, **longer}})
    jsonschema.validate(sent, flat, jsonschema.Draft202012Validator)
    assert _depth(flat) == 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"more": 1}, flat, jsonschema.Draft202012Validator)


def test_two_tools_of_one_name_stop_the_start() -> None:
    with pytest.raises(RuntimeError):
        registry_with(TOOLS[0], TOOLS[0])


async def test_unknown_arguments_are_refused_by_name(services: Services) -> None:
    caller = Caller(owner("cli"), "main", Role.ADMIN, "cli")
    every = replace(services, registry=registry_with(*TOOLS))
    for spec in TOOLS:
        outcome = await dispatch(every, caller, spec.name, {"no_such_argument": 1})
        assert outcome.code == "invalid_argument", spec.name
        assert set(outcome.content["error"]["details"]) == {"field"}, spec.name


async def test_a_bug_inside_a_tool_reaches_the_caller_as_a_reference_only(services: Services) -> None:
    async def explode(call: object, args: object) -> None:
        raise RuntimeError("secret /srv/vault/path SELECT * FROM memories")

    caller = Caller(owner("cli"), "main", Role.ADMIN, "cli")
    for spec in TOOLS:
        broken = replace(services, registry=registry_with(replace(spec, run=explode, arguments=_Anything)))
        outcome = await dispatch(broken, caller, spec.name, {"action": next(iter(spec.actions))})
        assert outcome.code == "internal", spec.name
        assert set(outcome.content["error"]["details"]) == {"reference"}, spec.name
        assert "secret" not in json.dumps(outcome.content) + outcome.text, spec.name


class _Anything:
    """Arguments that accept whatever is sent."""

    model_fields: dict[str, Any] = {"action": FieldInfo(default=None)}

    @classmethod
    def model_validate(cls, arguments: object) -> object:
        return arguments
