"""Tensor intrinsics of te: what an instruction computes, as an operation, and statements that do it
(`te.decl_tensor_intrin`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir import mlir
from relax_mlir.errors import ScheduleError
from relax_mlir.te.create_primfunc import Storage, UniqueNames, create_for_schedule
from relax_mlir.te.tensor import ComputeOp, Operation, PlaceholderOp, Tensor
from relax_mlir.tir import tensor_intrin as tir_intrin
from relax_mlir.tir.buffer import Buffer, decl_buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import PrimExpr, ProducerLoad, Reduce, Var, as_expr, transform
from relax_mlir.tir.function import PrimFunc
from relax_mlir.tir.schedule import Schedule as TirSchedule
from relax_mlir.tir.schedule import nest
from relax_mlir.tir.statements import Evaluate, Names, SeqStmt, Statement

__all__ = ["TensorIntrin", "decl_tensor_intrin"]

_numbers = itertools.count()


@dataclass(frozen=True, eq=False)
class TensorIntrin:
    """`op` is what the instruction computes, `buffers` its inputs and outputs, `body` what computes
    it; of a reduction, `reduce_init` starts it and `reduce_update` goes on with it."""

    name: str
    op: ComputeOp
    inputs: tuple[Tensor, ...]
    buffers: tuple[Buffer, ...]
    body: Statement
    reduce_init: Statement | None
    reduce_update: Statement | None

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        return tuple(self.op.output(i) for i in range(self.op.num_outputs))

    # -- as intrinsics of TensorIR ------------------------------------------------------------

    def registered(self, part: str) -> str:
        """The name of the intrinsic that TensorIR's tensorize finds: "body", "update" or "init"
        (the start of a reduction)."""
        name = f"te.{self.name}.{part}.{next(_numbers)}"
        makers = {"body": self._whole, "update": self._update, "init": self._init}
        tir_intrin.TensorIntrin.register(name, *makers[part]())
        return name

    def _whole(self) -> tuple[PrimFunc, PrimFunc]:
        description = self._description(self.op)
        if self.op.reduce_axis:
            description = _without_init(description, self.op.name)
        return description, self._implementation(self.body, self.buffers)

    def _update(self) -> tuple[PrimFunc, PrimFunc]:
        assert self.reduce_update is not None, "asked for where there is one"
        description = _without_init(self._description(self.op), self.op.name)
        return description, self._implementation(self.reduce_update, self.buffers)

    def _init(self) -> tuple[PrimFunc, PrimFunc]:
        assert self.reduce_init is not None, "asked for where there is one"
        reduce = self.op.body[0]
        assert isinstance(reduce, Reduce), "only a reduction has a start"
        starts = reduce.init or reduce.combiner.identity_element
        fill = ComputeOp(self.op.name, self.op.axis, starts)
        outputs = self.buffers[len(self.inputs) :]
        return self._description(fill), self._implementation(self.reduce_init, outputs)

    def _description(self, op: ComputeOp) -> PrimFunc:
        """The nest of an operation on buffers in the storage scopes of the intrinsic."""
        inputs = self.inputs if op is self.op else ()
        buffers = self.buffers[len(self.inputs) - len(inputs) :]
        placed = _on_inputs(op, inputs)
        tensors = [*placed.input_tensors, *(placed.output(i) for i in range(op.num_outputs))]
        scopes = {t: b.scope() for t, b in zip(tensors, buffers, strict=True)}
        return create_for_schedule(tensors, self.name, Storage(scopes)).function

    def _implementation(self, body: Statement, buffers: Sequence[Buffer]) -> PrimFunc:
        build = PrimFuncBuilder(self.name)
        for buffer in buffers:
            build.bind_buffer(buffer)
        body.emit(build, Names())
        return build.finish()


def _on_inputs(op: ComputeOp, inputs: Sequence[Tensor]) -> ComputeOp:
    """The operation on placeholders, whatever computes the tensors it reads."""
    places = {t: PlaceholderOp(t.name, t.shape, t.dtype).output(0) for t in inputs}

    def visit(node: PrimExpr) -> PrimExpr | None:
        if not isinstance(node, ProducerLoad):
            return None
        return ProducerLoad(places[node.producer], [transform(i, visit) for i in node.indices])

    bodies = [transform(body, visit) for body in op.body]
    return ComputeOp(op.name, op.axis, bodies, op.tag, op.attrs)


def _without_init(function: PrimFunc, block: str) -> PrimFunc:
    """The function without what starts its reduction."""
    schedule = TirSchedule(function)
    start = schedule.decompose_reduction(block, schedule.get_loops(block)[0])
    with mlir.scope():
        top = schedule.get(start)
        for loop in nest.loops_around(top)[:1]:
            top = loop
        schedule.state.erase(top)
    made = schedule.mod["main"]
    assert isinstance(made, PrimFunc), "a schedule of a PrimFunc stays one"
    return made


def decl_tensor_intrin(
    op: Operation,
    fcompute: Callable[..., Any],
    name: str = "tensor_intrin",
    binds: Mapping[Tensor, Buffer] | None = None,
    scalar_params: Sequence[Var] | None = None,
    default_buffer_params: Mapping[str, Any] | None = None,
) -> TensorIntrin:
    """Declare an instruction: `op` (a te.compute on placeholders) says what it computes.

    fcompute: given the input and output buffers, the statements (`tir.ir_builder`, or a call) that
    compute it; of a reduction, a triple of them: the whole, the start, and one step more.
    binds: buffers of tensors, with the strides and storage scope the instruction wants.
    default_buffer_params: what `tir.decl_buffer` gets for the others.

    Raises ScheduleError for another kind of operation, and for scalar parameters.
    """
    if not isinstance(op, ComputeOp):
        raise ScheduleError(f"decl_tensor_intrin: {op.name} is no te.compute")
    if scalar_params:
        raise ScheduleError("decl_tensor_intrin: scalar parameters are not supported",
                            hint="let the instruction read them from a tensor")  # fmt: skip
    inputs = tuple(op.input_tensors)
    tensors = [*inputs, *(op.output(i) for i in range(op.num_outputs))]
    options = dict(default_buffer_params or {})
    names = UniqueNames()
    bound = [
        (binds or {}).get(tensor) or decl_buffer(tensor.shape, tensor.dtype, tensor.name, **options)
        for tensor in tensors
    ]
    buffers = tuple(_as_part(buffer, names.fresh(buffer.name)) for buffer in bound)
    made = fcompute(list(buffers[: len(inputs)]), list(buffers[len(inputs) :]))
    parts = list(made) if isinstance(made, (list, tuple)) else [made]
    body, init, update = [*(_statement(part) for part in parts), None, None][:3]
    if body is None or len(parts) not in (1, 3):
        raise ScheduleError(f"decl_tensor_intrin: {name} gives {len(parts)} statements; one is "
                            "expected, or (whole, start, update)")  # fmt: skip
    return TensorIntrin(name, op, inputs, buffers, body, init, update)


def _as_part(buffer: Buffer, name: str) -> Buffer:
    """The buffer as a parameter of that name, with a variable for the place of its first element
    where it may lie inside of another."""
    anywhere = buffer.offset_factor and buffer.elem_offset is None
    if not anywhere and name == buffer.name:
        return buffer
    return Buffer(
        name,
        buffer.shape,
        buffer.dtype,
        buffer.scope(),
        buffer.strides,
        Var(f"{name}_elem_offset") if anywhere else buffer.elem_offset,
        buffer.data_alignment,
        buffer.offset_factor,
    )


def _statement(part: Any) -> Statement | None:
    if part is None or isinstance(part, Statement):
        return part
    return SeqStmt((Evaluate(as_expr(part)),))
