"""What forms of pages hold."""

from __future__ import annotations

from starlette.datastructures import FormData


def text_field(form: FormData, name: str) -> str:
    """A field as it was typed, with line feeds alone; "" for one that is missing, or a file."""
    value = form.get(name)
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""
