"""`python -m benchmarks.profile bert|ResNet-18`: where a model's time goes, kernel by kernel.

Every TensorIR function that the compiled model calls is built alone and timed on random data; the
table multiplies that by the number of its calls.  Kernels run warmer alone than in the model, so
the sum is a little less than the model takes.
"""

from __future__ import annotations

import argparse
import os
import re
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--top", type=int, default=25)
    options = parser.parse_args()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "TVM_NUM_THREADS"):
        os.environ[name] = "1"
    _profile(options.model, options.top)


def _profile(model: str, top: int) -> None:
    import torch

    from benchmarks import suite_cnn, suite_models
    from relax_mlir import relax
    from relax_mlir.relax.frontend.torch import from_exported_program

    problem = (suite_cnn if model in suite_cnn.MODELS else suite_models).make(model)
    program = torch.export.export(problem.module, problem.inputs)
    module = from_exported_program(program)
    module = relax.get_pipeline("default")(module)
    calls = _calls(module)
    rows = []
    for (name, types), count in calls.items():
        seconds = _time_kernel(module, name, types)
        rows.append((count * seconds, count, seconds, name, types))
    rows.sort(reverse=True)
    print(f"{problem.name}: {sum(row[0] for row in rows) * 1e3:.2f} ms in kernels")
    for total, count, seconds, name, types in rows[:top]:
        print(f"{total * 1e3:8.2f} ms = {count:3} x {seconds * 1e6:9.1f} us  {name}  {types}")


_CALL = re.compile(r"R\.call_tir\(cls\.(\w+), .*?out_(?:sinfo|ty)=(.*)\)$", re.M)


def _calls(module: Any) -> Counter[tuple[str, str]]:
    """How often each function is called, and with which result."""
    text = module.script()
    main = text[text.index("def main(") :]
    found: Counter[tuple[str, str]] = Counter()
    for name, result in _CALL.findall(main):
        found[name, " ".join(result.replace("R.Tensor", "").split())] += 1
    return found


def _time_kernel(module: Any, name: str, types: str) -> float:
    import relax_mlir

    function = module[name].with_attr("global_symbol", name)
    built = relax_mlir.build(relax_mlir.IRModule({name: function}), target="llvm")[name]
    arguments = _arguments(function)
    built(*arguments)
    start = time.thread_time()
    built(*arguments)
    once = time.thread_time() - start
    repeats = max(1, min(200, int(0.05 / max(once, 1e-7))))
    samples = []
    for _ in range(3):
        start = time.thread_time()
        for _ in range(repeats):
            built(*arguments)
        samples.append((time.thread_time() - start) / repeats)
    return min(samples)


def _arguments(function: Any) -> Sequence[Any]:
    import relax_mlir

    rng = np.random.default_rng(0)
    arguments = []
    for param in function.params:
        buffer = function.buffer_map[param]
        shape = [int(size) for size in buffer.shape]
        integral = not buffer.dtype.startswith("float")
        array = np.zeros(shape) if integral else rng.standard_normal(shape)
        arguments.append(relax_mlir.runtime.tensor(array.astype(buffer.dtype)))
    return arguments


if __name__ == "__main__":
    main()
