"""`python -m benchmarks.gpu`: kernels on an NVIDIA GPU, checked and timed against torch.

Without a GPU the same problems are put on paper instead: what the code for an H200 moves, computes
and can be expected to take; `--page` writes that to docs/gpu_performance.md.

A machine without network needs the wheels beforehand, for its own Python version:

    pip download -d wheels 'relax_mlir[gpu]' pytest            # where there is a network
    pip install --no-index --find-links wheels 'relax_mlir[gpu]' pytest   # on the machine

(from a checkout: `pip download -d wheels '.[gpu]' pytest`; about 250 MB, most of it torch-mlir and
llvmlite). CUDA itself is not needed, only the driver; ptxas neither, the driver assembles. torch
with CUDA is taken where it is installed, and left out otherwise; BERT and ResNet-18 need torch (and
BERT transformers) for their definition. The run takes under eight minutes: `--seconds` stops it
earlier, after the problem that is running.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import relax_mlir
from benchmarks.gpu_paper.device import H200
from benchmarks.gpu_paper.estimate import estimate
from benchmarks.gpu_paper.page import PAGE, at_best, device_code, page, paper_tables
from benchmarks.gpu_problems import GPU_PROBLEMS, GpuProblem
from benchmarks.report import duration
from benchmarks.timing import OURS, Timing, interleaved
from relax_mlir import relax

_CALLS = 20
_ROUNDS = 9
Candidates = dict[str, Callable[[], object]]


def main() -> None:
    options = _parser().parse_args()
    if options.page:
        PAGE.write_text(page(), encoding="utf-8")
        return
    chosen = [p for p in GPU_PROBLEMS if not options.only or any(t in p.name for t in options.only)]
    if options.paper or not relax_mlir.cuda(0).exist:
        rows = [(p, estimate(device_code(p, H200.arch), H200, p.moved)) for p in chosen]
        print("\n".join(paper_tables(rows, H200)))
        return
    _run(chosen, options.seconds, models=not options.only)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}")
    parser.add_argument("--paper", action="store_true", help="no run, even where there is a GPU")
    parser.add_argument("--only", nargs="*", default=[], help="problems whose names contain these")
    parser.add_argument("--seconds", type=float, default=420.0, help="start no problem after these")
    return parser


# -- on a device -------------------------------------------------------------------------------


def _run(problems: list[GpuProblem], seconds: float, models: bool) -> None:
    start = time.perf_counter()
    device = relax_mlir.cuda(0)
    version = (device.compute_version or "8.0").replace(".", "")
    # What only an architecture itself has, such as wgmma.
    target = {"kind": "cuda", "arch": f"sm_{version}" + ("a" if version == "90" else "")}
    torch = _torch_with_cuda()
    print(f"{device.device_name}, {target['arch']}; torch {torch.__version__ if torch else 'none'}")
    print("| problem | relax_mlir | torch | at best (H200) | error |\n|---|---|---|---|---|")
    jobs: list[tuple[str, Callable[[], str]]] = [
        (p.name, lambda p=p: device_row(p, target, device, torch)) for p in problems
    ]
    if models:
        jobs += [(n, lambda n=n: _model_row(n, target, device)) for n in ("bert", "resnet")]
    for name, job in jobs:
        if time.perf_counter() - start > seconds:
            print(f"| {name} | not run: out of time | | | |", flush=True)
            continue
        try:
            print(job(), flush=True)
        except Exception as error:  # the other problems are still worth their time
            print(f"| {name} | {type(error).__name__}: {str(error)[:200]} | | | |", flush=True)
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


def _torch_with_cuda() -> Any:
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return torch if torch.cuda.is_available() else None


def device_row(problem: GpuProblem, target: dict[str, str], device: Any, torch: Any) -> str:
    inputs = problem.inputs()
    executable = relax_mlir.compile(problem.module(), target=target)
    function = relax.VirtualMachine(executable, device)["main"]
    tensors = [relax_mlir.runtime.tensor(x, device) for x in inputs]
    candidates: Candidates = {OURS: lambda: _repeat(lambda: function(*tensors), device.sync)}
    theirs = [torch.from_numpy(x).cuda() for x in inputs] if torch is not None else []
    expected = problem.reference(*inputs)
    error = _error(function(*tensors).numpy(), expected)
    if torch is not None:
        candidates["torch"] = lambda: _repeat(
            lambda: problem.torch(torch, *theirs), torch.cuda.synchronize
        )
    timings = interleaved(candidates, _ROUNDS, 0.0, time.perf_counter)
    return _line(problem.name, timings, duration(at_best(problem, H200)), error, problem.tolerance)


def _model_row(name: str, target: dict[str, str], device: Any) -> str:
    import torch

    from benchmarks import suite_models
    from relax_mlir.relax.frontend.torch import from_exported_program

    problem = suite_models.make(name)
    module = from_exported_program(torch.export.export(problem.module, problem.inputs))
    function = relax.VirtualMachine(relax_mlir.compile(module, target=target), device)["main"]
    tensors = [relax_mlir.runtime.tensor(x.numpy(), device) for x in problem.inputs]
    candidates: Candidates = {OURS: lambda: _repeat(lambda: function(*tensors), device.sync)}
    result = function(*tensors)
    first = result if hasattr(result, "numpy") else result[0]
    error = _error(first.numpy(), problem.expected()[0])
    if torch.cuda.is_available():
        model, inputs = problem.module.cuda(), [x.cuda() for x in problem.inputs]

        def call() -> object:
            with torch.inference_mode():
                return model(*inputs)

        candidates["torch"] = lambda: _repeat(call, torch.cuda.synchronize)
    timings = interleaved(candidates, _ROUNDS, 0.0, time.perf_counter)
    return _line(problem.name, timings, "", error, 1e-3)


def _repeat(call: Callable[[], object], wait: Callable[[], object]) -> None:
    """Several calls, and one wait for all of them."""
    for _ in range(_CALLS):
        call()
    wait()


def _error(got: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference, over the largest value."""
    difference = np.abs(got.astype("float64") - expected).max()
    return float(difference / max(1e-6, np.abs(expected).max()))


def _line(name: str, timings: dict[str, Timing], best: str, error: float, tolerance: float) -> str:
    ours = timings[OURS].median / _CALLS
    theirs = timings["torch"].median / _CALLS if "torch" in timings else None
    beside = "" if theirs is None else f"{duration(theirs)} ({theirs / ours:.2f}x)"
    verdict = f"{error:.1e}" + ("" if error <= tolerance else ", WRONG")
    return f"| {name} | {duration(ours)} | {beside} | {best} | {verdict} |"


if __name__ == "__main__":
    main()
