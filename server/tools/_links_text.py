"""What ``links`` says of links it looks after, line by line."""

from __future__ import annotations

from collections.abc import Iterator

from server.tools._lines import told
from server.tools._links import Links
from vaults.domain.links.broken import Broken
from vaults.domain.links.health import Health
from vaults.domain.links.opinions import Opinion
from vaults.domain.links.stubs import Stub
from vaults.domain.links.unlinked import Unlinked
from vaults.domain.wording import many
from vaults.graph.happenings import Happening
from vaults.graph.tallies import Standing

NAME = 120
"""Characters told of a name."""

CONTEXT = 160


def told_of(found: Links) -> Iterator[str]:
    """All of it."""
    if found.opinion is not None:
        yield _opinion(found.opinion)
    if found.health is not None:
        yield from _health(found.health)
    if found.links is not None:
        yield from _validated(found)
    if found.mentions is not None:
        yield f"{many(len(found.mentions), 'name')} not linked:" if found.mentions else "No name is left unlinked."
        yield from (mention(each) for each in found.mentions)
    if found.stubs is not None:
        yield f"{len(found.stubs)} of {found.total} names that notes link to, without a note:"
        yield from (stub(each) for each in found.stubs)
    if found.happenings is not None:
        yield f"{len(found.happenings)} things that happened to links, newest first:"
        yield from (happening(each) for each in found.happenings)
    if found.cursor is not None:
        yield f"More: pass cursor={found.cursor}"


def _validated(found: Links) -> Iterator[str]:
    several = found.links or []
    if found.changed is None:
        yield (
            f"{many(len(several), 'link that leads', 'links that lead')} nowhere:"
            if several
            else "Every link looked at leads somewhere."
        )
    elif found.change is not None:
        yield f"Set {_in(found)} right; history undo ref={found.change} undoes it."
    elif found.total:
        yield f"{_in(found)} would be set right; call again with dry_run false."
    else:
        yield "No link that can be set right without being told what it means: pass target and to."
    yield from (broken(each) for each in several)


def _in(found: Links) -> str:
    return f"{many(found.total or 0, 'link')} in {many(len(found.changed or []), 'note')}"


def broken(each: Broken) -> str:
    """One that leads nowhere."""
    likely = ", ".join(f"{told(one.path, NAME)} {one.confidence:.0%} by {one.by}" for one in each.likely)
    there = ", ".join(told(one, NAME) for one in each.headings)
    meant = f" → likely {likely}" if likely else f" → there are {there}" if there else ""
    wanted = f" {told(each.wanted, NAME)}" if each.wanted else ""
    return f"- {told(each.path)}:{each.line} {told(each.target, NAME) or 'itself'}: {each.reason}{wanted}{meant}"


def mention(each: Unlinked) -> str:
    """A name that is not linked."""
    often = f" ({each.count} times)" if each.count > 1 else ""
    meant = " or ".join(told(one, NAME) for one in each.entity[:3])
    return f'- {told(each.path)}:{each.line} "{told(each.term, NAME)}"{often} → {meant}: {told(each.context, CONTEXT)}'


def stub(each: Stub) -> str:
    """A name without a note."""
    named = f"; named in {', '.join(told(path, NAME) for path in each.named_in)}" if each.named_in else ""
    paths = ", ".join(told(path, NAME) for path in each.paths)
    return f"- {told(each.name, NAME)}: {each.wanted}, {_linked(each.references)} ({paths}){named}"


def _linked(notes: int) -> str:
    return many(notes, "note links to it", "notes link to it")


def happening(each: Happening) -> str:
    """Something that happened to a link."""
    where = told(each.path, NAME) if each.path else f"folder {told(each.folder or '/', NAME)}"
    who = f" by {told(each.who, NAME)}" if each.who else ""
    state = f" ({each.source}, {each.state})" if each.source else ""
    change = f" change {each.change}" if each.change else ""
    return f"- {each.at} {each.what}: {where} → {told(each.entity, NAME)}{state}{who}{change}"


def _opinion(each: Opinion) -> str:
    where = f"in {told(each.folder, NAME)}" if each.folder else "in the whole vault"
    counted = "" if each.counted else " You said so before: it counts once a day."
    stopped = "is not suggested any more" if each.suppressed else f"gets {each.points:+g} points when it is suggested"
    return f"{told(each.entity, NAME)} {where} {stopped}: {each.mean:.0%} of its links are kept.{counted}"


def _health(found: Health) -> Iterator[str]:
    counts = found.tallies
    yield (
        f"{counts.notes} notes, {counts.links} links: {counts.resolved} lead to a note, {counts.broken} to none,"
        f" {counts.ambiguous} fit several. About {found.unlinked} names are not linked"
        f" (by {found.sampled} notes looked at)."
    )
    if counts.set_by_us:
        yield "Links set by tools: " + ", ".join(f"{name} {count}" for name, count in counts.set_by_us.items())
    if counts.best:
        yield f"Most agreed with: {_standings(counts.best)}"
    if counts.worst:
        yield f"Least agreed with: {_standings(counts.worst)}"
    if counts.suppressed:
        held = ", ".join(
            f"{told(each.entity, NAME)} in {told(each.folder or '/', NAME)}" for each in counts.suppressions
        )
        yield f"{counts.suppressed} not suggested any more: {held}"
    if found.stubs_total:
        names = ", ".join(f"{told(each.name, NAME)} ({each.references})" for each in found.stubs)
        yield f"{found.stubs_total} names without a note that several notes link to: {names}"
    if counts.waiting:
        yield f"{counts.waiting} changed notes wait to be left alone before names in them are linked."


def _standings(several: list[Standing]) -> str:
    return ", ".join(f"{told(each.entity, NAME)} {each.mean:.0%} of {each.observations:g}" for each in several)
