"""`python -m benchmarks --suite NAME`: the tables of docs/benchmarks.md.

Each number of threads runs in a process of its own, because the libraries read it when they are
imported.  Results can be written as JSON and as figures; `--peers` names the peers to run beside
ours.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from typing import Any

from benchmarks import plots

# Suites that print tables of their own form.
_TABLES = ("seeds", "narrow", "variants")
_CONVOLUTIONS = ("convolutions", "odd_convolutions")
SUITES = (*_TABLES, "kernels", "models", "compile", "calls", "cnn", *_CONVOLUTIONS)
_THREADS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "TVM_NUM_THREADS",
    "TORCHINDUCTOR_COMPILE_THREADS",
)


def main() -> None:
    parser = _parser()
    options = parser.parse_args()
    if options.suite in _TABLES and (options.json or options.plot):
        parser.error(f"'{options.suite}' only prints tables: no --json or --plot")
    if options.plot and plots.missing_package():
        parser.error(f"--plot needs {plots.missing_package()}: pip install 'relax_mlir[bench]'")
    counts = [int(text) for text in options.threads.split(",")]
    if len(counts) > 1:
        for count in counts:
            arguments = [a for a in sys.argv[1:] if not a.startswith("--threads=")]
            subprocess.run([sys.executable, "-m", "benchmarks", *arguments, f"--threads={count}"])
        return
    # Read by the libraries when they are imported, so before anything else.
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)
    os.environ.setdefault("RELAX_MLIR_CACHE", "0")  # compile times are those of compiling
    os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")
    for name in _THREADS:
        os.environ[name] = str(counts[0])
    if options.suite in _TABLES:
        importlib.import_module(f"benchmarks.{options.suite}").run(options.rounds or 25)
        return
    _run(options, counts[0])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--suite", default="seeds", choices=SUITES)
    parser.add_argument("--threads", default="1", help="one number, or several with commas")
    parser.add_argument("--rounds", type=int, default=0, help="0 leaves it to the suite")
    parser.add_argument("--json", default="", help="a file to add the results to")
    parser.add_argument("--plot", default="", help="a folder for a figure (PNG) of the results")
    parser.add_argument(
        "--peers", nargs="*", default=[], help="all that are installed if not given"
    )
    parser.add_argument("--only", nargs="*", default=[], help="problems whose names contain these")
    return parser


def _run(options: Any, threads: int) -> None:
    from benchmarks import arena, machine, report

    models = options.suite in ("models", "compile", "cnn")
    name = "models" if options.suite == "compile" else options.suite
    suite: Any = importlib.import_module(f"benchmarks.suite_{name}")
    peers = options.peers or getattr(suite, "PEERS", ())
    runners, missing = arena.contestants(peers, threads)
    limits = machine.measure(threads)
    results = []
    for entry in _chosen(suite, options.only):
        problem: Any = entry() if callable(entry) else entry
        rounds = 1 if options.suite == "compile" else options.rounds or suite.ROUNDS
        results.append(arena.run_problem(problem, runners, rounds, suite.SLOT))
        print(f"{problem.name}: done", file=sys.stderr, flush=True)
        if options.json:  # after each problem, so that a run that is stopped keeps what it has
            _add_json(options.json, options.suite, report.as_json(results, limits, threads))
    if options.plot:
        entry = report.as_json(results, limits, threads)
        plots.plot(options.suite, entry, options.plot)
    title = f"{options.suite}, {threads} thread{'s' if threads > 1 else ''}"
    print(f"{limits}\n")
    if options.suite != "compile":
        print(report.table(title, results, limits), end="\n\n")
    if models:
        print(report.compile_table(results), end="\n\n")
    if options.suite == "compile":
        print(importlib.import_module("benchmarks.schedules").run(), end="\n\n")
    if options.suite in ("cnn", *_CONVOLUTIONS):
        print(report.error_table(results), end="\n\n")
    print("\n".join([*missing, *report.absences(results)]))


def _chosen(suite: Any, only: list[str]) -> list[Any]:
    """The suite's problems; of models only the asked ones are made."""
    if hasattr(suite, "MODELS"):
        return suite.problems(only)
    return [p for p in suite.problems() if not only or any(text in p.name for text in only)]


def _add_json(path: str, suite: str, entry: dict[str, Any]) -> None:
    """Runs with several numbers of threads add to one file."""
    found = {}
    if os.path.exists(path):
        with open(path) as file:
            found = json.load(file)
    found[f"{suite}-{entry['threads']}"] = entry
    with open(path, "w") as file:
        json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
