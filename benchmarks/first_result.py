"""`python -m benchmarks.first_result`: what a process waits for until it has its first result.

A process of its own imports numpy and the compiler, parses the MLP of the tutorials (784-256-10)
from TVMScript, compiles it, and calls it; another finds the compiled code in the cache.  Cells are
medians of the wall clock over `--rounds` processes, the contestants in turns.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from typing import Any

PHASES = ("import numpy", "import", "parse", "compile", "load and call", "all")
PROGRAM = """
@I.ir_module
class MLP:
    @R.function
    def main(
        x: R.Tensor((1, 784), "float32"),
        w0: R.Tensor((784, 256), "float32"),
        b0: R.Tensor((256,), "float32"),
        w1: R.Tensor((256, 10), "float32"),
        b1: R.Tensor((10,), "float32"),
    ) -> R.Tensor((1, 10), "float32"):
        with R.dataflow():
            hidden = R.nn.relu(R.add(R.matmul(x, w0), b0))
            out = R.add(R.matmul(hidden, w1), b1)
            R.output(out)
        return out
"""
SHAPES = ((1, 784), (784, 256), (256,), (256, 10), (10,))
CONTESTANTS = {
    "relax_mlir": ("relax_mlir", {"RELAX_MLIR_CACHE": "0"}),
    "relax_mlir, from the cache": (
        "relax_mlir",
        {"RELAX_MLIR_CACHE": "1", "RELAX_MLIR_CACHE_MIN_SECONDS": "0"},
    ),
    "TVM 0.27": ("tvm", {}),
}
"""The package, and the environment of its process."""


def measure(package: str) -> list[float]:
    """Seconds of each phase but the last, in this process."""
    times = [time.perf_counter()]
    import numpy as np

    times.append(time.perf_counter())
    tvm: Any = importlib.import_module(package)
    relax: Any = importlib.import_module(f"{package}.relax")
    script: Any = importlib.import_module(f"{package}.script")
    importlib.import_module(f"{package}.script.relax" if package == "relax_mlir" else package)
    times.append(time.perf_counter())
    module = script.from_source(PROGRAM)
    times.append(time.perf_counter())
    executable = tvm.compile(module, target="llvm")
    times.append(time.perf_counter())
    main = relax.VirtualMachine(executable, tvm.cpu())["main"]
    result = main(*(tvm.runtime.tensor(np.ones(shape, "float32")) for shape in SHAPES))
    assert (result.numpy() == 784 * 256 + 257).all()
    times.append(time.perf_counter())
    return [end - start for start, end in pairwise(times)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_result", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--inside", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(json.dumps(measure(options.inside)))
        return
    present = {n: c for n, c in CONTESTANTS.items() if importlib.util.find_spec(c[0])}
    samples: dict[str, list[list[float]]] = {name: [] for name in present}
    with tempfile.TemporaryDirectory() as cache:
        for round_ in range(options.rounds + 1):  # the first fills the cache, and those of files
            for name, (package, environment) in present.items():
                phases = _in_process(package, {**environment, "RELAX_MLIR_CACHE_DIR": cache})
                if round_:
                    samples[name].append([*phases, sum(phases)])
    print(f"| the first result of a process, seconds | {' | '.join(PHASES)} |")
    print("|---" * (len(PHASES) + 1) + "|")
    for name, rows in samples.items():
        medians = [statistics.median(column) for column in zip(*rows, strict=True)]
        print(f"| {name} | {' | '.join(f'{seconds:.3f}' for seconds in medians)} |")


def _in_process(package: str, environment: dict[str, str]) -> list[float]:
    """The phases in a process of its own, which may keep what it compiles of Python files."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "benchmarks.first_result", "--inside", package]
    run = subprocess.run(
        command, env={**kept, **environment}, capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
