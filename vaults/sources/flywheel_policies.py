"""Flywheel's policies as ours, step by step. As of Flywheel 2.12, policies of version 1.0.

A policy is said whole or not at all: one that lacks a step would do something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from vaults.markdown.frontmatter.yaml_reader import load_yaml
from vaults.sources.flywheel_steps import require_text, to_call
from vaults.sources.flywheel_templates import PolicyNames, PolicyUnsayable, to_names, to_value
from vaults.sources.record_fields import cut_text

MAX_STEPS = 50
_WHEN = re.compile(r"\{\{\s*conditions\.([\w-]+)\s*(\|\s*(?:negate|not)\s*)?\}\}\Z")
_CHECKS = {"exists": True, "not_exists": False}

Translate: TypeAlias = Callable[[Any], dict[str, Any]]


def to_policy(text: str) -> dict[str, Any]:
    """Our policy for the YAML of one of theirs. Raises ``PolicyUnsayable`` with everything that has no counterpart."""
    loaded = load_yaml(text.replace("\r\n", "\n"), first_line=1)
    if loaded.error is not None and not loaded.values:
        raise PolicyUnsayable(f"cannot be read: {loaded.error}")
    return _Translation(loaded.values).to_policy()


class _Translation:
    """One policy. What has no counterpart is gathered, so that its owner hears of all of it at once."""

    def __init__(self, theirs: Mapping[str, Any]) -> None:
        self._theirs, self._unsayable = theirs, list[str]()
        steps = theirs.get("steps")
        self._steps = [each for each in steps if isinstance(each, dict)] if isinstance(steps, list) else []
        self._variables = _mapping(theirs.get("variables"))
        self._conditions = _to_conditions(theirs.get("conditions"))
        variables = to_names(self._variables)
        conditions = to_names(self._conditions, variables.values())
        self._names = PolicyNames(variables, conditions, to_names(str(each.get("id")) for each in self._steps))

    def to_policy(self) -> dict[str, Any]:
        if not 0 < len(self._steps) <= MAX_STEPS:
            raise PolicyUnsayable(f"has {len(self._steps)} steps; from 1 to {MAX_STEPS} can be")
        names = self._names
        variables = self._each(self._variables, names.variables, "variables", self._to_variable)
        conditions = self._each(self._conditions, names.conditions, "conditions", self._to_condition)
        steps = {str(each.get("id")): each for each in self._steps}
        if len(steps) < len(self._steps):
            self._unsayable.append("steps: two have the same id")
        own = self._each(steps, names.steps, "steps", self._to_step)
        summary = self._try("output", lambda: to_value(_mapping(self._theirs.get("output")).get("summary"), names))
        if self._unsayable:
            raise PolicyUnsayable("; ".join(self._unsayable[:10]))
        name = re.sub(r"[^a-z0-9_-]+", "-", str(self._theirs.get("name") or "").lower()).strip("-_")[:64]
        if not name:
            raise PolicyUnsayable("has no name")
        policy = {
            "version": "1.0",
            "name": name,
            "description": cut_text(self._theirs.get("description"), 1000) or f"{name}, from Flywheel",
            "variables": variables,
            "conditions": conditions,
            "steps": [{"id": key, **step} for key, step in own.items()],
            "output": {"summary": summary} if isinstance(summary, str) and summary.strip() else None,
        }
        return {key: value for key, value in policy.items() if value}

    def _each(
        self, theirs: Mapping[str, Any], names: Mapping[str, str], place: str, translate: Translate
    ) -> dict[str, dict[str, Any]]:
        found = {names[name]: self._try(f"{place}.{name}", partial(translate, value)) for name, value in theirs.items()}
        return {name: value for name, value in found.items() if value is not None}

    def _try(self, place: str, translate: Callable[[], Any]) -> Any:
        try:
            return translate()
        except PolicyUnsayable as unsayable:
            self._unsayable.append(f"{place[:80]}: {unsayable}")
            return None

    def _to_variable(self, given: Any) -> dict[str, Any]:
        theirs = given if isinstance(given, dict) else {"type": "string", "default": given}
        kind, default = theirs.get("type"), theirs.get("default")
        if kind not in ("string", "number", "boolean", "array", "enum"):
            raise PolicyUnsayable(f"the type {str(kind)[:40]} is not known")
        own = {
            "type": kind,
            "description": cut_text(theirs.get("description"), 500),
            "required": True if theirs.get("required") and default is None else None,
            "default": to_value(default, self._names) if default is not None else None,
            "values": theirs.get("enum") if kind == "enum" else None,
        }
        return {key: value for key, value in own.items() if value is not None}

    def _to_condition(self, theirs: Mapping[str, Any]) -> dict[str, Any]:
        of, _, check = str(theirs.get("check")).partition("_")
        own: dict[str, Any] = {"path": require_text(theirs, self._names, "path")}
        if of == "section":
            own["section"] = require_text(theirs, self._names, "section")
        elif of == "frontmatter":
            own["property"] = require_text(theirs, self._names, "field")
        elif of != "file":
            raise PolicyUnsayable(f"the check {str(theirs.get('check'))[:40]} is not known")
        if of == "frontmatter" and check == "equals":
            return {**own, "equals": to_value(theirs.get("value"), self._names)}
        if check not in _CHECKS:
            raise PolicyUnsayable(f"the check {str(theirs.get('check'))[:40]} is not known")
        return {**own, "exists": _CHECKS[check]}

    def _to_step(self, theirs: Mapping[str, Any]) -> dict[str, Any]:
        name, args = to_call(str(theirs.get("tool")), _mapping(theirs.get("params")), self._names)
        step: dict[str, Any] = {"tool": name}
        if theirs.get("when") is not None:
            step["when"] = self._to_when(str(theirs["when"]))
        return {**step, "args": args}

    def _to_when(self, when: str) -> str:
        found = _WHEN.match(when.strip())
        if found is None or found[1] not in self._names.conditions:
            raise PolicyUnsayable(f"when {when[:60]} names no condition")
        return f"{'not ' if found[2] else ''}{self._names.conditions[found[1]]}"


def _mapping(value: Any) -> Mapping[str, Any]:
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else {}


def _to_conditions(theirs: Any) -> dict[str, Mapping[str, Any]]:
    """By their ids; written as a list, or as a mapping."""
    if isinstance(theirs, list):
        return {str(each.get("id")): each for each in theirs if isinstance(each, dict)}
    return {name: _mapping(value) for name, value in _mapping(theirs).items()}


def to_yaml(policy: Mapping[str, Any]) -> str:
    """A policy as people write one."""
    import yaml

    class PolicyDumper(yaml.SafeDumper):  # type: ignore[misc]
        """Texts of several lines stay so."""

    def write_text(writer: Any, text: str) -> Any:
        return writer.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)

    PolicyDumper.add_representer(str, write_text)
    PolicyDumper.ignore_aliases = lambda *_: True
    written: str = yaml.dump(dict(policy), Dumper=PolicyDumper, sort_keys=False, allow_unicode=True, width=120)
    return written
