"""Random linalg programs through linalg-to-vector against upstream's plain loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relax_mlir import mlir
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.to_llvm.cpu import lower_to_llvm
from relax_mlir.mlir import PassManager, ir
from relax_mlir.testing.kernels import Kernel, KernelText, compile_kernel, memref

_OPS = ("arith.addf", "arith.mulf", "arith.subf", "arith.maximumf")
_SIZES = (1, 2, 3, 5, 8, 16, 17, 33)


def compile_by_loops(text: KernelText) -> Kernel:
    """The same function through convert-linalg-to-loops."""
    with mlir.scope():
        module = ir.Module.parse(str(text))
        function = module.body.operations[0].operation
        function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        PassManager.parse("builtin.module(func.func(convert-linalg-to-loops))").run(
            module.operation
        )
        lower_to_llvm(ModuleState(module))
        engine = mlir.execution_engine()(module, opt_level=0)
        return Kernel(engine, engine.lookup("f"), "", (0.0, 0.0, 0.0))


class Program:
    """A few operations on random operands: elementwise with broadcasts, transposes and shifts,
    reductions, products; each reads earlier results."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.arguments: dict[str, str] = {}
        for i in range(3):
            self._argument(f"a{i}", self._shape(int(self.rng.integers(1, 4))))
        self.temporaries: list[str] = []
        self.count = int(self.rng.integers(1, 5))
        steps = [self._step(i) for i in range(self.count)]
        self.text = KernelText(self.arguments)
        for name in self.temporaries:
            self.text.alloc(name, memref(self.shapes[name]))
        for step in steps:
            step()

    def _shape(self, rank: int) -> tuple[int, ...]:
        return tuple(int(self.rng.choice(_SIZES)) for _ in range(rank))

    def _argument(self, name: str, shape: tuple[int, ...]) -> None:
        self.shapes[name] = shape
        self.arguments[name] = memref(shape)

    def _result(self, number: int, shape: tuple[int, ...]) -> str:
        """Where a step writes: an argument, or (all but the last) at times a temporary."""
        name = f"r{number}"
        if number + 1 < self.count and self.rng.integers(3):
            self.shapes[name] = shape
            self.temporaries.append(name)
        else:
            self._argument(name, shape)
        return name

    def _pick(self) -> str:
        names = list(self.shapes)
        recent = names[-1:] if self.rng.integers(2) else names
        return str(self.rng.choice(recent))

    def _step(self, number: int) -> Callable[[], None]:
        source = self._pick()
        shape = self.shapes[source]
        rank = len(shape)
        order = [int(i) for i in self.rng.permutation(rank)]
        op = str(self.rng.choice(_OPS))
        kind = str(self.rng.choice(["map", "reduce", "product"])) if rank else "map"
        source_map = ", ".join(f"d{i}" for i in range(rank))
        if kind == "map":
            out = self._result(number, tuple(shape[i] for i in order))
            out_map = ", ".join(f"d{i}" for i in order)
            second, second_map = self._broadcast_operand(shape)
            return lambda: self.text.generic(
                [(source, source_map), (second, second_map), (out, out_map)],
                1,
                "p" * rank,
                [f"%r = {op} %x0, %x1 : f32"],
                "%r : f32",
            )
        if kind == "reduce":
            axes = {int(i) for i in self.rng.choice(rank, int(self.rng.integers(1, rank + 1)))}
            kept = [i for i in order if i not in axes]
            out = self._result(number, tuple(shape[i] for i in kept))
            kinds = "".join("r" if i in axes else "p" for i in range(rank))
            out_map = ", ".join(f"d{i}" for i in kept)
            return lambda: self._reduce(source, source_map, out, out_map, kinds)
        columns = int(self.rng.choice(_SIZES))
        weight = f"w{number}"
        transposed = bool(self.rng.integers(2))
        k = shape[-1]
        self._argument(weight, (columns, k) if transposed else (k, columns))
        out = self._result(number, (*shape[:-1], columns))
        c, red = f"d{rank}", f"d{rank - 1}"
        lead = ", ".join([*(f"d{i}" for i in range(rank - 1)), c])
        weight_map = f"{c}, {red}" if transposed else f"{red}, {c}"
        kinds = "p" * (rank - 1) + "rp"
        return lambda: self._product(source, source_map, weight, weight_map, out, lead, kinds)

    def _broadcast_operand(self, shape: tuple[int, ...]) -> tuple[str, str]:
        """An operand of the shape's dimensions, some left out, in any order."""
        rank = len(shape)
        dims = [int(i) for i in self.rng.permutation(rank)][: int(self.rng.integers(0, rank + 1))]
        name = f"b{len(self.shapes)}"
        self._argument(name, tuple(shape[i] for i in dims))
        return name, ", ".join(f"d{i}" for i in dims)

    def _reduce(self, source: str, source_map: str, out: str, out_map: str, kinds: str) -> None:
        self.text.fill(out, "0.5")
        self.text.generic(
            [(source, source_map), (out, out_map)],
            1,
            kinds,
            ["%r = arith.addf %x1, %x0 : f32"],
            "%r : f32",
        )

    def _product(
        self, source: str, smap: str, weight: str, wmap: str, out: str, omap: str, kinds: str
    ) -> None:
        self.text.fill(out, "0.0")
        self.text.generic(
            [(source, smap), (weight, wmap), (out, omap)],
            1,
            kinds,
            ["%p = arith.mulf %x0, %x1 : f32", "%r = arith.addf %x2, %p : f32"],
            "%r : f32",
        )

    def arrays(self) -> list[np.ndarray]:
        rng = np.random.default_rng(7)
        return [rng.uniform(-1, 1, self.shapes[n]).astype(np.float32) for n in self.arguments]


@pytest.mark.parametrize("seed", range(60))
def test_random_program(seed: int) -> None:
    program = Program(seed)
    ours, reference = program.arrays(), program.arrays()
    compile_kernel(program.text, vector_width=(0, 0, 256, 128)[seed % 4])(*ours)
    compile_by_loops(program.text)(*reference)
    for name, got, expected in zip(program.arguments, ours, reference, strict=True):
        np.testing.assert_allclose(
            got,
            expected,
            rtol=2e-4,
            atol=2e-4 * max(1.0, float(np.abs(expected).max(initial=0))),
            err_msg=f"{name}\n{program.text}",
        )


@pytest.mark.parametrize("sizes", [(0, 3, 4), (3, 0, 4), (3, 4, 0)], ids=str)
def test_empty_products_of_known_size(sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    kernel = KernelText({"a": memref([m, k]), "b": memref([k, n]), "c": memref([m, n])})
    kernel.fill("c", "1.5")
    kernel.generic(
        [("a", "d0, d2"), ("b", "d2, d1"), ("c", "d0, d1")],
        1,
        "ppr",
        ["%p = arith.mulf %x0, %x1 : f32", "%r = arith.addf %x2, %p : f32"],
        "%r : f32",
    )
    c = np.zeros((m, n), np.float32)
    compile_kernel(kernel)(np.zeros((m, k), np.float32), np.zeros((k, n), np.float32), c)
    np.testing.assert_array_equal(c, np.full((m, n), 1.5, np.float32))
