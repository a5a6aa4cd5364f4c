"""Legalisation of operators whose result has a size that depends on values.

A first function computes the sizes, `relax.tensor_to_shape` and `relax.match_cast` make symbols of
them, and a second function fills the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from relax_mlir import te
from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.marks import MARKS
from relax_mlir.dialects.relax.spec import attributes_of
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.relax_to_tir.operands import NotLegalizable, call_loops
from relax_mlir.lowering.relax_to_tir.prim_funcs import PrimFuncs
from relax_mlir.lowering.relax_to_tir.refine import refine
from relax_mlir.mlir import ir
from relax_mlir.tir import operators as O
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr
from relax_mlir.topi.imperative import Line, every
from relax_mlir.topi.line_sort import LineSort
from relax_mlir.topi.sort import flat_copy

Write = Callable[..., None]


@dataclass
class Expansion:
    """One operator on its way to several calls, all in front of it."""

    op: ir.Operation
    state: ModuleState
    made: PrimFuncs

    def call(self, name: str, write: Write, kind: ir.Type) -> ir.Value:
        """Call a function of statements on the operator's operands."""
        values = list(self.op.operands)
        return call_loops(self.op, name, write, values, kind, self.state, self.made)

    def sizes(self, name: str, write: Write, count: int) -> list[Dim]:
        """Symbols for the sizes that a function computes into an int64 vector."""
        vector = self.call(name, write, types.tensor_type((count,), "int64"))
        symbols = [self.made.fresh_symbol(f"{name}_{i}") for i in range(count)]
        location = vector.owner.location
        with ir.InsertionPoint(self.op):
            unknown = types.shape_type(None, count)
            shape = create("relax.tensor_to_shape", [unknown], [vector], loc=location).result
            create("relax.match_cast", [types.shape_type(symbols)], [shape], loc=location)
        return list(symbols)

    def finish(self, value: ir.Value) -> ir.Value:
        """The value under the operator's own name; what uses it learns its type."""
        refine(self.op.results[0], value.type)
        with ir.InsertionPoint(self.op):
            return create("relax.bind", [value.type], [value], loc=self.op.location).result

    def input(self) -> TensorInfo:
        """What is known of the first operand: it must have a shape, a dtype and dimensions."""
        info = types.tensor_info(self.op.operands[0].type)
        if info is None or not info.dims or info.dtype is None:
            raise NotLegalizable
        return info


EXPANSIONS: dict[str, Callable[[Expansion], ir.Value]] = {}


def _expands(name: str) -> Callable[[Any], Any]:
    def register(function: Callable[[Expansion], ir.Value]) -> Callable[[Expansion], ir.Value]:
        EXPANSIONS[name] = function
        return function

    return register


def _is_set(value: PrimExpr) -> PrimExpr:
    return value if value.dtype == "bool" else O.not_equal(value, O.const(0, value.dtype))


@_expands("nonzero")
def _nonzero(self: Expansion) -> ir.Value:
    info = self.input()

    def visit(build: PrimFuncBuilder, data: Buffer, found: Buffer, body: Any) -> None:
        build.store(found, O.const(0, "int64"), [0])
        with ExitStack() as nest:
            place = every(build, data.shape, nest, "i")
            nest.enter_context(build.if_(_is_set(data[place])))
            body(place)
            build.store(found, found[0] + 1, [0])

    def count(build: PrimFuncBuilder, data: Buffer, sizes: Buffer) -> None:
        visit(build, data, sizes, lambda place: None)

    def write(build: PrimFuncBuilder, data: Buffer, out: Buffer) -> None:
        found = build.alloc_buffer("found", [1], "int64")

        def put(place: Sequence[Any]) -> None:
            for axis, index in enumerate(place):
                build.store(out, index, [axis, found[0]])

        visit(build, data, found, put)

    (size,) = self.sizes("nonzero_count", count, 1)
    kind = types.tensor_type((info.ndim, size), "int64")
    return self.finish(self.call("nonzero", write, kind))


@_expands("unique")
def _unique(self: Expansion) -> ir.Value:
    """The sorted different elements of the flattened tensor, as numpy.unique."""
    info, wanted = self.input(), attributes_of(self.op)
    if wanted["axis"] is not None and (info.ndim != 1 or wanted["axis"] not in (0, -1)):
        raise NotLegalizable
    total = dim_algebra.product(info.dims or ())

    def count(build: PrimFuncBuilder, data: Buffer, sizes: Buffer) -> None:
        build.store(sizes, O.const(0, "int64"), [0])
        _each_run(build, data, lambda flat, order, i, new: _count_run(build, sizes, new))

    def write(build: PrimFuncBuilder, data: Buffer, values: Buffer, *extra: Buffer) -> None:
        outputs = dict(zip(names, extra, strict=True))
        run = build.alloc_buffer("run", [1], "int64")
        build.store(run, O.const(-1, "int64"), [0])

        def element(flat: Buffer, order: Buffer, i: PrimExpr, new: PrimExpr) -> None:
            with build.if_(new):
                build.store(run, run[0] + 1, [0])
                build.store(values, flat[order[i]], [run[0]])
                if "return_index" in outputs:
                    build.store(outputs["return_index"], order[i], [run[0]])
                if "return_counts" in outputs:
                    build.store(outputs["return_counts"], O.const(0, "int64"), [run[0]])
            if "return_inverse" in outputs:
                build.store(outputs["return_inverse"], run[0], [order[i]])
            if "return_counts" in outputs:
                counts = outputs["return_counts"]
                build.store(counts, counts[run[0]] + 1, [run[0]])

        _each_run(build, data, element)

    names = [n for n in ("return_index", "return_inverse", "return_counts") if wanted[n]]
    (size,) = self.sizes("unique_count", count, 1)
    lengths = {"return_index": size, "return_inverse": total, "return_counts": size}
    kinds = [types.tensor_type((size,), info.dtype)]
    kinds += [types.tensor_type((lengths[name],), "int64") for name in names]
    kind = types.tuple_type(kinds) if names else kinds[0]
    return self.finish(self.call("unique", write, kind))


def _count_run(build: PrimFuncBuilder, sizes: Buffer, new: PrimExpr) -> None:
    with build.if_(new):
        build.store(sizes, sizes[0] + 1, [0])


def _each_run(build: PrimFuncBuilder, data: Buffer, body: Any) -> None:
    """Visit the elements in sorted order; `new` says that one differs from the one before."""
    flat, total = flat_copy(build, data)
    sorter = LineSort(build, data.dtype, total, descending=False)
    sorter.sort(Line((), 0, total), lambda i: flat[i])
    with build.for_("serial", 0, total, "i", "int64") as i:
        here = flat[sorter.order[i]]
        before = flat[sorter.order[O.max(i - 1, O.const(0, "int64"))]]
        differs = O.not_equal(here, before)
        if dtypes.is_float(data.dtype):
            both = te.all(te.isnan(here), te.isnan(before))
            differs = te.all(differs, O.logical_not(both))
        body(flat, sorter.order, i, te.any(i.equal(O.const(0, "int64")), differs))


@_expands("dynamic_strided_slice")
def _dynamic_strided_slice(self: Expansion) -> ir.Value:
    info = self.input()

    def bounds(data: Buffer, tensors: Sequence[Buffer], axis: int) -> tuple[Any, Any, Any]:
        """First index, stride and length along a dimension, by Python's rules."""
        begin, end, stride = (t[axis].astype("int64") for t in tensors)
        size, zero = data.shape[axis], O.const(0, "int64")
        low = te.if_then_else(stride < 0, O.const(-1, "int64"), zero)
        high = te.if_then_else(stride < 0, size - 1, size)

        def canonical(index: Any) -> Any:
            return O.max(O.min(te.if_then_else(index < 0, index + size, index), high), low)

        first, last = canonical(begin), canonical(end)
        step = te.if_then_else(stride.equal(zero), O.const(1, "int64"), stride)
        forward = O.floordiv(last - first + step - 1, step)
        backward = O.floordiv(first - last - step - 1, 0 - step)
        return first, step, O.max(te.if_then_else(step < 0, backward, forward), zero)

    def measure(build: PrimFuncBuilder, data: Buffer, *buffers: Buffer) -> None:
        *tensors, sizes = buffers
        for axis in range(data.ndim):
            build.store(sizes, bounds(data, tensors, axis)[2], [axis])

    def write(build: PrimFuncBuilder, data: Buffer, *buffers: Buffer) -> None:
        *tensors, out = buffers
        places = []
        for axis in range(data.ndim):
            first, step, _ = bounds(data, tensors, axis)
            places.append((build.let(f"first{axis}", first), build.let(f"step{axis}", step)))
        with ExitStack() as nest:
            index = every(build, out.shape, nest, "i")
            source = [f + i * s for (f, s), i in zip(places, index, strict=True)]
            build.store(out, data[tuple(source)], index)

    sizes = self.sizes("strided_slice_sizes", measure, info.ndim)
    kind = types.tensor_type(sizes, info.dtype)
    return self.finish(self.call("dynamic_strided_slice", write, kind))


for _name in MARKS:
    EXPANSIONS[_name] = lambda self: self.op.operands[0]
