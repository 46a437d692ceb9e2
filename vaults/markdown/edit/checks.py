"""Checks content before it is placed. Pure.

Content that replaces text found by a search is taken as is and not checked here.
"""

from __future__ import annotations

import re
from dataclasses import replace

from vaults.advice import Advice, tool_clause
from vaults.errors import InvalidArgument
from vaults.markdown.edit import content_repairs
from vaults.markdown.edit.draft import EditDraft
from vaults.markdown.edit.outline import read_outline

_RULE = re.compile(r"\s*---[ \t]*(?:\n|\Z)")


def check_content(draft: EditDraft) -> EditDraft:
    """Collect the content's problems. Under ``strict`` raises ``InvalidArgument`` with all of them; under ``warn`` they
    become warnings, and ``normalize_content`` repairs what it can."""
    if draft.edit.guardrails == "off" or not draft.is_block:
        return draft
    problems = [problem for look in CHECKS if (problem := look(draft)) is not None]
    if problems and draft.edit.guardrails == "strict":
        raise InvalidArgument(
            "content",
            "; ".join(problems),
            hint=Advice(
                "correct it",
                tool_clause("with guardrails 'warn' it is repaired where it can be", "note_edit.guardrails"),
            ),
        )
    return replace(draft, warnings=(*draft.warnings, *(f"content {problem}" for problem in problems)))


def _heading(draft: EditDraft) -> str | None:
    return "begins with the section's own heading" if content_repairs.find_repeated_heading(draft) else None


def _frontmatter(draft: EditDraft) -> str | None:
    return "begins with a frontmatter fence (---)" if _RULE.match(draft.content) else None


def _time(draft: EditDraft) -> str | None:
    if draft.edit.format != "timestamp-bullet":
        return None
    found = content_repairs.TIME_PREFIX.match(content_repairs.strip_marker(draft.content.lstrip()))
    return f"begins with a time of its own ({found[1]}), which stands for the present one" if found else None


def _bullets(draft: EditDraft) -> str | None:
    odd = content_repairs.find_odd_bullets(draft.content)
    return f"has bullets that are not Markdown ({' '.join(odd)})" if odd else None


def _fence(draft: EditDraft) -> str | None:
    return "opens a code fence that it does not close" if read_outline(draft.content).open_fence is not None else None


CHECKS = (_heading, _frontmatter, _time, _bullets, _fence)
