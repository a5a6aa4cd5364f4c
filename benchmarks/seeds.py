"""The seed documents' programs: the 784-256-10 MLP at batch 1 and 64, and matmul + relu.

Peers: numpy, torch (eager) and TVM 0.27, those that are installed.  Every candidate is called from
Python with arrays that exist already, and each result is checked against numpy before it is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import interleaved, table

Call = Callable[[], Any]


def run(rounds: int) -> None:
    results = {}
    compile_times: dict[str, dict[str, float]] = {}
    for batch in (1, 64):
        name = f"MLP 784-256-10, batch {batch}"
        candidates, compile_times[name] = mlp(batch)
        results[name] = interleaved(candidates, rounds)
    for size in (128, 512):
        name = f"matmul + relu, {size}x{size}x{size}"
        candidates, compile_times[name] = matmul_relu(size)
        results[name] = interleaved(candidates, rounds)
    print(table("median time of a call (ratio to ours)", results))
    print()
    peers = list(dict.fromkeys(p for times in compile_times.values() for p in times))
    print(f"| compile time | {' | '.join(peers)} |")
    print("|---" * (len(peers) + 1) + "|")
    for name, times in compile_times.items():
        print(f"| {name} | {' | '.join(f'{times[p] * 1e3:.0f} ms' for p in peers)} |")


def _arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(s, dtype=np.float32) * np.float32(0.05) for s in shapes]


def _check(name: str, got: Any, expected: np.ndarray) -> None:
    error = float(np.abs(np.asarray(got) - expected).max())
    if not error <= 1e-4 * max(1.0, float(np.abs(expected).max())):
        raise AssertionError(f"{name} computes something else: error {error}")


def mlp(batch: int) -> tuple[dict[str, Call], dict[str, float]]:
    data = _arrays((batch, 784), (784, 256), (256,), (256, 10), (10,))
    x, w0, b0, w1, b1 = data

    def numpy_mlp() -> np.ndarray:
        return np.maximum(x @ w0 + b0, 0) @ w1 + b1

    candidates: dict[str, Call] = {}
    times: dict[str, float] = {}
    candidates["relax_mlir"], times["relax_mlir"] = _ours_mlp(data)
    candidates["numpy"] = numpy_mlp
    expected = numpy_mlp()
    _check("relax_mlir", candidates["relax_mlir"]().numpy(), expected)
    torch_call = _torch_mlp(data)
    if torch_call is not None:
        candidates["torch"] = torch_call
        _check("torch", torch_call().numpy(), expected)
    tvm_call = _tvm_mlp(data)
    if tvm_call is not None:
        candidates["TVM 0.27"], times["TVM 0.27"] = tvm_call
        _check("TVM", candidates["TVM 0.27"]().numpy(), expected)
    return candidates, times


def _build_mlp(tvm: Any, relax: Any, data: list[np.ndarray]) -> Any:
    """The MLP by BlockBuilder calls that every TVM version and relax_mlir have."""
    names = ["x", "w0", "b0", "w1", "b1"]
    info = getattr(relax, "TensorStructInfo", None) or relax.TensorType
    params = [
        relax.Var(n, info(list(a.shape), "float32")) for n, a in zip(names, data, strict=True)
    ]
    x, w0, b0, w1, b1 = params
    op, builder = relax.op, relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            hidden = builder.emit(op.add(builder.emit(op.matmul(x, w0)), b0))
            hidden = builder.emit(op.nn.relu(hidden))
            out = builder.emit(op.add(builder.emit(op.matmul(hidden, w1)), b1))
            out = builder.emit_output(out)
        builder.emit_func_output(out)
    return builder.get()


def _ours_mlp(data: list[np.ndarray]) -> tuple[Call, float]:
    import relax_mlir
    from relax_mlir import relax

    start = time.perf_counter()
    executable = relax_mlir.compile(_build_mlp(relax_mlir, relax, data), target="llvm")
    elapsed = time.perf_counter() - start
    main = relax.VirtualMachine(executable, relax_mlir.cpu())["main"]
    tensors = [relax_mlir.runtime.tensor(a) for a in data]
    return lambda: main(*tensors), elapsed


def _torch_mlp(data: list[np.ndarray]) -> Call | None:
    try:
        import torch
    except ImportError:
        return None
    x, w0, b0, w1, b1 = (torch.from_numpy(a) for a in data)

    def call() -> Any:
        with torch.inference_mode():
            return torch.addmm(b1, torch.relu(torch.addmm(b0, x, w0)), w1)

    return call


def _tvm_mlp(data: list[np.ndarray]) -> tuple[Call, float] | None:
    try:
        import tvm
        from tvm import relax
    except ImportError:
        return None
    start = time.perf_counter()
    pipeline = relax.get_default_pipeline(tvm.target.Target("llvm"))
    executable = tvm.compile(_build_mlp(tvm, relax, data), "llvm", relax_pipeline=pipeline)
    elapsed = time.perf_counter() - start
    main = relax.VirtualMachine(executable, tvm.cpu())["main"]
    tensors = [tvm.runtime.tensor(a) for a in data]
    return lambda: main(*tensors), elapsed


def matmul_relu(size: int) -> tuple[dict[str, Call], dict[str, float]]:
    a, b, out = _arrays((size, size), (size, size), (size, size))
    expected = np.maximum(a @ b, 0)
    candidates: dict[str, Call] = {}
    times: dict[str, float] = {}

    import relax_mlir

    start = time.perf_counter()
    built = relax_mlir.build(_matmul_relu_module(relax_mlir.te, relax_mlir, size), target="llvm")
    times["relax_mlir"] = time.perf_counter() - start
    ours = built["main"]
    tensors = [relax_mlir.runtime.tensor(x) for x in (a, b, out)]
    candidates["relax_mlir"] = lambda: ours(*tensors)
    candidates["relax_mlir"]()
    _check("relax_mlir", tensors[2].numpy(), expected)

    scratch = np.empty_like(out)
    candidates["numpy"] = lambda: np.maximum(np.matmul(a, b, out=scratch), 0, out=scratch)
    _add_torch_matmul(candidates, a, b)
    _add_tvm_matmul(candidates, times, a, b, expected)
    return candidates, times


def _matmul_relu_module(te: Any, tvm: Any, size: int) -> Any:
    A = te.placeholder((size, size), name="A", dtype="float32")
    B = te.placeholder((size, size), name="B", dtype="float32")
    k = te.reduce_axis((0, size), name="k")
    Y = te.compute((size, size), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="Y")
    zero = te.const(0.0, "float32")
    C = te.compute((size, size), lambda i, j: te.max(Y[i, j], zero), name="C")
    return tvm.IRModule({"main": te.create_prim_func([A, B, C])})


def _add_torch_matmul(candidates: dict[str, Call], a: np.ndarray, b: np.ndarray) -> None:
    try:
        import torch
    except ImportError:
        return
    left, right = torch.from_numpy(a), torch.from_numpy(b)
    out = torch.empty(a.shape[0], b.shape[1])

    def call() -> Any:
        with torch.inference_mode():
            return torch.relu_(torch.mm(left, right, out=out))

    candidates["torch"] = call


def _add_tvm_matmul(
    candidates: dict[str, Call],
    times: dict[str, float],
    a: np.ndarray,
    b: np.ndarray,
    expected: np.ndarray,
) -> None:
    try:
        import tvm
        from tvm import te
    except ImportError:
        return
    start = time.perf_counter()
    built = tvm.compile(_matmul_relu_module(te, tvm, a.shape[0]), "llvm")
    times["TVM 0.27"] = time.perf_counter() - start
    main = built["main"]
    tensors = [tvm.runtime.tensor(x) for x in (a, b, np.empty_like(expected))]
    candidates["TVM 0.27"] = lambda: main(*tensors)
    candidates["TVM 0.27"]()
    _check("TVM", tensors[2].numpy(), expected)
