"""From a graph of tensor expressions to a PrimFunc: one loop nest and block a compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.te.scan import ScanOp
from relax_mlir.te.tensor import ComputeOp, ExternOp, Operation, PlaceholderOp, Tensor
from relax_mlir.tir import intrinsics
from relax_mlir.tir import operators as O
from relax_mlir.tir.block_frame import BlockFrame
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import (
    GE,
    GT,
    BufferLoad,
    IterVar,
    PrimExpr,
    ProducerLoad,
    Range,
    Reduce,
    Var,
    post_order,
    substitute,
    transform,
)
from relax_mlir.tir.function import PrimFunc

__all__ = ["Created", "Storage", "UniqueNames", "create_for_schedule", "create_prim_func"]

_LAYOUT_FREE = "layout_free_placeholders"


def create_prim_func(
    ops: Sequence[Tensor | Var], index_dtype_override: str | None = None
) -> PrimFunc:
    """A function whose parameters are `ops`: inputs, scalars (Var), and outputs.

    Computed tensors that are no parameter become allocations.  Raises Error if an input that is
    used is not among the parameters.  `index_dtype_override` is accepted for TVM's sake: index
    dtypes follow the shapes.
    """
    del index_dtype_override
    return _Creator("main", {"tir.noalias": True}).create(ops)


@dataclass(frozen=True)
class Storage:
    """What a schedule wants of a function before it moves anything."""

    scopes: Mapping[Tensor, str] = field(default_factory=dict[Tensor, str])
    """The storage scopes of tensors that are not in global memory."""
    separate: Mapping[Operation, Sequence[int]] = field(
        default_factory=dict[Operation, Sequence[int]]
    )
    """Operations that get a loop nest for each of these outputs, and nothing for others."""


@dataclass
class Created:
    """A function, and what is where in it."""

    function: PrimFunc
    blocks: Mapping[Operation, Sequence[str]]
    """The blocks that an operation became, in order; of a reduction over axes whose domains depend
    on others the outer one first."""
    buffers: Mapping[Tensor, Buffer]


def create_for_schedule(ops: Sequence[Tensor | Var], name: str, storage: Storage) -> Created:
    """`create_prim_func` for a te schedule.

    The states that a scan reads are a buffer of their own, so that moving what reads one and
    writes another state is seen to be safe; whoever schedules makes it the scan's in the end.
    """
    creator = _Creator(name, {"tir.noalias": True}, storage)
    function = creator.create(ops)
    return Created(function, creator.blocks, creator.buffers)


class UniqueNames:
    """Hands out names that are not taken yet: compute, compute_1, ..."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def fresh(self, name: str) -> str:
        candidate, number = name, 0
        while candidate in self._taken:
            number += 1
            candidate = f"{name}_{number}"
        self._taken.add(candidate)
        return candidate


class _Creator:
    def __init__(self, name: str, attrs: dict[str, Any], storage: Storage | None = None):
        self._build = PrimFuncBuilder(name, attrs=attrs)
        self._storage = storage or Storage()
        self._for_schedule = storage is not None
        self.blocks: dict[Operation, list[str]] = {}
        self.buffers: dict[Tensor, Buffer] = {}
        self._buffer_names = UniqueNames()
        self._block_names = UniqueNames()

    def create(self, ops: Sequence[Tensor | Var]) -> PrimFunc:
        for op in ops:
            if isinstance(op, Tensor):
                self._check_new(op)
                buffer = self._declare(op)
                self._build.bind_buffer(buffer)
            elif isinstance(op, Var):
                self._build.scalar_param(op)
            else:
                raise Error(f"create_prim_func: a te.Tensor or Var expected, given {op!r}")
        layout_free: list[Tensor] = []
        for op in _topological(ops):
            layout_free += op.attrs.get(_LAYOUT_FREE, [])
            self._emit(op)
        tensors = [op for op in ops if isinstance(op, Tensor)]
        if layout_free:
            positions = sorted(tensors.index(t) for t in layout_free if t in tensors)
            self._build.set_attrs({"layout_free_buffers": positions})
        return self._build.finish()

    def _check_new(self, tensor: Tensor) -> None:
        if tensor in self.buffers:
            raise Error(f"create_prim_func: tensor {tensor.name} is given twice")

    def _declare(self, tensor: Tensor) -> Buffer:
        name = self._buffer_names.fresh(tensor.name)
        scope = self._storage.scopes.get(tensor, "global")
        self.buffers[tensor] = Buffer(name, tensor.shape, tensor.dtype, scope)
        return self.buffers[tensor]

    def _emit(self, op: Operation) -> None:
        if isinstance(op, PlaceholderOp):
            if op.output(0) not in self.buffers:
                raise Error(
                    f"create_prim_func: input {op.name} is used but not among the parameters"
                )
            return
        for index in self._storage.separate.get(op, range(op.num_outputs)):
            tensor = op.output(index)
            if tensor not in self.buffers:
                self._build.allocate(self._declare(tensor))
        if isinstance(op, ComputeOp):
            self._emit_compute(op)
        elif isinstance(op, ScanOp):
            self._emit_scan(op)
        elif isinstance(op, ExternOp):
            self._emit_extern(op)

    def _block_of(self, op: Operation, name: str) -> str:
        """A name for a block of the operation."""
        fresh = self._block_names.fresh(name)
        self.blocks.setdefault(op, []).append(fresh)
        return fresh

    # -- compute ----------------------------------------------------------------------------

    def _emit_compute(self, op: ComputeOp, step: tuple[PrimExpr, IterVar] | None = None) -> None:
        """A nest for a compute.  With a `step`, for one value of its first axis only: the value,
        and the axis with the values it takes."""
        alone = self._storage.separate.get(op)
        for group in [range(op.num_outputs)] if alone is None else [[n] for n in alone]:
            self._emit_outputs(op, [(op.output(n), op.body[n]) for n in group], step)

    def _emit_outputs(
        self,
        op: ComputeOp,
        made: Sequence[tuple[Tensor, PrimExpr]],
        step: tuple[PrimExpr, IterVar] | None,
    ) -> None:
        build = self._build
        outputs = [tensor for tensor, _ in made]
        dependent = _depends_on_axes(op)
        with ExitStack() as nest:
            axes = op.axis if step is None else [step[1], *op.axis[1:]]
            outer = axes if dependent else [*axes, *op.reduce_axis]
            given = [] if step is None else [step[0]]
            loops: list[PrimExpr] = [*given, *self._loops(nest, outer[len(given) :], {})]
            if dependent:
                self._emit_nested_reduction(op, outputs, loops, axes)
            elif op.reduce_axis:
                with build.block(self._block_of(op, op.name)) as block:
                    values = self._axes(block, op, outer, loops)
                    self._emit_reduction(block, op, outputs, values)
            else:
                for tensor, body in made:
                    with build.block(self._block_of(op, tensor.name)) as block:
                        values = self._axes(block, op, outer, loops)
                        indices = [values[a.var] for a in op.axis]
                        value = _with_less(self._scalar(body, values))
                        build.store(self.buffers[tensor], value, indices)

    def _loops(
        self, nest: ExitStack, axes: Sequence[IterVar], values: dict[Var, PrimExpr]
    ) -> list[Var]:
        """Open a loop for each axis; domains may mention variables that have `values`."""
        loops: list[Var] = []
        for axis in axes:
            assert axis.dom is not None
            low, extent = (substitute(e, values) for e in (axis.dom.min, axis.dom.extent))
            loops.append(nest.enter_context(self._build.for_("serial", low, extent, axis.var.name)))
        return loops

    def _emit_nested_reduction(
        self,
        op: ComputeOp,
        outputs: list[Tensor],
        loops: Sequence[PrimExpr],
        axes: Sequence[IterVar],
    ) -> None:
        """Reduce axes whose domains depend on the spatial ones: an outer block fixes the latter."""
        build, name = self._build, self._block_names.fresh(op.name)
        with build.block(self._block_of(op, f"{name}_l1")) as outer:
            fixed = self._axes(outer, op, axes, loops)
            with ExitStack() as nest:
                inner_loops = self._loops(nest, op.reduce_axis, fixed)
                self.blocks[op].append(name)
                with build.block(name) as block:
                    values: dict[Var, PrimExpr] = {}
                    for axis in op.axis:
                        at = fixed[axis.var]
                        values[axis.var] = block.iter_var("S", (at, 1), at, f"v_{axis.var.name}")
                    for axis, loop in zip(op.reduce_axis, inner_loops, strict=True):
                        assert axis.dom is not None
                        domain = tuple(
                            substitute(e, fixed) for e in (axis.dom.min, axis.dom.extent)
                        )
                        name_ = f"v_{axis.var.name}"
                        values[axis.var] = block.iter_var("R", domain, loop, name_)
                    self._emit_reduction(block, op, outputs, values)

    def _axes(
        self, block: BlockFrame, op: ComputeOp, axes: Sequence[IterVar], loops: Sequence[PrimExpr]
    ) -> dict[Var, PrimExpr]:
        values: dict[Var, PrimExpr] = {}
        for axis, loop in zip(axes, loops, strict=True):
            kind = "R" if axis.iter_type == IterVar.CommReduce else "S"
            values[axis.var] = block.iter_var(kind, axis.dom, loop, f"v_{axis.var.name}")
        if not axes:  # a block has at least one axis, as TVM makes it
            block.iter_var("S", (0, 1), 0, "vi")
        block.annotate(
            {k: v for k, v in op.attrs.items() if k != _LAYOUT_FREE and _is_annotation(v)}
        )
        return values

    def _emit_reduction(
        self, block: BlockFrame, op: ComputeOp, outputs: list[Tensor], values: dict[Var, PrimExpr]
    ) -> None:
        build, reduce = self._build, op.body[0]
        assert isinstance(reduce, Reduce)
        indices = [values[a.var] for a in op.axis]
        buffers = [self.buffers[t] for t in outputs]
        starts = reduce.init or reduce.combiner.identity_element
        with block.init():
            for buffer, start in zip(buffers, starts, strict=True):
                build.store(buffer, self._scalar(start, values), indices)
        condition = self._scalar(reduce.condition, values)
        incoming = [
            intrinsics.if_then_else(condition, self._scalar(source, values), identity)
            for source, identity in zip(
                reduce.source, reduce.combiner.identity_element, strict=True
            )
        ]
        current = [BufferLoad(buffer, indices) for buffer in buffers]
        results = reduce.combiner.combine(current, incoming)
        if len(results) > 1:  # all are computed before the first is stored
            named = zip(buffers, results, strict=True)
            results = tuple(build.let(f"v_{buffer.name}", r) for buffer, r in named)
        for buffer, result in zip(buffers, results, strict=True):
            build.store(buffer, result, indices)

    def _scalar(self, expr: PrimExpr, values: dict[Var, PrimExpr]) -> PrimExpr:
        """The expression on block variables and buffers instead of axes and tensors."""

        def visit(node: PrimExpr) -> PrimExpr | None:
            if isinstance(node, Var):
                return values.get(node, node)
            if isinstance(node, ProducerLoad):
                indices = [transform(i, visit) for i in node.indices]
                return BufferLoad(self.buffers[node.producer], indices)
            return None

        return transform(expr, visit)

    # -- scan -------------------------------------------------------------------------------

    def _emit_scan(self, op: ScanOp) -> None:
        """Copy the first states; then, state by state, run what computes the next one."""
        build, outputs = self._build, [op.output(i) for i in range(op.num_outputs)]
        for output, first, update, state in zip(
            outputs, op.init, op.update, op.state_placeholder, strict=True
        ):
            name = self._block_of(op, f"{self.buffers[output].name}_init")
            self._copy(name, self.buffers[first], self.buffers[output])
            self.buffers[update] = self.buffers[output]
            if self._for_schedule:
                build.allocate(self._declare(state))
            else:
                self.buffers[state] = self.buffers[output]
        for inner in op.steps:
            for index in range(inner.num_outputs):
                if inner.output(index) not in self.buffers:
                    build.allocate(self._declare(inner.output(index)))
        rest = Range.from_min_extent(op.first, O.subtract(op.length, op.first))
        before = Range.from_min_extent(O.subtract(op.first, 1), rest.extent)
        with build.for_("serial", rest.min, rest.extent, "t") as time:
            for inner in op.steps:
                late = inner in op.behind
                at, values = (O.subtract(time, 1), before) if late else (time, rest)
                axis = IterVar(values, inner.axis[0].var, IterVar.DataPar)
                self._emit_compute(inner, (at, axis))

    def _copy(self, name: str, source: Buffer, target: Buffer) -> None:
        build = self._build
        with ExitStack() as nest:
            loops = [
                nest.enter_context(build.for_("serial", 0, size, f"ax{number}"))
                for number, size in enumerate(source.shape)
            ]
            with build.block(name) as block:
                indices: list[PrimExpr] = [
                    block.iter_var("S", (0, size), loop, f"v{number}")
                    for number, (size, loop) in enumerate(zip(source.shape, loops, strict=True))
                ]
                build.store(target, BufferLoad(source, indices), indices)

    # -- extern -----------------------------------------------------------------------------

    def _emit_extern(self, op: ExternOp) -> None:
        sources = [self.buffers[t] for t in op.inputs]
        targets = [self.buffers[op.output(i)] for i in range(op.num_outputs)]
        with self._build.block(self._block_of(op, op.name)) as block:
            block.reads(sources)
            block.writes(targets)
            op.emit(self._build, sources, targets)


def _with_less(expr: PrimExpr) -> PrimExpr:
    """Comparisons by less only, as TVM writes them: Python reads `1 <= i` as `i >= 1`."""

    def visit(node: PrimExpr) -> PrimExpr | None:
        if isinstance(node, (GE, GT)):
            join = O.less_equal if isinstance(node, GE) else O.less
            return join(transform(node.b, visit), transform(node.a, visit))
        return None

    return transform(expr, visit)


def _depends_on_axes(op: ComputeOp) -> bool:
    """Whether the domain of a reduce axis mentions a spatial axis."""
    spatial = [axis.var for axis in op.axis]
    return any(
        node in spatial
        for axis in op.reduce_axis
        if axis.dom is not None
        for end in (axis.dom.min, axis.dom.extent)
        for node in post_order(end)
        if isinstance(node, Var)
    )


def _is_annotation(value: Any) -> bool:
    return isinstance(value, (bool, int, float, str, list, tuple, dict, PrimExpr))


def _topological(ops: Sequence[Tensor | Var]) -> list[Operation]:
    """All operations that the parameters need, inputs first."""
    order: dict[Operation, None] = {}

    def visit(op: Operation) -> None:
        if op in order:
            return
        for tensor in op.input_tensors:
            visit(tensor.op)
        order[op] = None

    for op in ops:
        if isinstance(op, Tensor):
            visit(op.op)
    return list(order)
