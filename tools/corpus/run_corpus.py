"""How much of collected TVMScript parses, verifies and round-trips, by era.

    python -m tools.corpus.run_corpus programs/*.jsonl --git apache/tvm=/path/to/tvm.git

Each line of a file describes a program: its code, imports, the names it takes from the code around
it, and its source, commit and path (for these names; `--git` says where the repository is).
Prints a table by era, the operators that are missing, and the most frequent reasons of failure.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter
from pathlib import Path

from tools.corpus.check import Outcome
from tools.corpus.records import Program, load
from tools.corpus.workers import run

_NO_FAILURES = ("ok", "closure", "refused")


def main() -> None:
    """Run the programs and print the report."""
    options = _options()
    programs, left_out = load(options.files)
    chosen = _choose(programs, options)
    started = time.monotonic()
    outcomes = _kept(programs, options)
    tasks = ((key, p.text, p.record) for key, p in chosen.items())
    repositories = dict(pair.split("=", 1) for pair in options.git)
    results = run(tasks, repositories, workers=options.workers, timeout_s=options.timeout)
    for count, (key, outcome) in enumerate(results, start=1):
        outcomes[key] = outcome
        if count % 500 == 0:
            seconds = time.monotonic() - started
            sys.stderr.write(f"{count} of {len(chosen)}, {seconds:.0f} s\n")
    table = report(programs, outcomes, left_out, options.reasons)
    sys.stdout.write(table + "\n")
    if options.page is not None:
        options.page.write_text(page(table, outcomes), encoding="utf-8")
    if options.out is not None:
        _write(options.out, programs, outcomes)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--git", action="append", default=[], metavar="NAME=DIR")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds a program")
    parser.add_argument("--reasons", type=int, default=40)
    parser.add_argument("--sample", type=int, default=1, help="every n-th program only")
    parser.add_argument("--only", default="", help="programs whose text matches this pattern")
    parser.add_argument(
        "--failed",
        type=Path,
        help="run what failed in this output of --out; the other outcomes are kept",
    )
    parser.add_argument("--page", type=Path, help="write the report as a page of the documentation")
    parser.add_argument("--out", type=Path, help="write the outcomes here, a JSON object a line")
    return parser.parse_args()


def _choose(programs: dict[str, Program], options: argparse.Namespace) -> dict[str, Program]:
    keys = sorted(programs)[:: options.sample]
    if options.failed is not None:
        failed = {
            row["key"]
            for row in map(json.loads, options.failed.read_text().splitlines())
            if row["stage"] not in _NO_FAILURES
        }
        keys = [key for key in programs if key in failed]
    return {
        key: programs[key] for key in keys if re.search(options.only, programs[key].record["code"])
    }


def _kept(programs: dict[str, Program], options: argparse.Namespace) -> dict[str, Outcome]:
    """The outcomes of an earlier run that need not be run again."""
    if options.failed is None:
        return {}
    rows = map(json.loads, options.failed.read_text().splitlines())
    return {
        row["key"]: Outcome(row["stage"], row["message"])
        for row in rows
        if row["stage"] in _NO_FAILURES and row["key"] in programs
    }


def page(table: str, outcomes: dict[str, Outcome]) -> str:
    """The report as Markdown."""
    rows, _, reasons = table.partition("Reasons (distinct programs):")
    tried = [o for o in outcomes.values() if o.stage not in ("closure", "refused")]
    passed = sum(o.stage == "ok" for o in tried)
    return _PAGE.format(
        table=rows.strip(),
        reasons=reasons.strip("\n"),
        passed=passed,
        tried=len(tried),
        share=100 * passed / max(len(tried), 1),
    )


_PAGE = """# TVMScript of every era

Written by `python -m tools.corpus.run_corpus programs/*.jsonl --git NAME=DIR ... --page PAGE`; do
not edit.  The programs are those that apache/tvm at its releases, and relax and mlc-llm at several
dates, have in their files: {passed} of {tried} distinct programs ({share:.1f} %) parse, verify, and
come back from MLIR and from TVMScript as they were.

- *left out*: 2026's tile and raw-PTX dialects, and programs inside of `with pytest.raises`;
- *closures*: names that the program takes from code around it cannot be found by reading its file,
  or the file itself adds them to TVMScript;
- *refused*: refused here, and the test around the program says that TVM's own check of
  well-formedness refuses it;
- *tried*: the others; *parse* and *round-trip* are how many of these parse, and also come back from
  both texts unchanged.

A row is a release or date; most programs are in several of them.  With `--failed OUT` only what
failed in an earlier run is run again, and what passed in it counts as it did.

{table}

## What the others are

How many programs, where they fail and why, and an example of each; `#` stands for numbers.  The
most frequent reasons come first, and the rare ones are left out.

```
{reasons}
```
"""


def report(
    programs: dict[str, Program],
    outcomes: dict[str, Outcome],
    left_out: dict[tuple[str, str], int],
    reasons: int,
) -> str:
    """The table by era, and the reasons of the rest."""
    eras = sorted({era for p in programs.values() for era in p.eras}, key=_era_order)
    titles = ("era", "left out", "closures", "refused", "tried", "parse", "round-trip", "share")
    lines = [f"| {' | '.join(titles)} |", "|---|" + "---:|" * (len(titles) - 1)]
    for era in [*eras, "all (distinct)"]:
        stages = Counter(
            outcome.stage
            for key, outcome in outcomes.items()
            if era in programs[key].eras or era == "all (distinct)"
        )
        out = sum(n for (e, _), n in left_out.items() if e == era)
        unresolved, refused = stages.pop("closure", 0), stages.pop("refused", 0)
        tried = stages.total()
        parsed = tried - sum(stages[s] for s in ("parse", "internal", "crash", "timeout"))
        share = f"{100 * stages['ok'] / tried:.1f} %" if tried else ""
        cells = (era, out, unresolved, refused, tried, parsed, stages["ok"], share)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", "Reasons (distinct programs):"]
    counted = Counter((o.stage, o.reason) for o in outcomes.values() if o.stage not in _NO_FAILURES)
    examples = {(o.stage, o.reason): programs[k].where for k, o in outcomes.items()}
    for reason, count in counted.most_common(reasons):
        lines.append(f"{count:6d}  {reason[0]}: {reason[1]}  [{examples[reason]}]")
    return "\n".join(lines)


def _era_order(era: str) -> tuple[object, ...]:
    parts = re.split(r"(\d+)", era)
    return tuple(int(p) if p.isdigit() else p for p in parts)


def _write(path: Path, programs: dict[str, Program], outcomes: dict[str, Outcome]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for key, outcome in outcomes.items():
            row = {"key": key, "stage": outcome.stage, "message": outcome.message}
            row |= {"where": programs[key].where, "eras": sorted(programs[key].eras)}
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
