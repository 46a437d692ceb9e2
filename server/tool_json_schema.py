"""JSON Schema in the form models and clients like: no titles, no null alternatives, no references. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

_CHECK_KEYS = frozenset({"minLength", "minItems", "additionalProperties", "propertyNames", "maxProperties", "pattern"})
"""Keys only a validator needs: a call that breaks one gets an error in words."""

_OF_EACH = _CHECK_KEYS | {"description", "maxLength"}
_LOWER_BOUNDS = frozenset({"minimum", "exclusiveMinimum"})
_ENUM_LIMIT = 8
"""Max values a filter lists; a longer list is shown only by the argument that sets one of them."""

WHOLE_SCHEMA_LIMIT = 600
"""Max bytes of an output schema that is sent whole."""

_TYPE_KEYS = ("type", "enum", "const")


def to_listed_input(schema: dict[str, Any], left_out: Collection[str]) -> dict[str, Any]:
    """An input schema as listings show it to a model, which pays for every word: without the arguments ``left_out``,
    the bounds no model trips over, and empty defaults."""
    properties = {name: _brief(value) for name, value in schema["properties"].items() if name not in left_out}
    if "max_tokens" in properties:  # what is asked comes before how much of it
        properties["max_tokens"] = properties.pop("max_tokens")
    return {**schema, "properties": properties}


def _brief(schema: dict[str, Any]) -> dict[str, Any]:
    dropped = _CHECK_KEYS | (_LOWER_BOUNDS if "maximum" in schema else set())
    out = {key: value for key, value in schema.items() if key not in dropped}
    if not out.get("default", True):
        del out["default"]
    if schema.get("type") == "object":
        out.pop("maxLength", None)
    if "items" in out:
        long = {"enum"} if len(out["items"].get("enum", ())) > _ENUM_LIMIT else set()
        out["items"] = {key: value for key, value in out["items"].items() if key not in _OF_EACH | long}
    return out


def to_listed_output(schema: dict[str, Any]) -> dict[str, Any]:
    """An output schema as listings send it to clients, which pay for it every time and hardly ever show it to a model:
    names and types, without descriptions, defaults and references. One that is still long keeps only its first level.
    Every result that fits the schema fits this one."""
    whole = {**_outline(schema, _MAX_DEPTH), **_required_fields(schema)}
    if len(json.dumps(whole, separators=(",", ":"))) <= WHOLE_SCHEMA_LIMIT:
        return whole
    return {**_outline(schema, 1), **_required_fields(schema)}


_MAX_DEPTH = 32


def _required_fields(schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": schema["required"]} if "required" in schema else {}


def _outline(schema: dict[str, Any], levels: int) -> dict[str, Any]:
    if "anyOf" in schema:
        options = [_outline(option, levels) for option in schema["anyOf"] if option.get("type") != "null"]
        return options[0] if len(options) == 1 else {"anyOf": options}
    out = {key: schema[key] for key in _TYPE_KEYS if key in schema}
    if "enum" in out:
        out.pop("type", None)
    if not levels:
        return out
    if "properties" in schema:
        out["properties"] = {name: _outline(value, levels - 1) for name, value in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        each = schema.get(key)
        if isinstance(each, dict) and each and not _nullable(each):  # nulls inside lists and mappings are kept
            out[key] = _outline(each, levels)
    return out


def simplify_input(schema: dict[str, Any]) -> dict[str, Any]:
    """An input schema without null alternatives: what may be null may also be left out, which is shorter to say."""
    cleaned: dict[str, Any] = _without_null(inline_definitions(schema))
    return cleaned


def inline_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with ``$defs`` inlined, generated titles dropped, and nullable fields not required: results leave
    nulls out."""
    cleaned: dict[str, Any] = _clean(schema, schema.get("$defs", {}))
    return cleaned


def drop_required(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without ``required``, which any part of a value fits."""
    loose: dict[str, Any] = _loosen(schema)
    return loose


def _loosen(node: Any) -> Any:
    if isinstance(node, list):
        return [_loosen(each) for each in node]
    if not isinstance(node, dict):
        return node
    kept = {name: each for name, each in node.items() if name != "required" or not isinstance(each, list)}
    return {name: _loosen(each) for name, each in kept.items()}


def _clean(node: Any, defs: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_clean(item, defs) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = defs[node["$ref"].rpartition("/")[2]]
        return _clean({**target, **{key: value for key, value in node.items() if key != "$ref"}}, defs)
    out = {key: _clean(value, defs) for key, value in node.items() if key not in ("$defs", "title", "properties")}
    if "title" in node and not isinstance(node["title"], str):
        out["title"] = _clean(node["title"], defs)
    if "properties" in node:
        out["properties"] = {name: _clean(value, defs) for name, value in node["properties"].items()}
        required = [name for name in node.get("required", []) if not _nullable(out["properties"][name])]
        out.pop("required", None)
        if required:
            out["required"] = required
    return out


def _nullable(schema: dict[str, Any]) -> bool:
    return any(option.get("type") == "null" for option in schema.get("anyOf", []))


def _without_null(node: Any) -> Any:
    if isinstance(node, list):
        return [_without_null(item) for item in node]
    if not isinstance(node, dict):
        return node
    out = {key: _without_null(value) for key, value in node.items()}
    options = [option for option in out.get("anyOf", []) if option != {"type": "null"}]
    if "anyOf" in out and len(options) == 1:
        rest = {key: value for key, value in out.items() if key != "anyOf"}
        out = {**options[0], **rest}
    if out.get("default", ...) is None:
        del out["default"]
    return out
