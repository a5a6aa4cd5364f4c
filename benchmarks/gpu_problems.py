"""What is timed on a GPU: Relax functions with default schedules, or with their own as the programs
that the project started from have; and the same by torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from relax_mlir import dlight, relax
from relax_mlir.ir import IRModule
from relax_mlir.script import from_source
from relax_mlir.target import Target
from relax_mlir.tir.schedule import Schedule

__all__ = ["GPU_PROBLEMS", "RESOURCE_PROBLEMS", "GpuProblem"]

Torch = Callable[..., Any]
"""The same with torch: called with the module `torch`, then tensors."""


@dataclass(frozen=True)
class GpuProblem:
    """`expression` (in TVMScript) of parameters `x`, `y`, `z`, `v`, `w` of a dtype and shapes.

    numpy and torch compute the same, torch given the module first.  flops: floating-point
    operations at least.  tolerance: the largest difference allowed, over the largest value.
    prepare: what the program does to its module before it is compiled.
    """

    name: str
    expression: str
    shapes: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    numpy: Callable[..., np.ndarray]
    torch: Torch
    dtype: str = "float32"
    flops: float = 0.0
    tolerance: float = 1e-4
    prepare: Callable[[IRModule], IRModule] | None = None

    @property
    def moved(self) -> float:
        """Bytes of inputs and outputs, each read or written once."""
        return float(sum(map(prod, (*self.shapes, self.output))) * np.dtype(self.dtype).itemsize)

    @property
    def uses_tensor_cores(self) -> bool:
        return self.dtype == "float16" and self.flops > 0

    def module(self) -> IRModule:
        parameters = ", ".join(
            f'{name}: R.Tensor({shape}, "{self.dtype}")'
            for name, shape in zip("xyzvw", self.shapes, strict=False)
        )
        found = from_source(
            "@I.ir_module\nclass Module:\n    @R.function\n"
            f"    def main({parameters}):\n        lv = {self.expression}\n        return lv\n"
        )
        assert isinstance(found, IRModule)
        return found if self.prepare is None else self.prepare(found)

    def reference(self, *inputs: np.ndarray) -> np.ndarray:
        """The result in float32."""
        return self.numpy(*(x.astype(np.float32) for x in inputs))

    def inputs(self) -> list[np.ndarray]:
        rng = np.random.default_rng(len(self.name))
        return [rng.standard_normal(shape, np.float32).astype(self.dtype) for shape in self.shapes]


def _product(_: Any, x: Any, y: Any) -> Any:
    return x @ y


def _layer_norm_by_torch(torch: Any, x: Any, scale: Any, shift: Any) -> Any:
    return torch.nn.functional.layer_norm(x, scale.shape, scale, shift)


def _matmul(size: int, dtype: str) -> GpuProblem:
    square = (size, size)
    return GpuProblem(
        f"matmul {size}, {dtype}",
        "R.matmul(x, y)",
        (square, square),
        square,
        np.matmul,
        _product,
        dtype,
        2.0 * size**3,
        2e-2 if dtype == "float16" else 1e-4,
    )


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _layer_norm(x: np.ndarray, scale: np.ndarray, shift: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + shift


def _attention_in_numpy(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    q, k, v = (x.transpose(0, 2, 1, 3) for x in (q, k, v))
    weights = _softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return (weights @ v).transpose(0, 2, 1, 3)


def _attention(heads: int, length: int, dtype: str) -> GpuProblem:
    shape = (1, length, heads, 64)

    def by_torch(torch: Any, *tensors: Any) -> Any:
        q, k, v = (t.transpose(1, 2) for t in tensors)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2)

    return GpuProblem(
        f"attention {heads} x {length} x 64, {dtype}",
        "R.nn.attention(x, y, z)",
        (shape,) * 3,
        shape,
        _attention_in_numpy,
        by_torch,
        dtype,
        4.0 * heads * length * length * 64,
        2e-2,
    )


def _gemv(size: int, dtype: str) -> GpuProblem:
    return GpuProblem(
        f"GEMV {size}, {dtype}",
        "R.matmul(x, y)",
        ((size, size), (size,)),
        (size,),
        np.matmul,
        _product,
        dtype,
        0.0,
        1e-2 if dtype == "float16" else 1e-4,
    )


def _bind_add(module: IRModule) -> IRModule:
    """Elements of a vector over blocks and threads, two a thread."""
    sch = Schedule(relax.transform.LegalizeOps()(module))
    sch.work_on("add")
    (loop,) = sch.get_loops(sch.get_block("T_add"))
    block, own, thread = sch.split(loop, factors=[None, 2, 256])
    sch.reorder(block, thread, own)
    sch.bind(block, "blockIdx.x")
    sch.bind(thread, "threadIdx.x")
    return sch.mod


def _by_dlight(module: IRModule) -> IRModule:
    """The rules that the deployment of a model names."""
    with Target("cuda"):
        rules = dlight.ApplyDefaultSchedule(dlight.gpu.Matmul(), dlight.gpu.Fallback())
        return rules(relax.get_pipeline("zero")(module))


def _mlp(x: Any, w0: Any, b0: Any, w1: Any, b1: Any) -> Any:
    hidden = x @ w0.T + b0
    return (hidden * (hidden > 0)) @ w1.T + b1


_WIDE = (4096, 4096)
GPU_PROBLEMS = [
    _matmul(1024, "float32"),
    _matmul(1024, "float16"),
    _matmul(4096, "float32"),
    _matmul(4096, "float16"),
    _gemv(4096, "float32"),
    _gemv(4096, "float16"),
    GpuProblem(
        "softmax 4096 x 4096",
        "R.nn.softmax(x)",
        (_WIDE,),
        _WIDE,
        _softmax,
        lambda torch, x: torch.softmax(x, -1),
    ),
    GpuProblem(
        "layer norm 4096 x 1024",
        "R.nn.layer_norm(x, y, z, axes=[-1])",
        ((4096, 1024), (1024,), (1024,)),
        (4096, 1024),
        _layer_norm,
        _layer_norm_by_torch,
    ),
    GpuProblem(
        "transpose 4096 x 4096",
        "R.permute_dims(x)",
        (_WIDE,),
        _WIDE,
        np.transpose,
        lambda _, x: x.T.contiguous(),
        tolerance=0.0,
    ),
    GpuProblem(
        "add 4096 x 4096",
        "R.add(x, y)",
        (_WIDE, _WIDE),
        _WIDE,
        np.add,
        lambda _, x, y: x + y,
        tolerance=0.0,
    ),
    _attention(12, 512, "float32"),
    _attention(12, 512, "float16"),
    GpuProblem(
        "MLP 784-256-10 of 64",
        "R.matmul(R.nn.relu(R.matmul(x, y)), z)",
        ((64, 784), (784, 256), (256, 10)),
        (64, 10),
        lambda x, y, z: np.maximum(x @ y, 0) @ z,
        lambda torch, x, y, z: torch.relu(x @ y) @ z,
        flops=2.0 * 64 * 256 * (784 + 10),
    ),
    GpuProblem(
        "bound add of one, 2^24",
        'R.add(x, R.const(1, "float32"))',
        ((1 << 24,),),
        (1 << 24,),
        lambda x: x + 1,
        lambda _, x: x + 1,
        tolerance=0.0,
        prepare=_bind_add,
    ),
    GpuProblem(
        "MLP 784-256-10 of 1, by dlight",
        "R.add(R.matmul(R.nn.relu(R.add(R.matmul(x, R.permute_dims(y)), z)), "
        "R.permute_dims(v)), w)",
        ((1, 784), (256, 784), (256,), (10, 256), (10,)),
        (1, 10),
        _mlp,
        lambda _, *tensors: _mlp(*tensors),
        flops=2.0 * 256 * (784 + 10),
        prepare=_by_dlight,
    ),
]


def _resources(name: str, expression: str, *shapes: tuple[int, ...]) -> GpuProblem:
    """A problem that is compiled only."""
    return GpuProblem(name, expression, shapes, (1,), np.add, lambda _: None)


RESOURCE_PROBLEMS = [
    *(p for p in GPU_PROBLEMS if "4096, f" not in p.name or p.name.startswith("matmul")),
    _resources("matmul of a batch, 4 x 128 x 96", "R.matmul(x, y)", (4, 128, 64), (4, 64, 96)),
    _resources("matmul 70 x 33 x 130", "R.matmul(x, y)", (70, 33), (33, 130)),
    _resources("matmul of 4 rows", "R.matmul(x, y)", (4, 1024), (1024, 1024)),
    _resources("conv2d 3x3 64, 56 x 56", "R.nn.conv2d(x, y)", (1, 64, 56, 56), (64, 64, 3, 3)),
    _resources("sum of rows", "R.sum(x, axis=-1)", (512, 1000)),
    _resources("sum of columns", "R.sum(x, axis=0)", (1000, 512)),
    _resources("argmax of rows", "R.argmax(x, axis=-1)", (512, 1000)),
    _resources("log softmax", "R.nn.log_softmax(x)", (64, 1000)),
    _resources("RMS norm", "R.nn.rms_norm(x, y, axes=[-1])", (64, 1024), (1024,)),
    _resources(
        "batch norm of channels",
        "R.nn.batch_norm(x, y, y, y, y, axis=1)[0]",
        (2, 64, 28, 28),
        (64,),
    ),
    _resources("GELU", "R.nn.gelu(x)", (512, 1024)),
    _resources(
        "max pooling", "R.nn.max_pool2d(x, pool_size=[2, 2], strides=[2, 2])", (1, 64, 56, 56)
    ),
    _resources("concatenation", "R.concat((x, y), axis=1)", (64, 100), (64, 28)),
    _resources("cumulative sum", "R.cumsum(x, axis=-1)", (64, 1000)),
    _resources("sort", "R.sort(x, axis=-1)", (64, 1000)),
    _resources("top 5", 'R.topk(x, k=5, ret_type="values")', (64, 1000)),
]
