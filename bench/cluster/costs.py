"""One vault in a cluster and one without: what a recall and a store cost, and what passing a call on adds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean

from bench.cluster import sites
from bench.figures import Figure
from bench.made_up_text import TextWriter
from bench.measurements import blocks, cpu_seconds, p50, to_ms
from bench.run import Run
from bench.wire import RawConnection, RequestLoad, VaultEndpoint, result_of
from tests.cluster.installation import Installation

PASSAGES, QUERIES, STORES, BLOCK, WARM = 1_000, 1_200, 200, 20, 20
CALLS, CLIENTS, BURST, ROUNDS = 300, 32, 640, 3
CPU, RATE, LOG_KB, ADDED_MS, SETTLE_S = 1.02, 0.80, 10.0, 1.5, 5.0

_LOGGED = """
SELECT coalesce(avg(length(l.payload)) FILTER (WHERE l.seq > %(since)s), 0), p.head
FROM strongroom.placement p LEFT JOIN strongroom.vault_log l USING (vault)
GROUP BY p.vault, p.head ORDER BY p.head DESC LIMIT 1
"""
_APPEND = "SELECT pg_logical_emit_message(true, 'bench', repeat('x', 5000))"
"""A commit of as many bytes as a memory takes."""


@dataclass(frozen=True, slots=True)
class _Side:
    """A server that has the vault, and the way to it."""

    pid: int
    vault: VaultEndpoint


def measure(run: Run) -> Iterator[Figure]:
    """Both servers run all the time and take turns by blocks, on the same texts."""
    with run.folder("cluster-costs") as folder, sites.postgres(folder) as postgres:

        async def compare() -> list[Figure]:
            async with (
                sites.alone(folder / "one", ["main", "many"]) as one,
                sites.several(folder / "two", postgres, 2, ["main", "many"]) as two,
            ):
                return await _compare(run, one, two)

        yield from asyncio.run(compare())


async def _compare(run: Run, one: Installation, two: Installation) -> list[Figure]:
    writer = TextWriter(seed=21)
    texts = [writer.sentence() for _ in range(run.sized(PASSAGES, 100))]
    with run.report_progress(f"store {len(texts):,} memories in both"):
        for installation in (one, two):
            await _fill(installation, texts)
    single = _Side(one.servers[0].pid, sites.endpoint(one, one.servers[0], "main"))
    holder = sites.holder_of(two, "main")
    held = _Side(holder.pid, sites.endpoint(two, holder, "main"))
    other = next(each for each in two.servers if each is not holder)
    await asyncio.sleep(SETTLE_S)
    with run.report_progress("recall, both in turns"):
        figures = [_recall(single, held, [writer.query() for _ in range(run.sized(QUERIES, 40))])]
    with run.report_progress("remember, both in turns"):
        figures += _remember(two, single, held, [writer.sentence() for _ in range(run.sized(STORES, 40))])
    with run.report_progress("calls that are passed on"):
        figures.append(_forwarded(held.vault, sites.endpoint(two, other, "main"), run.sized(CALLS, 40)))
    with run.report_progress(f"{CLIENTS} writers"):
        figures.append(await _many_writers(run, one, two, writer))
    return figures


async def _fill(installation: Installation, texts: Sequence[str]) -> None:
    target = sites.endpoint(installation, installation.servers[0], "main")
    await sites.drive([RequestLoad(target.port, 8, [target.call("remember", {"content": text}) for text in texts])])


def _recall(single: _Side, held: _Side, queries: Sequence[str]) -> Figure:
    spent: dict[_Side, list[float]] = {single: [], held: []}
    with RawConnection(single.vault.port) as to_single, RawConnection(held.vault.port) as to_held:
        ways = ((single, to_single), (held, to_held))
        for some in blocks(len(queries), BLOCK):
            for side, line in ways if some.start // BLOCK % 2 else ways[::-1]:
                before = cpu_seconds(side.pid)
                for number in some:
                    result_of(line.ask(side.vault.call("recall", {"query": queries[number]})))
                if some.start:  # the first block warms
                    spent[side].append((cpu_seconds(side.pid) - before) / len(some))
    ratios = [own / bare for own, bare in zip(spent[held], spent[single], strict=True)]
    raw = f"mean {to_ms(mean(spent[held]))} ÷ {to_ms(mean(spent[single]))}; median of {len(ratios)} paired blocks"
    numbers = {"cluster_s": spent[held], "single_s": spent[single]}
    return Figure("recall, processor time, cluster ÷ single", p50(ratios), CPU, unit="×", raw=raw, numbers=numbers)


def _remember(two: Installation, single: _Side, held: _Side, texts: Sequence[str]) -> Iterator[Figure]:
    took: dict[_Side, list[float]] = {single: [], held: []}
    with RawConnection(single.vault.port) as to_single, RawConnection(held.vault.port) as to_held:
        _, before = _logged(two, 0)
        for some in blocks(len(texts), BLOCK):
            for side, line in ((single, to_single), (held, to_held)):
                for number in some:
                    seconds, body = line.timed(side.vault.call("remember", {"content": texts[number]}))
                    result_of(body)
                    took[side].append(seconds)
        mean_size, after = _logged(two, before)
    append = p50(two.commit_times(_APPEND, STORES))
    allowed, own = p50(took[single]) + append, p50(took[held])
    raw = f"p50 {to_ms(own)} ÷ ({to_ms(p50(took[single]))} + one append of 5 KB by itself, {to_ms(append)})"
    numbers = {"cluster_p50_s": own, "single_p50_s": p50(took[single]), "append_p50_s": append}
    yield Figure("remember, p50 ÷ single and one append", own / allowed, 1.0, unit="×", raw=raw, numbers=numbers)
    raw = f"{mean_size:,.0f} bytes an entry, {after - before:,} for {len(texts)} memories, in a vault filled before"
    size = mean_size * (after - before) / len(texts)
    yield Figure("log per stored memory", size / 1024, LOG_KB, unit="KB", raw=raw)


def _logged(installation: Installation, since: int) -> tuple[float, int]:
    """Of the longest log: bytes of an entry after number ``since``, of those that no base has swallowed; its end."""
    [(size, end)] = installation.rows(_LOGGED, since=since)
    return float(size), int(end)


def _forwarded(direct: VaultEndpoint, passed_on: VaultEndpoint, count: int) -> Figure:
    """The cheapest call there is, so that little else is in it."""
    took: dict[int, list[float]] = {direct.port: [], passed_on.port: []}
    with RawConnection(direct.port) as to_holder, RawConnection(passed_on.port) as to_other:
        for number in range(count + WARM):
            for vault, line in ((direct, to_holder), (passed_on, to_other)):
                seconds, body = line.timed(vault.call("memory_get", {"ids": ["none"]}))
                result_of(body)
                if number >= WARM:
                    took[vault.port].append(seconds)
    through, straight = p50(took[passed_on.port]), p50(took[direct.port])
    raw = f"p50 {to_ms(through)} − {to_ms(straight)}; {count} calls of memory_get each way"
    return Figure("forwarded call, added p50", (through - straight) * 1000, ADDED_MS, unit="ms", raw=raw)


async def _many_writers(run: Run, one: Installation, two: Installation, writer: TextWriter) -> Figure:
    await two.ask("many", "remember", {"content": writer.sentence()})
    targets = [
        sites.endpoint(one, one.servers[0], "many"),
        sites.endpoint(two, sites.holder_of(two, "many"), "many"),
    ]
    rates: dict[int, list[float]] = {each.port: [] for each in targets}
    for _ in range(run.sized(ROUNDS, 1)):
        texts = [writer.sentence() for _ in range(run.sized(BURST, 64))]
        for target in targets:
            load = RequestLoad(target.port, CLIENTS, [target.call("remember", {"content": text}) for text in texts])
            [driven] = await sites.drive([load])
            rates[target.port].append(len(texts) / driven.wall)
    pairs = list(zip(rates[targets[1].port], rates[targets[0].port], strict=True))
    raw = "; ".join(f"{own:.0f} ÷ {bare:.0f} stores/s" for own, bare in pairs)
    share = p50([own / bare for own, bare in pairs])
    return Figure(f"remember, {CLIENTS} writers on one vault, cluster ÷ single", share, RATE, ">=", "×", raw)
