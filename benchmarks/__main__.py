"""`python -m benchmarks [seeds|kernels] [--threads N]`: print the tables of docs/benchmarks.md."""

from __future__ import annotations

import argparse
import importlib
import os


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("table", nargs="?", default="seeds", choices=["seeds"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    # Read by the libraries when they are imported, so before anything else.
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        os.environ.pop(name, None)
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "TVM_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    importlib.import_module(f"benchmarks.{options.table}").run(options.rounds)


if __name__ == "__main__":
    main()
