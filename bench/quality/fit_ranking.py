"""``python -m bench.quality.fit_ranking``: the last stage of ranking, fitted on the judged conversations; how it does
on those it was not fitted on; and what each group of its features is worth.

With ``--write`` the weights fitted on all of them go into ``vaults/search/ranking_weights.toml``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.quality import ranking_trials, sets, weights_file
from bench.quality.ranking_examples import RankingExample, read_examples
from bench.quality.ranking_trials import Rows, fit_weights, judge_all, judge_held_out, judge_set_left_out
from bench.quality.sets import JudgedSet
from bench.quality.stored_sets import StoredSets
from bench.run import OUT, ROOT
from vaults import clock
from vaults.search.ranking_features import FEATURES

SETS = ("locomo", "sessions", "transcripts", "harvested", "hotpotqa", "scifact")
"""What is tried; the first it is fitted on. For the last two it counts nothing but where a set is left out."""

MEASURES = ("R@5", "R@10", "nDCG@10", "MRR", "All@10")
PLACES = (ROOT.parent / "shared" / "bench", ROOT / "shared" / "bench")


def main(argv: Sequence[str] | None = None) -> int:
    """0, also where no set is there."""
    given = _arguments(argv)
    from server.settings import export_environment

    export_environment()
    examples = [each for judged in _read_sets(given) for each in _read_examples(judged, given.out)]
    if not examples:
        print("skipped: none of the sets is there")
        return 0
    for title, rows in _try_all(examples, ablate=given.ablate):
        _print_rows(title, rows)
    if given.write:
        fitted = [each for each in examples if each.set == ranking_trials.FITTED]
        told = {ranking_trials.FITTED: len(fitted)}
        folds = len({each.fold for each in fitted})
        weights_file.write_weights(fit_weights(fitted), told, folds, clock.now()[:10], weights_file.PLACE)
        print(f"written: {weights_file.PLACE}")
    return 0


def _try_all(examples: Sequence[RankingExample], *, ablate: bool) -> Iterator[tuple[str, Rows]]:
    yield "without the learned order", judge_all(examples, None)
    yield "its conversation left out", judge_held_out(examples)
    if len({each.set for each in examples}) > 1:
        yield "its set and its conversation left out", judge_set_left_out(examples)
    for group in FEATURES if ablate else ():
        yield f"left out, and without {group}", judge_held_out(examples, (group,))
    yield "fitted on all", judge_all(examples, fit_weights(examples))


def _print_rows(title: str, rows: Rows) -> None:
    print(f"{title:44}{''.join(f'{measure:>9}' for measure in MEASURES)}")
    for name, several in rows.items():
        figures = (ranking_trials.mean_of(several, measure) for measure in MEASURES)
        print(f"  {name:42}{''.join(f'{figure:9.3f}' for figure in figures)}", flush=True)


def _read_sets(given: argparse.Namespace) -> Iterator[JudgedSet]:
    data = given.data or next((place for place in PLACES if place.is_dir()), PLACES[0])
    for task in (sets.BY_NAME[name] for name in given.only):
        if sets.is_present(data, task):
            yield sets.read_set(data, task)
        else:
            print(f"skipped: {task.title}: its files are not in {data / task.folder}")


def _read_examples(judged: JudgedSet, out: Path) -> list[RankingExample]:
    print(f"  reading {judged.task.name}: {len(judged.questions)} questions", file=sys.stderr, flush=True)
    return read_examples(judged, StoredSets(out / "stored"))


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.quality.fit_ranking", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SETS, default=SETS, metavar="SET")
    parser.add_argument("--ablate", action="store_true", help="also without each group of features")
    parser.add_argument("--write", action="store_true", help="write the weights fitted on everything")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the sets")
    parser.add_argument("--out", type=Path, default=OUT / "quality", metavar="DIR", help="where sets are kept stored")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
