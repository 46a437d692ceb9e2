"""``python -m bench.quality``: how much of what answers a question the search finds, on public judged sets, and how
good suggested links are."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import machine
from bench.quality import (
    by_language,
    calibration,
    code,
    evidence,
    extraction,
    fit_ranking,
    linking,
    notes,
    queries,
    runs,
    scores,
    sets,
    table,
)
from bench.quality.own_scores import OwnScorer
from bench.quality.runs import Scorer, SetResults
from bench.quality.scores import ScoreScript
from bench.quality.sets import JudgedSet, JudgedTask
from bench.quality.stored_sets import StoredSets
from bench.run import OUT, ROOT

OWN: Mapping[str, Callable[[Path], int]] = {
    "calibration": lambda out: calibration.main(["--out", str(out)]),
    "code": lambda out: code.main(["--out", str(out)]),
    "evidence": lambda out: evidence.main(["--out", str(out)]),
    "extraction": lambda _: extraction.main([]),
    "linking": lambda out: linking.main(["--out", str(out)]),
    "notes": lambda _: notes.main([]),
    "ranking": lambda out: fit_ranking.main(["--ablate", "--out", str(out)]),
}
"""What is judged beside the sets: whether relevance tells what can be answered, code by its docstrings, what packs and
hits hold for their tokens, memories made of conversations, by a vault of its own suggested links and what links and
names do for a search, and the learned order on conversations it was not fitted on."""

PLACES = (ROOT.parent / "shared" / "bench", ROOT / "shared" / "bench")


def main(argv: Sequence[str] | None = None) -> int:
    """0 when every floor holds, or where there is nothing to measure with; 1 when one does not."""
    given = _arguments(argv)
    lost = _judge_own(given)
    if given.only is not None and set(given.only) <= OWN.keys():
        return lost
    from server.settings import export_environment

    export_environment()
    began = time.monotonic()
    chosen = sets.add_beside([sets.BY_NAME[name] for name in given.only or sets.BY_NAME if name not in OWN])
    shelf, flags = StoredSets(given.out / "stored", given.fresh), _flags(given)
    blocks = [
        block
        for judged, scorer in (_read_data(given, chosen), _read_manual(given, chosen))
        for block in runs.measure(judged, shelf, scorer, ablate=given.ablate, flags=flags)
    ]
    if not blocks:
        return lost
    about = _about(given, time.monotonic() - began)
    table.write_json(given.out / "quality.json", blocks, about)
    if given.misses:
        _write_misses(given.misses, blocks)
    print((table.markdown if given.markdown else table.plain)(blocks, about))
    return int(any(block.missed for block in blocks)) or lost


def _judge_own(args: argparse.Namespace) -> int:
    """Where everything is measured, or what is named; 1 when a floor does not hold."""
    everything = args.only is None and args.data is None and not args.quick and args.model is None
    chosen = [name for name in OWN if everything or name in (args.only or ())]
    return max([OWN[name](args.out) for name in chosen], default=0)


def _read_data(given: argparse.Namespace, chosen: Sequence[JudgedTask]) -> tuple[list[JudgedSet], Scorer]:
    """What lies in the folder of the sets."""
    data = given.data or next((place for place in PLACES if place.is_dir()), PLACES[0])
    scorer = ScoreScript(data / scores.SCORER, given.out / "runs")
    wanted = [task for task in chosen if task.languages is None]
    if wanted and (why := _cannot(data)) is not None:
        print(f"skipped: {why}")
        return [], scorer
    for task in wanted:
        if not sets.is_present(data, task):
            print(f"skipped: {task.title}: its files are not in {data / task.folder}")
    return [_read(data, task, given) for task in wanted if sets.is_present(data, task)], scorer


def _read_manual(given: argparse.Namespace, chosen: Sequence[JudgedTask]) -> tuple[list[JudgedSet], Scorer]:
    """What is made of the manual, which is fetched where it is not there."""
    data = given.out / "manual"
    named = given.only is not None or given.data is None
    wanted = [task for task in chosen if task.languages is not None and named]
    missing = by_language.make_sets(data, wanted)
    for language, why in missing.items():
        print(f"skipped: manual in {sets.LANGUAGES[language][0]}: {why}")
    made = [task for task in wanted if task.languages is not None and task.languages[1] not in missing]
    return [_read(data, task, given) for task in made], OwnScorer()


def _read(data: Path, task: JudgedTask, given: argparse.Namespace) -> JudgedSet:
    """The set; its floors are those of the bundled model, and count for no other."""
    judged = sets.read_set(data, task, quick=given.quick)
    return replace(judged, task=replace(task, goals=())) if given.model else judged


def _flags(given: argparse.Namespace) -> Mapping[str, str]:
    """Settings of the servers, for a model that was named."""
    flags = {"embedding.model": given.model, "embedding.endpoint": given.endpoint}
    flags["embedding.engine"] = "endpoint" if given.endpoint else None
    return {name: value for name, value in flags.items() if value is not None} | dict(given.set)


def _cannot(data: Path) -> str | None:
    if not data.is_dir():
        return f"the judged sets are not here (no {data}); --data names their folder"
    return scores.missing_reason(data)


def _about(args: argparse.Namespace, seconds: float) -> dict[str, Any]:
    from vaults.embed.prepared_model import find_prepared
    from vaults.settings import EmbeddingSettings

    model = find_prepared(EmbeddingSettings())
    return {
        "machine": machine.describe_machine(),
        "model": args.model or (model.identity.name if model else EmbeddingSettings().model),
        "tool": queries.TOOL,
        "depth": queries.DEPTH,
        "seconds": seconds,
        "quick": args.quick,
    }


def _write_misses(path: Path, blocks: Sequence[SetResults]) -> None:
    """It holds questions of the sets: it is for reading, and belongs into no repository."""
    with path.open("w", encoding="utf-8") as file:
        for block in blocks:
            for line in table.list_misses(block):
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _setting(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=VALUE")
    return name, value


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    names = [*sets.BY_NAME, *OWN]
    parser.add_argument("--only", nargs="+", choices=names, metavar="SET", help=f"some of: {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="few questions and documents; no floor counts")
    parser.add_argument("--ablate", action="store_true", help="also with one setting changed at a time")
    parser.add_argument("--fresh", action="store_true", help="store the sets again, whatever was kept")
    parser.add_argument("--markdown", action="store_true", help="print the table as docs/quality.md has it")
    parser.add_argument("--misses", type=Path, metavar="FILE", help="write down what the default did not find")
    parser.add_argument(
        "--model", metavar="NAME", help="embed with another model, by its name or folder; no floor counts"
    )
    parser.add_argument("--endpoint", metavar="URL", help="where that model is served (embedding.endpoint)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_setting,
        metavar="NAME=VALUE",
        help="a setting of the servers, such as embedding.timeout_s=300",
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the sets and of score.py")
    parser.add_argument("--out", type=Path, default=OUT / "quality", metavar="DIR", help="where everything goes")
    given = parser.parse_args(argv)
    if given.endpoint and not given.model:
        parser.error("--endpoint needs --model, the model's name as the server has it")
    return given


if __name__ == "__main__":
    sys.exit(main())
