"""What is odd about content before it goes in. Pure.

Content that replaces text found by a search is exact and is not looked at here.
"""

from __future__ import annotations

import re
from dataclasses import replace

from vaults.advice import Advice, way
from vaults.errors import InvalidArgument
from vaults.markdown.edit import content_repairs
from vaults.markdown.edit.draft import Draft
from vaults.markdown.edit.outline import outline

_RULE = re.compile(r"\s*---[ \t]*(?:\n|\Z)")


def check(draft: Draft) -> Draft:
    """Gather what is wrong. Under ``strict`` raises ``InvalidArgument`` with all of it, under ``warn`` it becomes
    warnings, and ``normalise`` repairs what can be."""
    if draft.edit.guardrails == "off" or not draft.is_block:
        return draft
    problems = [problem for look in CHECKS if (problem := look(draft)) is not None]
    if problems and draft.edit.guardrails == "strict":
        raise InvalidArgument(
            "content",
            "; ".join(problems),
            hint=Advice(
                "correct it", way("with guardrails 'warn' it is repaired where it can be", "note_edit.guardrails")
            ),
        )
    return replace(draft, warnings=(*draft.warnings, *(f"content {problem}" for problem in problems)))


def _heading(draft: Draft) -> str | None:
    return "begins with the section's own heading" if content_repairs.repeated_heading(draft) else None


def _frontmatter(draft: Draft) -> str | None:
    return "begins with a frontmatter fence (---)" if _RULE.match(draft.content) else None


def _time(draft: Draft) -> str | None:
    if draft.edit.format != "timestamp-bullet":
        return None
    found = content_repairs.TIME.match(content_repairs.unmarked(draft.content.lstrip()))
    return f"begins with a time of its own ({found[1]}), which stands for the present one" if found else None


def _bullets(draft: Draft) -> str | None:
    odd = content_repairs.odd_bullets(draft.content)
    return f"has bullets that are not Markdown ({' '.join(odd)})" if odd else None


def _fence(draft: Draft) -> str | None:
    return "opens a code fence that it does not close" if outline(draft.content).open_fence is not None else None


CHECKS = (_heading, _frontmatter, _time, _bullets, _fence)
