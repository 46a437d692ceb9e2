"""A small team's week, made up: what four people and their agents told a vault, for pictures of pages that are in use.

Times are told after the fact: calls take seconds, and the rows they left are dated when they would have happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

VAULT = "bakery"
PEOPLE = ("ada", "ben", "mia")
AGENTS = ("nightly-report",)

Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Sitting:
    """One session: calls of one program for one person, so many minutes apart. ``ago``: days; ``start``: UTC, empty:
    so that the last call was just now."""

    who: str
    client: str
    ago: int
    start: str
    calls: tuple[Call, ...]
    apart: float = 6

    def times(self, now: datetime) -> Iterator[datetime]:
        """When each call was made. What would be in the future was just now."""
        first = now - timedelta(days=self.ago, minutes=self.apart * (len(self.calls) - 1))
        if self.start:
            hour, minute = map(int, self.start.split(":"))
            first = (now - timedelta(days=self.ago)).replace(hour=hour, minute=minute, second=12)
        for number in range(len(self.calls)):
            yield min(first + timedelta(minutes=self.apart * number), now)


def told(content: str, kind: str, title: str, *tags: str, **more: Any) -> Call:
    return ("remember", {"content": content, "type": kind, "title": title, "tags": list(tags), **more})


def written(path: str, content: str) -> Call:
    return ("note_write", {"path": path, "content": content})


def asked(query: str) -> Call:
    return ("recall", {"query": query})


def saved(goal: str, summary: str, left: str, status: str = "completed", **more: Any) -> Call:
    return (
        "session_save",
        {"goal": goal, "summary": summary, "where_left_off": left, "status": status, **more},
    )


CHECKOUT = """---
title: Checkout
status: live
owner: Ben
tags: [service, payments]
---
# Checkout

Takes a basket from [[Web shop]] to a paid order. Money moves through [[Payments]]; the order goes to [[Oven plan]] once it is paid.

## How an order is paid

1. The basket is frozen and priced again: prices on the page may be an hour old.
2. [[Payments]] reserves the amount. A card that needs a second step sends the customer back here.
3. The order is written, *then* the amount is taken. See [[Decisions/Reserve before capture]].

> A paid order that is missing in the oven plan is the worst thing that can happen: a customer stands at an empty counter.

## Limits

| what | limit | why |
|---|---:|---|
| lines in a basket | 60 | the label printer's roll |
| time to pay | 20 min | the reservation ends then |
| orders a minute | 100 | measured in [[Load test of November]] |

## Open

- [x] Retry with the same key after a timeout
- [x] Show the pick-up window before paying
- [ ] Vouchers that are used twice at once
- [ ] Move the 20 minutes into [[Settings of the shop]]
"""

PAYMENTS = """---
title: Payments
status: live
owner: Ada
tags: [service, payments]
---
# Payments

Talks to the card provider for [[Checkout]] and books refunds for [[Support desk]].

Every call carries a key made of the order's number and the attempt, so that a retry never takes money twice
([[Decisions/One key for each attempt]]).

## When it is slow

Follow [[Runbooks/Card provider is down]]. Since [[Load test of November]] we know that 140 orders a minute are fine.
"""

NOTES: dict[str, str] = {
    "Home.md": "# Bakery\n\nAn online shop for eleven bakeries.\n\n- [[Web shop]], [[Checkout]], [[Payments]], [[Oven plan]], [[Label printer]]\n- [[Support desk]] and its [[Runbooks/Card provider is down|runbooks]]\n- What we agreed on: [[Decisions/Reserve before capture]], [[Decisions/One key for each attempt]], [[Decisions/Postgres in production]]\n- [[People/Ada]], [[People/Ben]], [[People/Mia]]\n",
    "Services/Checkout.md": CHECKOUT,
    "Services/Payments.md": PAYMENTS,
    "Services/Web shop.md": "---\ntitle: Web shop\nstatus: live\nowner: Mia\ntags: [service]\n---\n# Web shop\n\nThe pages customers see. Baskets go to [[Checkout]]; what is sold out comes from [[Oven plan]].\n\nTexts are in [[Style of our texts]].\n",
    "Services/Oven plan.md": "---\ntitle: Oven plan\nstatus: live\nowner: Mia\ntags: [service]\n---\n# Oven plan\n\nSays each bakery what to bake and when. Fed by [[Checkout]], printed by [[Label printer]].\n\nClosed days stand in [[Settings of the shop]].\n",
    "Services/Label printer.md": "---\ntitle: Label printer\nstatus: live\nowner: Ben\ntags: [service, hardware]\n---\n# Label printer\n\nOne in each bakery, reached through [[Oven plan]]. Jams: [[Runbooks/Printer does not answer]].\n",
    "Services/Support desk.md": "---\ntitle: Support desk\nstatus: live\nowner: Mia\ntags: [service]\n---\n# Support desk\n\nRefunds go through [[Payments]]. Answers follow [[Style of our texts]].\n",
    "Decisions/Reserve before capture.md": "---\ntitle: Reserve before capture\nstatus: decided\ntags: [decision, payments]\n---\n# Reserve before capture\n\n[[Checkout]] writes the order before [[Payments]] takes the money. An order without money can be asked for again; money without an order cannot be explained.\n",
    "Decisions/One key for each attempt.md": "---\ntitle: One key for each attempt\nstatus: decided\ntags: [decision, payments]\n---\n# One key for each attempt\n\nA retry of [[Payments]] sends the same key. Found in [[Load test of November]].\n",
    "Decisions/Postgres in production.md": "---\ntitle: Postgres in production\nstatus: decided\ntags: [decision]\n---\n# Postgres in production\n\nProduction of [[Checkout]] and [[Oven plan]] moves to Postgres; tests stay on SQLite, because they must run offline.\n",
    "Decisions/No cash on delivery.md": "---\ntitle: No cash on delivery\nstatus: decided\ntags: [decision, payments]\n---\n# No cash on delivery\n\nAsked for by two bakeries, turned down: [[Oven plan]] could not tell paid orders from others.\n",
    "Runbooks/Card provider is down.md": "---\ntitle: Card provider is down\ntags: [runbook, payments]\n---\n# Card provider is down\n\n1. Look at the status page of the provider.\n2. Switch [[Checkout]] to pay at the counter, in [[Settings of the shop]].\n3. Tell [[Support desk]].\n",
    "Runbooks/Printer does not answer.md": "---\ntitle: Printer does not answer\ntags: [runbook, hardware]\n---\n# Printer does not answer\n\nTurn the [[Label printer]] off for ten seconds. If that does not help, [[Oven plan]] shows the list on the screen.\n",
    "Runbooks/Deploy.md": "---\ntitle: Deploy\ntags: [runbook]\n---\n# Deploy\n\nOn Mondays and Wednesdays before noon: [[Web shop]] first, then [[Checkout]], [[Payments]] last.\n\nNever in the week before Christmas: [[Decisions/No deploys in Advent]].\n",
    "Decisions/No deploys in Advent.md": "---\ntitle: No deploys in Advent\nstatus: decided\ntags: [decision]\n---\n# No deploys in Advent\n\nFrom 15 December on only what is on fire. [[Runbooks/Deploy]] says how.\n",
    "Load test of November.md": "# Load test of November\n\n140 orders a minute through [[Checkout]] and [[Payments]], for an hour. Two things broke: retries took money twice, and [[Oven plan]] locked its table.\n",
    "Settings of the shop.md": "# Settings of the shop\n\nRead by [[Web shop]], [[Checkout]] and [[Oven plan]] at start.\n",
    "Style of our texts.md": "# Style of our texts\n\nWe say what happened, then what to do. Used by [[Support desk]] and [[Web shop]].\n",
    "People/Ada.md": "# Ada\n\n[[Payments]], [[Decisions/Postgres in production]].\n",
    "People/Ben.md": "# Ben\n\n[[Checkout]], [[Label printer]].\n",
    "People/Mia.md": "# Mia\n\n[[Web shop]], [[Oven plan]], [[Support desk]].\n",
}

SUBJECTS = ("Checkout", "Payments", "Web shop", "Oven plan", "Label printer", "Support desk")


def daily_notes(now: datetime) -> dict[str, str]:
    """A line or two of each working day of four weeks."""
    notes = {}
    for ago in range(28, 0, -1):
        day = now - timedelta(days=ago)
        if day.weekday() < 5:
            one, other = SUBJECTS[ago % 6], SUBJECTS[(ago * 5 + 2) % 6]
            both = f"[[{one}]]" if one == other else f"[[{one}]] and [[{other}]]"
            person = ("Ada", "Ben", "Mia")[ago % 3]
            notes[f"Daily/{day:%Y-%m-%d}.md"] = f"# {day:%A, %-d %B}\n\n[[People/{person}]] worked on {both}.\n"
    return notes


def sittings(now: datetime) -> Iterator[Sitting]:
    """The oldest first."""
    dailies = list(daily_notes(now).items())
    first = tuple(written(*each) for each in NOTES.items())
    yield Sitting(
        "ada", "claude-code", 26, "08:30", (*first, saved("First notes", "All services have one", "Runbooks")), apart=4
    )
    for part in range(4):
        some = tuple(written(*each) for each in dailies[part * 5 : part * 5 + 5])
        yield Sitting(
            "nightly-report",
            "cron",
            24 - 6 * part,
            "02:00",
            (*some, saved("Daily notes", "Written", "Nothing is left")),
            apart=1,
        )
    yield from _EARLIER
    yield from _YESTERDAY
    yield from _TODAY


_EARLIER = (
    Sitting("ada", "claude-code", 19, "09:05", (
        told("The card provider answers within 4 s at the 99th percentile; we give up after 10 s and retry once with the same key.", "fact", "How long the card provider takes", "payments"),
        told("A retry after a timeout took the money twice, because the second attempt had a key of its own.", "error", "Money was taken twice", "payments", "incident"),
        told("Every attempt of one order carries the same key, made of the order's number. The provider then answers with the first result.", "decision", "One key for each order", "payments"),
        saved("Find out why a customer paid twice", "The retry had a new key", "Nothing is left"),
    )),
    Sitting("ben", "cursor", 15, "13:20", (
        asked("how do we retry payments?"),
        told("The label printer takes at most 60 lines. Longer orders are cut without a word, so the basket must be limited before.", "learning", "The label printer cuts after 60 lines", "hardware", "checkout"),
        told("Baskets are priced again when they are frozen: a price on the page may be an hour old.", "fact", "Baskets are priced twice", "checkout"),
        saved("Limit the basket", "60 lines at most, with a text that says why", "Mia checks the text"),
    )),
    Sitting("mia", "codex", 12, "10:00", (
        told("Customers read the pick-up window only when it stands above the button.", "observation", "Where the pick-up window belongs", "web"),
        told("We write to customers in short sentences: what happened, then what to do. No exclamation marks.", "preference", "How we write to customers", "web", "support"),
        told("Bakery 7 in the old town closes on Wednesdays, and its ovens are booked by bakery 3 then.", "fact", "Bakery 7 is closed on Wednesdays", "oven-plan"),
        saved("Texts of the shop", "All pages read once", "The page of errors is still English"),
    )),
    Sitting("ada", "claude-code", 8, "08:50", (
        asked("what broke in the load test?"),
        told("140 orders a minute for an hour went through. The oven plan locked its whole table on each order; a lock for each bakery is enough.", "learning", "What the load test showed", "load", "oven-plan"),
        told("Deploys run on Mondays.", "decision", "When we deploy", "deploy", key="deploy-days"),
        ("recall", {"query": "who owns the oven plan?", "limit": 5}),
        saved("Load test", "140 orders a minute hold", "The lock of the oven plan"),
    )),
    Sitting("mia", "codex", 5, "14:10", (
        asked("bakeries that are closed"),
        told("Two bakeries asked for cash on delivery. Turned down: the oven plan cannot tell paid orders from others.", "decision", "No cash on delivery", "payments"),
        ("note_edit", {"path": "Services/Oven plan.md", "action": "add", "section": "Oven plan", "content": "A lock for each bakery, not for the table."}),
        saved("Closed days", "They stand in the settings", "Nothing is left"),
    )),
)  # fmt: skip

_YESTERDAY = (
    Sitting("nightly-report", "cron", 1, "02:00", (asked("open questions"), ("usage", {"since": "1d"}), saved("Report of the night", "Sent", "Nothing is left")), apart=2),
    Sitting("ada", "claude-code", 1, "08:10", (
        ("session_resume", {}), ("context", {"query": "move production to Postgres"}),
        ("claims", {"action": "claim", "resources": ["src/db.ts", "migrations/"], "description": "Postgres"}),
        told("Production moves to Postgres, tests stay on SQLite: they must run offline.", "decision", "Postgres in production, SQLite in tests", "database", entity="Checkout"),
        asked("how are orders locked?"),
        told("SQLite allowed a string in an integer column of old orders: 214 rows had to be mended before the copy.", "learning", "Old orders with text in numbers", "database"),
        ("handoff_create", {"goal": "Production on Postgres", "current_state": "Schema written, 214 old orders mended, copy runs on staging.", "next_action": "Fill the column owner of the 11 bakeries, then compare the counts.", "constraints": ["Tests must run offline"], "claims": ["src/db.ts"], "to": "ben"}),
        saved("Move production to Postgres", "Schema written, copy runs on staging", "Ben fills the column owner", actions=["Wrote the schema", "Mended 214 old orders"]),
    ), apart=19),
    Sitting("ben", "cursor", 1, "11:20", (
        ("session_resume", {}), ("handoff_load", {"accept": True}), asked("which bakeries have no owner?"),
        ("memory_update", {"id": "When we deploy", "content": "Deploys run on Mondays and Wednesdays, before noon.", "add_tags": ["agreed"]}),
        ("note_edit", {"path": "Services/Checkout.md", "action": "replace", "search": "| orders a minute | 100 |", "replacement": "| orders a minute | 140 |"}),
        told("Counts of both databases agree: 48,112 orders, 11 bakeries, 0 without an owner.", "fact", "Counts after the copy", "database"),
        saved("Finish the copy", "Owners filled, counts agree", "Only the runbook is missing"),
    ), apart=23),
    Sitting("mia", "codex", 1, "09:40", (
        ("context", {"query": "the page of errors"}), asked("how do we write to customers?"),
        written("Drafts/Page of errors.md", "# Page of errors\n\nSay what happened, as [[Style of our texts]] says.\n\n- [ ] card was refused\n- [ ] bakery is closed\n- [x] basket is too long\n"),
        ("search", {"query": "pick-up window"}), told("The page of errors was tried with four customers; all found the way back to the basket.", "observation", "Four customers and the page of errors", "web"),
        saved("The page of errors in plain words", "Three of five texts are written", "The text for a refused card", status="paused"),
    ), apart=28),
    Sitting("ada", "claude-code", 1, "13:30", (
        ("context", {"query": "vouchers"}), asked("who asked for vouchers?"),
        told("A voucher is spent when the money is taken, not when it is typed: until then two baskets may hold it.", "learning", "When a voucher is spent", "payments", "vouchers"),
        ("note_edit", {"path": "Services/Payments.md", "action": "add", "section": "When it is slow", "content": "Vouchers are spent when the money is taken."}),
        saved("How vouchers are spent", "Written down", "Two at once are not refused yet"),
    ), apart=31),
    Sitting("mia", "claude-desktop", 1, "15:00", (
        asked("what do customers ask most?"), ("search", {"query": "refunds"}),
        told("Most questions are about the pick-up window; refunds come second.", "observation", "What customers ask most", "support"),
        ("handoff_create", {"goal": "Answers to the ten commonest questions", "current_state": "Questions counted.", "next_action": "Write the answers.", "to": "nightly-report"}),
        saved("Count the questions of a month", "Counted, handed over", "Answers"),
    ), apart=26),
    Sitting("nightly-report", "cron", 1, "20:00", (
        ("session_resume", {}), ("handoff_load", {"accept": True}),
        written("Drafts/Answers.md", "# Answers\n\nIn the words of [[Style of our texts]], for [[Support desk]].\n\n- [ ] When can I pick up?\n- [ ] How do I get my money back?\n"),
        saved("Answers", "Ten drafts are written", "Mia reads them"),
    ), apart=17),
    Sitting("nightly-report", "cron", 0, "02:00", (asked("what changed yesterday"), ("usage", {"since": "1d"}), saved("Report of the night", "Sent", "Nothing is left")), apart=2),
)  # fmt: skip

_TODAY = (
    Sitting("ada", "claude-code", 0, "", (
        ("memory_supersede", {"id": "How long the card provider takes", "content": "The card provider answers within 2 s at the 99th percentile since its move in November; we give up after 6 s and retry once with the same key.", "title": "The card provider is faster", "reason": "measured again after the provider's move"}),
        ("corrections", {"action": "record", "wrong": "Agents open pull requests against main.", "right": "Against next; main is what runs.", "kind": "behaviour"}),
        saved("Ask the provider again", "2 s since its move", "Nothing is left"),
    ), apart=20),
)  # fmt: skip

NOW = (
    Sitting("mia", "codex", 0, "", (
        ("handoff_create", {"goal": "Page of errors in plain words", "current_state": "Three of five texts are written and tried with four customers.", "next_action": "Write the text for a refused card, then ask Ben to build it.", "artifacts": ["Drafts/Page of errors.md"]}),
    ), apart=0),
    Sitting("ben", "cursor", 0, "", (
        ("session_resume", {}), asked("what is left of the move to Postgres?"),
        ("claims", {"action": "claim", "resources": ["docs/runbook.md"], "description": "Runbook for Postgres"}),
    ), apart=0),
    Sitting("ada", "claude-code", 0, "", (
        ("context", {"query": "vouchers that are used twice"}), asked("vouchers"),
        ("claims", {"action": "claim", "resources": ["src/vouchers.ts", "task:vouchers"], "description": "Vouchers used twice at once"}),
        ("session_save", {"goal": "Vouchers that are used twice at once", "summary": "Reproduced with two browsers", "status": "paused"}),
        ("claims", {"action": "claim", "resources": ["src/vouchers.ts", "task:vouchers"], "description": "Vouchers used twice at once"}),
    ), apart=0),
)  # fmt: skip
"""What goes on while the pictures are taken."""
