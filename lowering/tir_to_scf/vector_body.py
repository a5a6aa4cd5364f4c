"""The body of a vectorised loop, rewritten for all lanes at once.

- What is the same in all lanes stays scalar and is broadcast where a vector needs it; an index that
  is `base + stride * lane` needs only its base.
- Loads and stores are those of `vector_access.py`.
- Arithmetic keeps its operation, on vectors.
- A branch whose condition differs between lanes becomes a mask: loads and stores of its body are
  masked, results are selected.  Predicates of blocks and edges of split loops are such branches.
- Inner loops stay loops, around vector operations.
- A buffer allocated in the body gets a last dimension: one element a lane.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from relax_mlir.dialects.tir import mixed
from relax_mlir.dialects.tir.blocks import BlockOp
from relax_mlir.dialects.tir.buffers import AllocBufferOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.lowering.tir_to_scf.blocks import first_step
from relax_mlir.lowering.tir_to_scf.lane_dependences import conflict
from relax_mlir.lowering.tir_to_scf.lane_values import CannotVectorize, LaneValues
from relax_mlir.lowering.tir_to_scf.structure import enclosing
from relax_mlir.lowering.tir_to_scf.vector_access import VectorAccess
from relax_mlir.mlir import arith, ir, scf
from relax_mlir.tir.schedule.index import Index, as_index

__all__ = ["CannotVectorize", "VectorBody"]

_ARITHMETIC = ("arith", "math", "affine")


class VectorBody:
    """Rewrites the body of `loop` for `lanes` lanes; `lane` is the leaf of the lane's number.

    `rewrite` raises CannotVectorize when the body has no vector form, leaving what it has made
    until then to the caller to erase.
    """

    def __init__(self, loop: ForOp, lane: ir.Value, lanes: int) -> None:
        self._loop = loop
        self.values = LaneValues(loop, lane, lanes)
        on_gpu = enclosing(loop.operation, "gpu.launch") is not None
        self.access = VectorAccess(self.values, dense=on_gpu)

    def rewrite(self, value: Index, at: ir.InsertionPoint) -> None:
        """Emit the body at `at`, the loop's variable being `value`."""
        self.values.define(self._loop.induction_variable, value)
        with at, self._loop.location:
            self._block(self._loop.block)
        values = self.values
        found = conflict(self.access.found, values.lane, values.lanes, values.is_outside)
        if found is not None:
            raise CannotVectorize("a lane touches what another one writes")

    # -- structure ----------------------------------------------------------------------------

    def _block(self, block: ir.Block) -> None:
        for view in block.operations:
            op = view.operation
            with op.location:
                handler = _HANDLERS.get(op.name)
                if handler is not None:
                    handler(self, op)
                elif _is_pure(op):
                    self.values.compute(op)
                else:
                    raise CannotVectorize(f"no vector form of {op.name}")

    def inner_for(self, op: ir.Operation) -> None:
        loop = op.opview
        assert isinstance(loop, ForOp), op.name
        if loop.kind.value == "vectorized":
            raise CannotVectorize("a vectorised loop inside another")
        low, extent = (self.values.uniform_index(as_index(b)) for b in (loop.min, loop.extent))
        with self._inner_loop(low, extent, loop) as variable:
            self.values.define_scalar(loop.induction_variable, variable)
            self.access.depth += 1
            self._block(loop.block)
            self.access.depth -= 1

    @contextmanager
    def _inner_loop(self, low: Index, extent: Index, loop: ForOp) -> Any:
        bounds = [self.values.write_mixed(low), self.values.write_mixed(extent)]
        static, operands = mixed.split(bounds)
        kind = loop.kind.value if loop.kind.value in ("serial", "unrolled") else "serial"
        made = ForOp(ir.StringAttr.get(kind), static, operands)
        if "annotations" in loop.operation.attributes:
            made.operation.attributes["annotations"] = loop.operation.attributes["annotations"]
        location = loop.induction_variable.location
        body = made.body.blocks.append(ir.IndexType.get(), arg_locs=[location])
        with ir.InsertionPoint(body):
            yield made.induction_variable

    def tir_block(self, op: ir.Operation) -> None:
        block = op.opview
        assert isinstance(block, BlockOp), op.name
        for variable, binding in zip(block.iter_vars, block.bindings, strict=True):
            self.values.define(variable, self.values.index(binding))

        def run() -> None:
            for view in block.block.operations:
                if view.operation.name == "tir.init":
                    self._init(block, view.operation)
            self._block(block.block)

        if len(block.predicate):
            self._branch(block.predicate[0], run, None)
        else:
            run()

    def _init(self, block: BlockOp, init: ir.Operation) -> None:
        """The initialisation comes first, at the first step of every reduction."""
        lane_condition: ir.Value | None = None
        condition: ir.Value | None = None
        for binding, start in first_step(block):
            difference = self.values.index(binding) - self.values.index(start)
            zero = self.values.is_zero(difference)
            if isinstance(zero.type, ir.VectorType):
                lane_condition = (
                    zero if lane_condition is None else (arith.andi(lane_condition, zero))
                )
            else:
                condition = zero if condition is None else arith.andi(condition, zero)
        body = init.regions[0].blocks[0]

        def run() -> None:
            if lane_condition is None:
                self._block(body)
            else:
                with self.values.masked(lane_condition):
                    self._block(body)

        if condition is None:
            run()
        else:
            self._guarded(condition, run)

    def _guarded(self, condition: ir.Value, run: Callable[[], None]) -> None:
        made = scf.IfOp(condition)
        with ir.InsertionPoint(made.then_block):
            run()
            scf.YieldOp([])

    # -- branches -----------------------------------------------------------------------------

    def _branch(
        self, condition: ir.Value, then: Callable[[], None], other: Callable[[], None] | None
    ) -> None:
        """Statements under a condition: a branch where it is the same in all lanes, else masks."""
        if self.values.is_uniform(condition):
            made = scf.IfOp(self.values.scalar(condition), has_else=other is not None)
            with ir.InsertionPoint(made.then_block):
                then()
                scf.YieldOp([])
            if other is not None:
                with ir.InsertionPoint(made.else_block):
                    other()
                    scf.YieldOp([])
            return
        mask = self.values.vector(condition)
        with self.values.masked(mask):
            then()
        if other is not None:
            with self.values.masked(self.values.negated(mask)):
                other()

    def scf_if(self, op: ir.Operation) -> None:
        sides = [region.blocks[0] for region in op.regions if len(region.blocks)]
        runs = [lambda side=side: self._block(side) for side in sides]
        condition = op.operands[0]
        if not len(op.results):
            self._branch(condition, runs[0], runs[1] if len(runs) > 1 else None)
        elif self.values.is_uniform(condition):
            self._uniform_choice(op, sides)
        else:
            self._branch(condition, runs[0], runs[1])
            mask = self.values.vector(condition)
            yielded = [list(side.operations[-1].operation.operands) for side in sides]
            for result, *values in zip(op.results, *yielded, strict=True):
                chosen = [self.values.vector(value) for value in values]
                self.values.define_vector(result, arith.select(mask, *chosen))

    def _uniform_choice(self, op: ir.Operation, sides: list[ir.Block]) -> None:
        """A choice between values by a condition that is the same in all lanes; the values are
        vectors."""
        types = [self.values.vector_type(result.type) for result in op.results]
        made = scf.IfOp(self.values.scalar(op.operands[0]), types, has_else=True)
        for side, target in zip(sides, (made.then_block, made.else_block), strict=True):
            with ir.InsertionPoint(target):
                self._block(side)
                yielded = side.operations[-1].operation.operands
                scf.YieldOp([self.values.vector(value) for value in yielded])
        for result, value in zip(op.results, made.results, strict=True):
            self.values.define_vector(result, value)

    def attr_scope(self, op: ir.Operation) -> None:
        """What a `T.attr` says of its statements has no meaning for vectors."""
        self._block(op.regions[0].blocks[0])

    # -- buffers ------------------------------------------------------------------------------

    def alloc_buffer(self, op: ir.Operation) -> None:
        view = op.opview
        assert isinstance(view, AllocBufferOp), op.name
        kind = ir.MemRefType(op.results[0].type)
        sizes = [self.values.uniform_value(size) for size in op.operands]
        wide = ir.MemRefType.get([*kind.shape, self.values.lanes], kind.element_type)
        made = AllocBufferOp(view.scope, sizes, wide)
        self.values.define_private(op.results[0], made.operation.results[0])


def _is_pure(op: ir.Operation) -> bool:
    arithmetic = op.name.split(".")[0] in _ARITHMETIC and not op.regions
    return arithmetic or op.name == "memref.dim"


def _nothing(body: VectorBody, op: ir.Operation) -> None:
    """Declarations of regions, and what is emitted elsewhere."""


_HANDLERS: dict[str, Callable[[VectorBody, ir.Operation], None]] = {
    "tir.read": _nothing,
    "tir.write": _nothing,
    "tir.init": _nothing,
    "scf.yield": _nothing,
    "tir.for": VectorBody.inner_for,
    "tir.block": VectorBody.tir_block,
    "tir.alloc_buffer": VectorBody.alloc_buffer,
    "scf.if": VectorBody.scf_if,
    "tir.attr": VectorBody.attr_scope,
    "memref.load": lambda body, op: body.access.load(op),
    "memref.store": lambda body, op: body.access.store(op),
}
