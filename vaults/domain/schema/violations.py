"""Checking notes against a schema, written or inferred: what violates it, why, and what would fit. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from vaults.domain.schema.conventions import NAME_PATTERNS, Convention, add_parent_tags, infer_conventions, stem
from vaults.domain.schema.note_properties import SCHEMA_NOTE, NoteProperties
from vaults.domain.schema.property_values import PropertyValue
from vaults.domain.schema.schema_notes import FieldRule, WrittenSchema, parse_schema
from vaults.domain.schema.spellings import suggest_value
from vaults.domain.text.regexes import compile_pattern
from vaults.errors import InvalidArgument

MAX_CHOICES = 10
"""Max values of a closed set that are named."""


@dataclass(frozen=True, slots=True)
class Violation:
    """``against``: the note that says so, ``rules`` given with the question, or the folder or type whose notes do
    otherwise. ``suggestion``: what would fit."""

    path: str
    field: str | None
    reason: str
    suggestion: str | None
    against: str


@dataclass(frozen=True, slots=True)
class SchemaCheck:
    """A schema ready to check notes. ``patterns``: compiled, by field; ``against``: its name in violations."""

    written: WrittenSchema
    patterns: Mapping[str, object]
    against: str


def prepare_check(written: WrittenSchema, against: str) -> SchemaCheck:
    """Compile the patterns of a written schema."""
    patterns = {
        name: compile_pattern(rule.pattern, name) for name, rule in written.fields.items() if rule.pattern is not None
    }
    return SchemaCheck(written, patterns, against)


def check_conventions(notes: Sequence[NoteProperties]) -> list[Violation]:
    """Exceptions from conventions inferred from the notes."""
    by_path = {note.path: note for note in notes}
    usual = _usual_values(notes)
    found: dict[tuple[str, str, str | None, str | None], Violation] = {}
    for each in infer_conventions(notes):
        for path in each.exceptions:
            # Report a note once if it violates the same convention of its folder and its type.
            found.setdefault(
                (path, each.rule, each.field, each.value), _exception_violation(each, by_path[path], usual)
            )
    return sorted(found.values(), key=_violation_order)


def _violation_order(each: Violation) -> tuple[str, str, str]:
    return each.path, each.field or "", each.reason


def _usual_values(notes: Sequence[NoteProperties]) -> dict[str, str]:
    """By field: the text, number or boolean that at least half of its notes share."""
    counted: dict[str, Counter[str]] = {}
    for note in notes:
        for name, value in note.values.items():
            if value.kind in ("string", "number", "boolean"):
                counted.setdefault(name, Counter()).update(value.texts)
    top = {name: counter.most_common(1)[0] for name, counter in counted.items() if counter}
    return {name: text for name, (text, number) in top.items() if 2 * number >= counted[name].total() and number > 1}


def _exception_violation(each: Convention, note: NoteProperties, usual: Mapping[str, str]) -> Violation:
    share, of = f"{each.share:.0%} of {each.notes}", f"{each.of} {each.name or '/'}"
    value = note.values.get(each.field) if each.field else None
    text = value.texts[0] if value and value.texts else ""
    if each.rule == "required":
        reason, better = f"is missing; {share} have it", usual.get(str(each.field))
    elif each.rule == "type":
        reason, better = f"is a {value.kind if value else 'value'}; in {share} it is a {each.value}", None
    elif each.rule == "enum":
        reason = f"is '{text}', as in no other; {share} have one of {', '.join(each.choices[:MAX_CHOICES])}"
        better = suggest_value(text, each.choices)
    elif each.rule == "tag":
        return Violation(note.path, "tags", f"#{each.field} is missing; {share} carry it", f"#{each.field}", of)
    else:
        reason, better = f"the file is not named in {each.value}, as {share} are", None
    return Violation(note.path, each.field, reason, better, of)


def check_written(
    notes: Sequence[NoteProperties], schemas: Mapping[str, SchemaCheck]
) -> tuple[list[Violation], list[NoteProperties]]:
    """Violations of the nearest schema at or above each note's folder, and the notes without any schema."""
    found: list[Violation] = []
    without: list[NoteProperties] = []
    for note in notes:
        check = _nearest_schema(note.folder, schemas)
        if check is None:
            without.append(note)
        else:
            found += find_violations(note, check)
    return found, without


def _nearest_schema(folder: str, schemas: Mapping[str, SchemaCheck]) -> SchemaCheck | None:
    while folder and folder not in schemas:
        folder = folder.rpartition("/")[0]
    return schemas.get(folder)


def parse_schemas(written: Mapping[str, object]) -> tuple[dict[str, SchemaCheck], list[str]]:
    """The schemas in schema notes, by folder, and warnings about invalid ones."""
    found: dict[str, SchemaCheck] = {}
    warnings = []
    for folder, value in sorted(written.items()):
        path = f"{folder}/{SCHEMA_NOTE}" if folder else SCHEMA_NOTE
        try:
            found[folder] = prepare_check(parse_schema(value, path), path)
        except InvalidArgument as failure:
            warnings.append(failure.message.removeprefix("Validation error: "))
    return found, warnings


def find_violations(note: NoteProperties, check: SchemaCheck) -> list[Violation]:
    """The violations of a schema in one note."""
    written = check.written
    found = []
    for name, rule in written.fields.items():
        value = note.values.get(name)
        for reason, better in _find_mismatch(name, value, rule, check):
            found.append(Violation(note.path, name, reason, better, check.against))
    found += [
        Violation(note.path, name, "is not in the schema", _unexpected_field(name, written), check.against)
        for name in note.values
        if not written.others and name not in written.fields and name != "tags"
    ]
    carried = add_parent_tags(note.tags)
    missing = [tag for tag in written.tags if tag not in carried]
    found += [Violation(note.path, "tags", f"#{tag} is missing", f"#{tag}", check.against) for tag in missing]
    if written.names and not NAME_PATTERNS[written.names].fullmatch(stem(note.path)):
        found.append(Violation(note.path, None, f"the file is not named in {written.names}", None, check.against))
    return found


def _unexpected_field(name: str, written: WrittenSchema) -> str | None:
    meant = suggest_value(name, list(written.fields))
    return f"rename it to {meant}" if meant else None


def _find_mismatch(
    name: str, value: PropertyValue | None, rule: FieldRule, check: SchemaCheck
) -> Iterator[tuple[str, str | None]]:
    if value is None or value.kind == "empty":
        if rule.required:
            better = rule.enum[0] if rule.enum and len(rule.enum) == 1 else None
            yield ("is missing" if value is None else "is empty"), better
        return
    if rule.type and value.kind != rule.type and not (rule.type == "string" and value.kind in _TEXTS):
        yield f"is a {value.kind}, not a {rule.type}", _REMEDIES.get((value.kind, rule.type))
        return
    pattern = check.patterns.get(name)
    for text in value.texts:
        if rule.enum is not None and text not in rule.enum:
            yield f"is '{text}', none of {', '.join(rule.enum[:MAX_CHOICES])}", suggest_value(text, rule.enum)
        if pattern is not None and not pattern.fullmatch(text):  # type: ignore[attr-defined]
            yield f"is '{text}', which does not fit {rule.pattern}", None
    yield from _find_range_problems(value, rule)


_TEXTS = ("date", "datetime", "link")
"""Types that also count as strings."""

_REMEDIES = {
    ("string", "list"): "migrate it to_type list",
    ("number", "string"): "migrate it to_type string",
    ("string", "number"): "migrate it to_type number",
    ("string", "boolean"): "migrate it to_type boolean",
    ("string", "date"): "migrate it to_type date",
}


def _find_range_problems(value: PropertyValue, rule: FieldRule) -> Iterator[tuple[str, str | None]]:
    for bound, is_out, word in ((rule.min, _is_below, "below"), (rule.max, _is_above, "above")):
        if bound is not None and is_out(value, bound):
            yield f"is {word} {bound:g}" if isinstance(bound, float) else f"is {word} {bound}", None


def _is_below(value: PropertyValue, bound: float | str) -> bool:
    return _compare(value, bound) < 0


def _is_above(value: PropertyValue, bound: float | str) -> bool:
    return _compare(value, bound) > 0


def _compare(value: PropertyValue, bound: float | str) -> int:
    """Negative if a value is below the bound, positive if above, else 0."""
    if value.kind in ("date", "datetime"):
        text, other = value.texts[0], str(bound)
        return (text > other) - (text < other)
    try:
        limit = float(bound)
    except ValueError:
        return 0
    size = float(value.texts[0]) if value.kind == "number" else _size(value)
    return (size > limit) - (size < limit)


def _size(value: PropertyValue) -> float:
    return float(value.size if value.kind == "list" else len(value.texts[0]) if value.texts else 0)
