"""`python -m tests.fuzz.run --graphs 10000`: random programs and broken ones, each in a process
that may not crash.

Faults are printed with the seed that repeats them: `python -m tests.fuzz.run --seed 17 --graphs 1`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from tests.fuzz.worker import CHANGED

BATCH = 500
"""Programs of one process: starting it, and reading the tests for texts, takes seconds."""
SECONDS = 300
"""How long one program may take."""


def batches(kind: str, seed: int, count: int) -> Iterator[dict[str, Any]]:
    """The faults of a range of seeds; a process that dies is a fault of the seed it was at."""
    end = seed + count
    while seed < end:
        stop = min(end, seed + BATCH)
        environment = {**os.environ, "RELAX_MLIR_CACHE": "off"}
        command = [sys.executable, "-m", "tests.fuzz.worker", kind, str(seed), str(stop)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            assert process.stdout is not None
            at = seed
            for line in _lines(process):
                report = json.loads(line)
                at = int(report.pop("next", at))
                if report:
                    yield report
        if process.returncode == 0:
            seed = stop
            continue
        yield {"kind": kind, "seed": at, "fault": f"the process ended with {process.returncode}"}
        seed = at + 1


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    """What a worker says; one that says nothing for long is ended."""
    assert process.stdout is not None
    while True:
        guard = threading.Timer(SECONDS, process.kill)
        guard.start()
        line = process.stdout.readline()
        guard.cancel()
        if not line:
            return
        yield line


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=1000, help="valid programs")
    for kind in CHANGED:
        parser.add_argument(f"--{kind}", type=int, default=0, help=f"changed programs: {kind}")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    faults, started = 0, time.monotonic()
    counts = {"valid": options.graphs, **{kind: getattr(options, kind) for kind in CHANGED}}
    for kind, count in counts.items():
        totals: dict[str, int] = {}
        for report in batches(kind, options.seed, count):
            if "totals" in report:
                for name, number in report["totals"].items():
                    totals[name] = totals.get(name, 0) + number
                continue
            faults += 1
            print(json.dumps(report), flush=True)
        if count:
            seconds = time.monotonic() - started
            shown = ", ".join(f"{number} {name}" for name, number in totals.items())
            print(f"{kind}: {count} programs, {shown}, {seconds:.0f} s", flush=True)
    print(f"{faults} faults", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
