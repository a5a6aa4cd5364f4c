"""Kernels written as linalg text: building the text, compiling it for the CPU, calling it on numpy
arrays.  For tests and benchmarks of the back end alone.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from relax_mlir import mlir
from relax_mlir.lowering.linalg_to_vector.linalg_fuse_elementwise import LinalgFuseElementwise
from relax_mlir.lowering.linalg_to_vector.linalg_to_vector import LinalgToVector
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.to_llvm.cpu import lower_to_llvm
from relax_mlir.mlir import ir
from relax_mlir.runtime.engine import openmp_library

__all__ = ["Kernel", "KernelText", "compile_kernel", "memref"]

Array = np.ndarray[Any, Any]


def memref(shape: Sequence[int | None], dtype: str = "f32") -> str:
    """The memref type of a shape, None standing for a size known at run time."""
    return f"memref<{''.join('?x' if n is None else f'{n}x' for n in shape)}{dtype}>"


@dataclass
class KernelText:
    """A function `f` on memrefs, written statement by statement.

    `arguments` maps names to memref types; all of them are buffers that do not overlap unless
    `noalias` is False.
    """

    arguments: dict[str, str]
    noalias: bool = True
    _types: dict[str, str] = field(default_factory=dict)
    _lines: list[str] = field(default_factory=list)
    _count: int = 0

    def __post_init__(self) -> None:
        self._types.update(self.arguments)

    def _fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def constant(self, value: str, dtype: str) -> str:
        name = self._fresh()
        self._lines.append(f"{name} = arith.constant {value} : {dtype}")
        return name

    def alloc(self, name: str, type_: str, sizes: Sequence[tuple[str, int]] = ()) -> None:
        """A temporary; `sizes` gives a buffer and one of its dimensions for each run-time size."""
        dims: list[str] = []
        for buffer, dim in sizes:
            index, size = self.constant(str(dim), "index"), self._fresh()
            self._lines.append(f"{size} = memref.dim %{buffer}, {index} : {self._types[buffer]}")
            dims.append(size)
        self._types[name] = type_
        self._lines.append(f"%{name} = memref.alloc({', '.join(dims)}) : {type_}")

    def fill(self, buffer: str, value: str, dtype: str = "f32") -> None:
        constant = self.constant(value, dtype)
        self._lines.append(
            f"linalg.fill ins({constant} : {dtype}) outs(%{buffer} : {self._types[buffer]})"
        )

    def generic(
        self,
        operands: Sequence[tuple[str, str]],
        outputs: int,
        iterators: str,
        body: Sequence[str],
        yields: str,
    ) -> None:
        """A `linalg.generic`.

        operands: (buffer, indexing expressions), outputs last, as `("A", "d0, d2")`.
        iterators: one letter a dimension, p or r.  body: statements on %0, %1, ... (the operands'
        elements) and on whatever they define; yields: the yielded values with their types.
        """
        dims = ", ".join(f"d{i}" for i in range(len(iterators)))
        maps = ", ".join(f"affine_map<({dims}) -> ({e})>" for _, e in operands)
        kinds = ", ".join('"parallel"' if c == "p" else '"reduction"' for c in iterators)
        split = len(operands) - outputs
        groups = (operands[:split], operands[split:])
        names = [", ".join(f"%{name}" for name, _ in group) for group in groups]
        types = [", ".join(self._types[name] for name, _ in group) for group in groups]
        elements = ", ".join(
            f"%x{i}: {self._types[name][:-1].split('x')[-1].removeprefix('memref<')}"
            for i, (name, _) in enumerate(operands)
        )
        ins = f"ins({names[0]} : {types[0]})" if split else ""
        outs = f"outs({names[1]} : {types[1]})"
        attributes = f"indexing_maps = [{maps}], iterator_types = [{kinds}]"
        self._lines += [
            f"linalg.generic {{{attributes}}} {ins} {outs} {{",
            f"^bb0({elements}):",
            *body,
            f"linalg.yield {yields}",
            "}",
        ]

    def __str__(self) -> str:
        arguments = ", ".join(f"%{name}: {type_}" for name, type_ in self.arguments.items())
        noalias = " attributes {tir.noalias}" if self.noalias else ""
        body = "\n".join(self._lines)
        return f"func.func @f({arguments}){noalias} {{\n{body}\nreturn\n}}"


class _Descriptor(ctypes.Structure):
    """MLIR's ranked memref descriptor, up to its sizes and strides."""

    _fields_ = [
        ("allocated", ctypes.c_void_p),
        ("aligned", ctypes.c_void_p),
        ("offset", ctypes.c_int64),
        ("sizes_and_strides", ctypes.c_int64 * 16),
    ]


def _call(entry: Callable[[Any], None], packed: Any, alive: object) -> None:
    entry(packed)


@dataclass(frozen=True)
class Kernel:
    """A compiled function on contiguous numpy arrays.

    seconds: time spent in linalg-to-vector, in lowering to llvm, and in LLVM.  vector_text: the
    module after linalg-to-vector.
    """

    engine: Any
    entry: Callable[[Any], None]
    vector_text: str
    seconds: tuple[float, float, float]

    def bind(self, *arrays: Array) -> Callable[[], None]:
        """A call on fixed arrays without the cost of packing arguments."""
        pointers: list[Any] = []
        for array in arrays:
            assert array.flags.c_contiguous
            numbers = [*array.shape, *(s // array.itemsize for s in array.strides)]
            descriptor = _Descriptor(array.ctypes.data, array.ctypes.data, 0)
            descriptor.sizes_and_strides[: len(numbers)] = numbers
            pointers.append(ctypes.pointer(ctypes.pointer(descriptor)))
        packed = (ctypes.c_void_p * len(pointers))(
            *(ctypes.cast(pointer, ctypes.c_void_p) for pointer in pointers)
        )
        # The partial object holds what the pointers point to, and the code.
        return partial(_call, self.entry, packed, (self, arrays, pointers))

    def __call__(self, *arrays: Array) -> None:
        self.bind(*arrays)()


def compile_kernel(
    text: str | KernelText,
    vector_width: int = 0,
    fuse: bool = True,
    opt_level: int = 2,
    num_cores: int = 1,
) -> Kernel:
    """Compile the function `f` of a module of linalg on memrefs."""
    with mlir.scope():
        module = ir.Module.parse(str(text))
        for op in module.body.operations:
            if op.operation.name == "func.func":
                op.operation.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        state = ModuleState(module)
        start = time.perf_counter()
        if fuse:
            LinalgFuseElementwise().run(state)
            module.operation.verify()
        LinalgToVector(vector_width, num_cores).run(state)
        vectorized = time.perf_counter()
        module.operation.verify()
        vector_text = str(module)
        lowering = time.perf_counter()
        lower_to_llvm(state, num_cores)
        lowered = time.perf_counter()
        libraries = [openmp_library()] if num_cores > 1 else []
        engine = mlir.execution_engine()(module, opt_level=opt_level, shared_libs=libraries)
        entry = engine.lookup("f")
        done = time.perf_counter()
    seconds = (vectorized - start, lowered - lowering, done - lowered)
    return Kernel(engine, entry, vector_text, seconds)
