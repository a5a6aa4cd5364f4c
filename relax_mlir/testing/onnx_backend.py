"""ONNX's own backend node tests, as a table: `python -m relax_mlir.testing.onnx_backend`.

Every case is imported, compiled and run in a worker process with a time limit; a crash costs its
case.  A case whose import needs the value of an input (say, the axes of a reduction) is imported
again with that input as an initializer, and counted apart.
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

OUTCOMES = (
    "passed",
    "passed with constants",
    "unsupported",
    "wrong",
    "failed",
    "crashed",
    "timeout",
    "other dtype",
)
"""The last: strings, eight-bit floats and integers of less than a byte, which are out of scope."""
_CONSTANT_ROUNDS = 8
_DRAWING = re.compile(r"bernoulli|training_dropout(?!_zero)")
"""Cases whose numbers are random: they are compared by shape and dtype."""


@dataclass(frozen=True)
class Result:
    """What became of a case; `detail` is the reason unless it passed."""

    name: str
    outcome: str
    detail: str = ""


Runner = Callable[[Any], Result]
"""What runs a case."""


def cases(pattern: str = "", every: int = 1) -> list[Any]:
    """ONNX's node test cases whose names match, each `every`-th of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_node_model_tests

        found = load_node_model_tests()
    chosen = [case for case in found if re.search(pattern, case.name)]
    return sorted(chosen, key=lambda case: case.name)[::every]


# -- one case --------------------------------------------------------------------------------


def run_case(case: Any) -> Result:
    """Import, compile and run one case, and compare with what ONNX expects."""
    from relax_mlir.errors import CompileError
    from relax_mlir.relax.frontend.onnx import (
        ConstantNeededError,
        UnsupportedDtypeError,
        UnsupportedOnnxOperatorError,
    )

    # TypeInferenceError and the like are refusals too: errors that name the operator.
    refusals = (UnsupportedOnnxOperatorError, ConstantNeededError, CompileError)
    try:
        constants = 0
        for inputs, outputs in case.data_sets:
            got, baked = _run(case.model, list(inputs))
            constants = max(constants, baked)
            drawing = _DRAWING.search(case.name) is not None
            limits = (np.inf, np.inf) if drawing else (case.rtol, case.atol)
            wrong = difference(outputs, got, *limits)
            if wrong:
                return Result(case.name, "wrong", wrong)
    except UnsupportedDtypeError as error:
        return Result(case.name, "other dtype", line(error))
    except refusals as error:
        return Result(case.name, "unsupported", line(error))
    except Exception as error:
        return Result(case.name, "failed", line(error))
    return Result(case.name, OUTCOMES[1] if constants else OUTCOMES[0])


def line(error: Exception) -> str:
    """An error's type and message on one line, cut to fit."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _run(model: Any, inputs: list[Any]) -> tuple[list[Any], int]:
    """The outputs, and how many inputs had to be constants."""
    import relax_mlir
    from relax_mlir import relax
    from relax_mlir.relax.frontend.onnx import ConstantNeededError, from_onnx

    feeds = {
        info.name: declared(info, value)
        for info, value in zip(model.graph.input, inputs, strict=False)
    }
    baked = 0
    while True:
        shapes = {name: _shapes(value) for name, value in feeds.items()}
        try:
            module = from_onnx(model, shapes)
            break
        except ConstantNeededError as error:
            found = {name: feeds.get(name) for name in error.names}
            if not found or baked > _CONSTANT_ROUNDS:
                raise
            for name, value in found.items():
                if value is None or isinstance(value, list):
                    raise
                baked += 1
                del feeds[name]
                model = with_constant(model, name, np.asarray(value))
    program = relax.VirtualMachine(relax_mlir.compile(module), relax_mlir.cpu())
    given = [feeds[i.name] for i in model.graph.input if i.name in feeds]
    arguments = [_argument(value) for value in given if value is not None]
    result = program["main"](*arguments)
    return (list(result) if len(model.graph.output) > 1 else [result]), baked


def declared(info: Any, value: Any) -> Any:
    """A tensor in the dtype the model declares, from an array or as ONNX stores it."""
    import onnx

    value = _plain(value)
    if not info.type.HasField("tensor_type") or value is None:
        return value
    dtype = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
    return np.asarray(value) if dtype.kind == "O" else np.asarray(value).astype(dtype)


def _plain(value: Any) -> Any:
    """An array from what ONNX stores."""
    import onnx

    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def _shapes(value: Any) -> Any:
    """What `shape_dict` has to say of an input: sizes for symbols, the tensors of a sequence."""
    if isinstance(value, (list, tuple)):
        return [np.asarray(item).shape for item in value]
    return None if value is None else np.asarray(value).shape


def _argument(value: Any) -> Any:
    return tuple(map(_argument, value)) if isinstance(value, (list, tuple)) else np.asarray(value)


def with_constant(model: Any, name: str, value: np.ndarray) -> Any:
    """The model with an input as an initializer."""
    import onnx

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    kept = [info for info in copy.graph.input if info.name != name]
    del copy.graph.input[:]
    copy.graph.input.extend(kept)
    return copy


def difference(expected: Sequence[Any], got: Sequence[Any], rtol: float, atol: float) -> str:
    """What differs, or an empty text."""
    if len(expected) != len(got):
        return f"{len(got)} outputs, expected {len(expected)}"
    for i, (want, have) in enumerate(zip(expected, got, strict=True)):
        if isinstance(want, (list, tuple)):
            inner = difference(want, list(have), rtol, atol)
            if inner:
                return f"output {i}: {inner}"
            continue
        found = have.numpy() if hasattr(have, "numpy") else np.asarray(have)
        wanted = np.asarray(_plain(want))
        if found.shape != wanted.shape or found.dtype != wanted.dtype:
            return f"output {i}: {found.dtype}{found.shape}, expected {wanted.dtype}{wanted.shape}"
        try:
            _close(found, wanted, rtol, atol)
        except AssertionError as error:
            return f"output {i}: {' '.join(str(error).split())[:200]}"
    return ""


def _close(found: np.ndarray, wanted: np.ndarray, rtol: float, atol: float) -> None:
    if rtol == np.inf:
        return
    if wanted.dtype.kind in "biu":
        np.testing.assert_array_equal(found, wanted)
        return
    narrow = wanted.dtype.itemsize < 4
    wide = [array.astype("float64") for array in (found, wanted)]
    finite = np.abs(wide[1][np.isfinite(wide[1])])
    # What ONNX expects was itself rounded: by a few units in the last place of the largest.
    unit = {"bfloat16": 2.0**-8, "float16": 2.0**-11}.get(wanted.dtype.name, 2.0**-22)
    noise = 2 * unit * float(finite.max(initial=0))
    rtol = max(rtol, 1e-2 if narrow else 0)
    np.testing.assert_allclose(*wide, rtol=rtol, atol=max(atol, noise))


# -- workers ---------------------------------------------------------------------------------


def _serve(connection: Connection, chosen: Sequence[Any], runner: Runner) -> None:
    warnings.simplefilter("ignore")
    while (index := connection.recv()) is not None:
        connection.send(runner(chosen[index]))


class _Worker:
    """A process that runs cases one at a time."""

    def __init__(self, chosen: Sequence[Any], runner: Runner):
        context = multiprocessing.get_context("fork")  # the cases are made once, before
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, chosen, runner), daemon=True)
        self.process.start()
        other.close()
        self.index: int | None = None
        self.started = 0.0

    def give(self, index: int) -> None:
        self.index, self.started = index, time.monotonic()
        self.connection.send(index)

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def run(
    chosen: Sequence[Any], jobs: int = 2, limit: float = 60, runner: Runner = run_case
) -> Iterator[Result]:
    """The results of cases as they come."""
    waiting = list(range(len(chosen)))[::-1]
    workers = [_Worker(chosen, runner) for _ in range(min(jobs, len(chosen)))]
    busy: list[_Worker] = []
    for worker in workers:
        worker.give(waiting.pop())
        busy.append(worker)
    while busy:
        wait([worker.connection for worker in busy], timeout=1)
        for worker in list(busy):
            result = _result(worker, chosen, limit)
            if result is None:
                continue
            yield result
            busy.remove(worker)
            if result.outcome in ("crashed", "timeout"):
                worker.stop()
                worker = _Worker(chosen, runner) if waiting else worker
            if waiting:
                worker.give(waiting.pop())
                busy.append(worker)
            elif worker.process.is_alive():
                worker.connection.send(None)


def _result(worker: _Worker, chosen: Sequence[Any], limit: float) -> Result | None:
    """The result a worker has, None while it works."""
    assert worker.index is not None
    name = chosen[worker.index].name
    try:
        if worker.connection.poll():
            return worker.connection.recv()
    except (EOFError, ConnectionResetError):
        worker.process.join(1)
        return Result(name, "crashed", f"exit code {worker.process.exitcode}")
    if time.monotonic() - worker.started > limit:
        return Result(name, "timeout", f"more than {limit:g} s")
    return None


# -- the table -------------------------------------------------------------------------------


def table(results: Sequence[Result]) -> str:
    """Counts and shares by outcome."""
    counts = Counter(result.outcome for result in results)
    considered = len(results) - counts[OUTCOMES[-1]]
    rows = [
        f"{name:>22} {counts[name]:5} {100 * counts[name] / max(considered, 1):6.1f} %"
        for name in OUTCOMES[:-1]
    ]
    totals = [("cases", considered), (OUTCOMES[-1], counts[OUTCOMES[-1]])]
    return "\n".join([*rows, *(f"{name:>22} {count:5}" for name, count in totals)])


def beside(ours: Sequence[Result], theirs: Sequence[Result]) -> str:
    """Counts and shares by outcome, TVM's in the last columns, over the cases that both ran."""
    ran = [{result.name: result.outcome for result in results} for results in (ours, theirs)]
    names = [name for name, outcome in ran[0].items() if outcome != OUTCOMES[-1] and name in ran[1]]
    counts = [Counter(outcomes[name] for name in names) for outcomes in ran]
    rows = [f"{'':>22} {'relax_mlir':>16} {'TVM':>16}"]
    for outcome in OUTCOMES:
        shares = [f"{c[outcome]:7} {100 * c[outcome] / max(len(names), 1):6.1f} %" for c in counts]
        rows.append(f"{outcome:>22} {shares[0]} {shares[1]}")
    return "\n".join([*rows, f"{'cases':>22} {len(names):7}"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases; 1 when one gives a wrong number, crashes or runs out of time."""
    parser = argparse.ArgumentParser(prog="python -m relax_mlir.testing.onnx_backend")
    parser.add_argument("pattern", nargs="?", default="", help="regular expression for names")
    parser.add_argument("--every", type=int, default=1, help="only each n-th case")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--limit", type=float, default=60, help="seconds a case")
    parser.add_argument("--list", default="", help="file for one line a case that did not pass")
    parser.add_argument("--tvm", action="store_true", help="Apache TVM's figures beside ours")
    options = parser.parse_args(arguments)
    chosen = cases(options.pattern, options.every)
    if not chosen:
        parser.error(f"no case matches {options.pattern!r}")
    results: list[Result] = []
    with open(options.list, "w") if options.list else nullcontext(sys.stdout) as file:
        for result in run(chosen, options.jobs, options.limit):
            results.append(result)
            if result.outcome not in (*OUTCOMES[:2], OUTCOMES[-1]):
                file.write(f"{result.outcome}\t{result.name}\t{result.detail}\n")
                file.flush()
    sys.stdout.write(table(results) + "\n")
    if options.tvm:
        from relax_mlir.testing.onnx_backend_tvm import run_tvm_case

        theirs = list(run(chosen, options.jobs, options.limit, run_tvm_case))
        sys.stdout.write(f"\n{beside(results, theirs)}\n")
    return int(any(r.outcome in ("wrong", "crashed", "timeout") for r in results))


if __name__ == "__main__":
    sys.exit(main())
