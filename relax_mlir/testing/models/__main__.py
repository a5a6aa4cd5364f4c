"""The table of models: `python -m relax_mlir.testing.models [pattern]`.

Every model is exported by torch, imported, compiled once and run at its sizes, the second other
than the exported one where they are dynamic.  A column a step: seconds to import and to compile,
milliseconds of a run (and PyTorch's, one thread each), and the largest error at each size, in parts
of the largest value.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
import torch

from relax_mlir.testing.models import audio, own, text, vision
from relax_mlir.testing.models.case import Model

MODELS = [*text.MODELS, *vision.MODELS, *audio.MODELS, *own.MODELS]
_ROUNDS = 7


@dataclass
class Row:
    """What became of a model; `error` is empty when all its numbers are PyTorch's."""

    name: str
    imported: float = 0
    compiled: float = 0
    ours: float = 0
    torch: float = 0
    errors: list[float] = field(default_factory=list[float])
    error: str = ""

    def __str__(self) -> str:
        times = f"{self.imported:9.2f} {self.compiled:9.2f} {self.ours:9.2f} {self.torch:9.2f}"
        errors = " ".join(f"{error:9.1e}" for error in self.errors)
        return f"{self.name:20} {times}  {errors}" + (f"  {self.error}" if self.error else "")


HEAD = f"{'model':20} {'import s':>9} {'compile s':>9} {'run ms':>9} {'torch ms':>9}  errors"


def flattened(value: Any) -> list[torch.Tensor]:
    """The tensors of a model's result, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    values: Any = value.values() if isinstance(value, Mapping) else value
    return [tensor for item in values if item is not None for tensor in flattened(item)]


def run_model(model: Model, rounds: int = _ROUNDS) -> Row:
    """Import, compile and run a model; errors of these steps are the row's."""
    row = Row(model.name)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            _fill(row, model, rounds)
    except Exception as error:
        row.error = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return row


def _fill(row: Row, model: Model, rounds: int) -> None:
    import relax_mlir
    from relax_mlir import relax
    from relax_mlir.relax.frontend.torch import from_exported_program

    network = model.build()
    shapes = model.dynamic_shapes()
    wanted = None if shapes is None else (shapes,) if _takes_any(network) else shapes
    program = torch.export.export(network, model.arguments(0), dynamic_shapes=wanted, strict=False)
    start = time.perf_counter()
    module = from_exported_program(program)
    row.imported = time.perf_counter() - start
    start = time.perf_counter()
    executable = relax_mlir.compile(module, target="llvm")
    row.compiled = time.perf_counter() - start
    main = relax.VirtualMachine(executable, relax_mlir.cpu())["main"]
    for run in range(len(model.sizes)):
        arguments = model.arguments(run)
        tensors = [relax_mlir.runtime.tensor(x.contiguous().numpy()) for x in arguments]
        wrong, error = difference(main(*tensors), network(*arguments), model.tolerance)
        row.errors.append(error)
        if wrong:
            row.error = f"sizes {dict(model.sizes[run])}: {wrong}"
            return
        if run == 0:
            row.ours = _milliseconds(main, tensors, rounds)
            row.torch = _milliseconds(network, arguments, rounds)


def _takes_any(network: torch.nn.Module) -> bool:
    """Whether `forward` is `(*values)`: its dynamic shapes are one tuple then."""
    from relax_mlir.testing.models.case import Keywords

    return isinstance(network, Keywords)


def difference(got: Any, expected: Any, tolerance: tuple[float, float]) -> tuple[str, float]:
    """(what is wrong or "", largest error by the largest value of its output)."""
    found = [x.numpy() for x in ([got] if hasattr(got, "numpy") else got)]
    wanted = [x.detach().numpy() for x in flattened(expected)]
    if len(found) != len(wanted):
        return f"{len(found)} outputs for {len(wanted)}", float("nan")
    worst = 0.0
    for index, (have, want) in enumerate(zip(found, wanted, strict=True)):
        if have.shape != want.shape or have.dtype != want.dtype:
            kinds = f"{have.dtype}{list(have.shape)} for {want.dtype}{list(want.shape)}"
            return f"output {index}: {kinds}", float("nan")
        if not want.size:
            continue
        with np.errstate(invalid="ignore"):
            scale = np.abs(want).max() or 1
            worst = max(worst, float(np.abs(have - want).max() / scale))
        if not np.allclose(have, want, *tolerance, equal_nan=True):
            return f"output {index} differs", worst
    return "", worst


def _milliseconds(call: Callable[..., object], arguments: Sequence[Any], rounds: int) -> float:
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        call(*arguments)
        times.append(time.perf_counter() - start)
    return 1000 * median(times)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 when a model fails or differs from PyTorch."""
    parser = argparse.ArgumentParser(prog="python -m relax_mlir.testing.models")
    parser.add_argument("pattern", nargs="?", default="", help="regular expression for names")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help="timed runs, median of")
    options = parser.parse_args(arguments)
    chosen = [model for model in MODELS if re.search(options.pattern, model.name, re.IGNORECASE)]
    if not chosen:
        parser.error(f"no model matches {options.pattern!r}")
    torch.set_num_threads(1)
    sys.stdout.write(f"{HEAD}\n")
    failed = 0
    for model in chosen:
        row = run_model(model, options.rounds)
        failed += bool(row.error)
        sys.stdout.write(f"{row}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(chosen) - failed} of {len(chosen)} models as PyTorch\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
