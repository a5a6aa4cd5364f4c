"""Single Relax operators, compiled and called through the virtual machine, against torch eager.

    python benchmarks/kernels/bench_operators.py [--only softmax layer_norm ...]

One thread, interleaved rounds, thread CPU time, results compared.  Columns: microseconds of ours,
numpy's (where it has the operator) and torch's, and how many times faster ours is.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

# `timing` sets the environment that numpy reads when it is imported.
from timing import interleaved  # isort: skip  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import relax_mlir  # noqa: E402
from relax_mlir import relax  # noqa: E402

op: Any = relax.op

ROWS, HEADS = (512, 1024), (8, 12, 128, 128)
BERT, IMAGE = (1, 128, 768), (1, 64, 56, 56)


@dataclass(frozen=True)
class Row:
    """An operator: how Relax, torch and (if it can) numpy spell it, and what it is run on.

    A shape that is an array stands for itself; others are filled with normal random numbers.
    """

    name: str
    relax: Callable[..., Any]
    torch: Callable[..., Any]
    operands: Sequence[Sequence[Any]]
    numpy: Callable[..., Any] | None = None


@cache
def _by_heads(x: Any) -> Any:
    """(batch, heads, sequence, size), which is torch's order, contiguous; made once a tensor."""
    return x.transpose(1, 2).contiguous()


def _torch_attention(q: Any, k: Any, v: Any, causal: bool = False) -> Any:
    q, k, v = _by_heads(q), _by_heads(k), _by_heads(v)
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2)


def _each(*shapes: Any) -> list[tuple[Any, ...]]:
    return [(shape,) for shape in shapes]


_RNG = np.random.default_rng(0)
_TOKENS = _RNG.integers(0, 30522, (1, 128))
_MASK = _RNG.integers(0, 2, ROWS).astype(bool)
_ALL = _each(ROWS, HEADS)
_TABLE = [
    Row("softmax", lambda x: op.nn.softmax(x, -1), lambda x: torch.softmax(x, -1), _ALL),
    Row("softmax axis 1", lambda x: op.nn.softmax(x, 1), lambda x: torch.softmax(x, 1), _ALL),
    Row("log_softmax", lambda x: op.nn.log_softmax(x, -1),
        lambda x: torch.log_softmax(x, -1), _ALL),
    Row("layer_norm", lambda x, g, b: op.nn.layer_norm(x, g, b, [-1]),
        lambda x, g, b: F.layer_norm(x, g.shape, g, b),
        [(ROWS, (1024,), (1024,)), (HEADS, (128,), (128,)), (BERT, (768,), (768,))]),
    Row("rms_norm", lambda x, g: op.nn.rms_norm(x, g, [-1]),
        lambda x, g: F.rms_norm(x, g.shape, g, 1e-5),
        [(ROWS, (1024,)), (HEADS, (128,)), (BERT, (768,))]),
    Row("group_norm", lambda x, g, b: op.nn.group_norm(x, g, b, 8, 1, [2, 3]),
        lambda x, g, b: F.group_norm(x, 8, g, b), [(IMAGE, (64,), (64,))]),
    Row("gelu", op.nn.gelu, F.gelu, _ALL),
    Row("gelu_tanh", op.nn.gelu_tanh, lambda x: F.gelu(x, approximate="tanh"), _ALL),
    Row("silu", op.nn.silu, F.silu, _ALL),
    Row("sigmoid", op.sigmoid, torch.sigmoid, _ALL),
    Row("exp", op.exp, torch.exp, _ALL, np.exp),
    Row("tanh", op.tanh, torch.tanh, _ALL, np.tanh),
    Row("relu", op.nn.relu, torch.relu, _ALL, lambda x: np.maximum(x, 0)),
    Row("add", op.add, torch.add, [(ROWS, ROWS), (ROWS, (1024,)), (HEADS, (1, 1, 128))], np.add),
    Row("sum", op.sum, torch.sum, _ALL, np.sum),
    Row("sum -1", lambda x: op.sum(x, -1), lambda x: torch.sum(x, -1), _ALL,
        lambda x: np.sum(x, -1)),
    Row("sum 0", lambda x: op.sum(x, 0), lambda x: torch.sum(x, 0), _ALL, lambda x: np.sum(x, 0)),
    Row("sum 1", lambda x: op.sum(x, 1), lambda x: torch.sum(x, 1), [(HEADS,)],
        lambda x: np.sum(x, 1)),
    Row("mean -1", lambda x: op.mean(x, -1), lambda x: torch.mean(x, -1), _ALL,
        lambda x: np.mean(x, -1)),
    Row("mean 2 3", lambda x: op.mean(x, [2, 3]), lambda x: torch.mean(x, (2, 3)),
        [(HEADS,), (IMAGE,)], lambda x: np.mean(x, (2, 3))),
    Row("variance -1", lambda x: op.variance(x, -1),
        lambda x: torch.var(x, -1, correction=0), _ALL, lambda x: np.var(x, -1)),
    Row("variance 0", lambda x: op.variance(x, 0),
        lambda x: torch.var(x, 0, correction=0), _ALL, lambda x: np.var(x, 0)),
    Row("max -1", lambda x: op.max(x, -1), lambda x: torch.amax(x, -1), _ALL,
        lambda x: np.max(x, -1)),
    Row("max 0", lambda x: op.max(x, 0), lambda x: torch.amax(x, 0), _ALL,
        lambda x: np.max(x, 0)),
    Row("argmax -1", lambda x: op.argmax(x, -1), lambda x: torch.argmax(x, -1), _ALL,
        lambda x: np.argmax(x, -1)),
    Row("argmax 0", lambda x: op.argmax(x, 0), lambda x: torch.argmax(x, 0), _ALL,
        lambda x: np.argmax(x, 0)),
    Row("cumsum -1", lambda x: op.cumsum(x, -1), lambda x: torch.cumsum(x, -1), _ALL,
        lambda x: np.cumsum(x, -1)),
    Row("cumsum 0", lambda x: op.cumsum(x, 0), lambda x: torch.cumsum(x, 0), _each(ROWS),
        lambda x: np.cumsum(x, 0)),
    Row("concat -1", lambda x, y: op.concat([x, y], -1), lambda x, y: torch.cat([x, y], -1),
        [(ROWS, ROWS), (HEADS, HEADS)], lambda x, y: np.concatenate([x, y], -1)),
    Row("concat 0", lambda x, y: op.concat([x, y], 0), lambda x, y: torch.cat([x, y], 0),
        [(ROWS, ROWS), (HEADS, HEADS)], lambda x, y: np.concatenate([x, y], 0)),
    Row("concat cache", lambda x, y: op.concat([x, y], 2), lambda x, y: torch.cat([x, y], 2),
        [((1, 12, 127, 64), (1, 12, 1, 64))], lambda x, y: np.concatenate([x, y], 2)),
    Row("split -1", lambda x: op.split(x, 3, -1), lambda x: [t.contiguous() for t in
        torch.chunk(x, 3, -1)], [((1, 128, 2304),), ((512, 1536),)]),
    Row("strided_slice", lambda x: op.strided_slice(x, [0, 1], [8, 64], [504, 960]),
        lambda x: x[8:504, 64:960].contiguous(), _each(ROWS)),
    Row("slice step 2", lambda x: op.strided_slice(x, [1], [0], [1024], [2]),
        lambda x: x[:, ::2].contiguous(), _each(ROWS)),
    Row("take rows", lambda w, i: op.take(w, i, 0), lambda w, i: F.embedding(i, w),
        [((30522, 768), _TOKENS)], lambda w, i: w[i]),
    Row("where", op.where, torch.where, [(_MASK, ROWS, ROWS)], np.where),
    Row("broadcast_to", lambda x: op.broadcast_to(x, ROWS),
        lambda x: x.expand(ROWS).contiguous(), [((1024,),), ((512, 1),)]),
    Row("cast f16", lambda x: op.astype(x, "float16"), lambda x: x.half(), _ALL,
        lambda x: x.astype(np.float16)),
    Row("cast i32", lambda x: op.astype(x, "int32"), lambda x: x.int(), _ALL,
        lambda x: x.astype(np.int32)),
    Row("transpose", lambda x: op.permute_dims(x, [1, 0]), lambda x: x.T.contiguous(),
        _each(ROWS), lambda x: np.ascontiguousarray(x.T)),
    Row("transpose 021", lambda x: op.permute_dims(x, [0, 2, 1]),
        lambda x: x.permute(0, 2, 1).contiguous(), _each((12, 512, 64))),
    Row("head split", lambda x: op.permute_dims(x, [0, 2, 1, 3]),
        lambda x: x.permute(0, 2, 1, 3).contiguous(), _each((1, 128, 12, 64), (8, 128, 12, 64))),
    Row("transpose keys", lambda x: op.permute_dims(x, [0, 2, 3, 1]),
        lambda x: x.permute(0, 2, 3, 1).contiguous(), _each((1, 128, 12, 64))),
    Row("NCHW to NHWC", lambda x: op.permute_dims(x, [0, 2, 3, 1]),
        lambda x: x.permute(0, 2, 3, 1).contiguous(), _each(IMAGE)),
    Row("max_pool2d", lambda x: op.nn.max_pool2d(x, [3, 3], [2, 2], [1, 1]),
        lambda x: F.max_pool2d(x, 3, 2, 1), _each((1, 64, 112, 112))),
    Row("avg_pool2d", lambda x: op.nn.avg_pool2d(x, [2, 2], [2, 2]),
        lambda x: F.avg_pool2d(x, 2, 2), _each(IMAGE)),
    Row("attention", lambda q, k, v: op.nn.attention(q, k, v),
        lambda q, k, v: _torch_attention(q, k, v),
        [((1, s, 12, 64),) * 3 for s in (64, 128, 512, 1024)]
        + [((1, 1, 12, 64), (1, 1024, 12, 64), (1, 1024, 12, 64))]),
    Row("attention causal", lambda q, k, v: op.nn.attention(q, k, v, causal_mask="TopLeft"),
        lambda q, k, v: _torch_attention(q, k, v, causal=True),
        [((1, s, 12, 64),) * 3 for s in (64, 128, 512, 1024)]),
    Row("matmul batched", op.matmul, torch.matmul,
        [((12, 128, 64), (12, 64, 128)), ((12, 128, 128), (12, 128, 64))], np.matmul),
]  # fmt: skip


def compile_row(row: Row, operands: Sequence[np.ndarray]) -> Any:
    """The operator as a function of tensors."""
    bb = relax.BlockBuilder()
    params = [
        relax.Var(f"x{i}", relax.TensorStructInfo(value.shape, value.dtype.name))
        for i, value in enumerate(operands)
    ]
    with bb.function("main", params):
        bb.emit_func_output(bb.emit(row.relax(*params)))
    machine = relax.VirtualMachine(relax_mlir.compile(bb.get(), "llvm"), relax_mlir.cpu())
    function = machine["main"]
    tensors = [relax_mlir.runtime.tensor(value) for value in operands]
    return lambda: function(*tensors)


def check(name: str, got: Any, expected: Any) -> None:
    several = isinstance(expected, (list, tuple))
    for mine, other in zip(got, expected, strict=True) if several else [(got, expected)]:
        array, wanted = mine.numpy().astype(np.float64), other.double().numpy()
        if not np.allclose(array, wanted, 2e-3, 2e-3):
            raise SystemExit(f"{name}: wrong by {np.abs(array - wanted).max()}")


def measure(row: Row, shapes: Sequence[Any]) -> float:
    operands = [
        shape if isinstance(shape, np.ndarray) else _RNG.standard_normal(shape, dtype=np.float32)
        for shape in shapes
    ]
    call = compile_row(row, operands)
    tensors = [torch.from_numpy(value) for value in operands]
    calls = {"ours": call, "torch": lambda: row.torch(*tensors)}
    check(row.name, call(), calls["torch"]())
    if row.numpy is not None:
        calls["numpy"] = lambda: row.numpy(*operands)
    times = interleaved(calls, rounds=9)
    numpy = f"{1e6 * times['numpy']:10.1f}" if "numpy" in times else " " * 10
    ratio = times["torch"] / times["ours"]
    shape = "x".join(map(str, operands[0].shape))
    print(
        f"{row.name:18s} {shape:16s} {1e6 * times['ours']:10.1f} {numpy} "
        f"{1e6 * times['torch']:10.1f} {ratio:7.2f}{'  <' if ratio < 1 else ''}",
        flush=True,
    )
    return ratio


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="names of operators")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    print(
        f"{'operator':18s} {'shape':16s} {'ours us':>10s} {'numpy us':>10s} {'torch us':>10s}"
        "   ratio"
    )
    ratios = [
        measure(row, shapes)
        for row in _TABLE
        if not options.only or any(row.name.startswith(name) for name in options.only)
        for shapes in row.operands
    ]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.2f}, slower than torch: {sum(r < 1 for r in ratios)}")


if __name__ == "__main__":
    main()
