"""`tir-lower-warp-memory`: buffers that the threads of a warp hold together.

A buffer of scope "warp" and shape (..., 32) has an element in the registers of each thread of the
warp: a thread writes its own, and reads another's by a shuffle (TVM: LowerWarpMemory).  Those of
shape (..., 32, registers) are fragments, which `tir-lower-tensor-cores` takes.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.dialects.tir.blocks import AccessOp, BlockOp, ReadOp, WriteOp
from relax_mlir.dialects.tir.loops import ForOp
from relax_mlir.errors import CompileError
from relax_mlir.ir.state import ModuleState
from relax_mlir.lowering.passes import Pass, register_pass
from relax_mlir.lowering.tir_to_gpu.fragments import WARP_SIZE, lane_of
from relax_mlir.lowering.tir_to_gpu.kernel_roots import describe, function_name
from relax_mlir.lowering.tir_to_gpu.shuffles import shuffle
from relax_mlir.mlir import arith, ir, memref, operations_named
from relax_mlir.tir.schedule.analysis import from_outside
from relax_mlir.tir.schedule.index import Index, as_index, leaf, mod
from relax_mlir.tir.schedule.state import add_access, alloc_buffer

__all__ = ["LowerWarpMemory"]

_ACCESSES = {"memref.load": 0, "memref.store": 1}
"""Where an operation has its buffer."""


@register_pass("tir-lower-warp-memory")
@dataclass(frozen=True)
class LowerWarpMemory(Pass):
    """Keep an element of a warp's buffer in each thread, and read others' by shuffles."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if "tir.attrs" not in function.attributes:
                continue
            for op in operations_named(function, ["tir.alloc_buffer"]):
                if _is_shared_by_lanes(op):
                    _lower(op)


def _is_shared_by_lanes(op: ir.Operation) -> bool:
    shape = ir.MemRefType(op.results[0].type).shape
    is_fragment = len(shape) > 1 and shape[-2] == WARP_SIZE
    scope = ir.StringAttr(op.attributes["scope"]).value
    return scope == "warp" and bool(shape) and shape[-1] == WARP_SIZE and not is_fragment


def _lower(op: ir.Operation) -> None:
    buffer = op.results[0]
    kind = ir.MemRefType(buffer.type)
    sizes = [Index({}, size) for size in [*kind.shape[:-1], 1]]
    at = ir.InsertionPoint(op)
    made = alloc_buffer(describe(buffer), sizes, kind.element_type, "local", at)
    own = made.operation.results[0]
    for use in list(buffer.uses):
        user = use.owner.operation
        with ir.InsertionPoint(user), user.location:
            if isinstance(user.opview, AccessOp):
                _declare(user.opview, own)
            elif user.name in _ACCESSES:
                _access(user, own)
            else:
                raise CompileError(
                    f"{function_name(user)}: {user.name} takes {describe(buffer)}, whose elements "
                    "are in the registers of a warp's threads",
                    hint="only loads and stores of elements can be made of those",
                )
        user.erase()
    op.erase()


def _declare(access: AccessOp, own: ir.Value) -> None:
    offsets = [as_index(o) for o in access.mixed_offsets]
    sizes = [as_index(s) for s in access.mixed_sizes]
    region = [*zip(offsets[:-1], sizes[:-1], strict=True), (Index(), Index({}, 1))]
    kind = ReadOp if isinstance(access, ReadOp) else WriteOp
    add_access(kind, own, region, ir.InsertionPoint(access))


def _access(op: ir.Operation, own: ir.Value) -> None:
    """Make of a load or store one of the thread's own element, and a shuffle where it is not."""
    place = _ACCESSES[op.name]
    *outer, element = list(op.operands)[place + 1 :]
    zero = arith.constant(ir.IndexType.get(), 0)
    is_own = _is_lane(op, as_index(element))
    if op.name == "memref.store":
        if not is_own:
            raise _refusal(op, own, "writes an element", "a thread writes the one of its number")
        memref.store(op.operands[0], own, [*outer, zero])
        return
    value = memref.load(own, [*outer, zero])
    if not is_own:
        _require_all_lanes(op, own, [as_index(v) for v in outer])
        i32 = ir.IntegerType.get_signless(32)
        value = shuffle(value, "idx", arith.index_cast(i32, element))
    op.results[0].replace_all_uses_with(value)


def _lane(op: ir.Operation, own: ir.Value) -> ir.Value:
    found = lane_of(op)
    if found is None:
        raise _refusal(
            op,
            own,
            "is outside of threadIdx.x, and uses an element",
            "bind a loop of 32 iterations, the threads of a warp, to threadIdx.x",
        )
    return found


def _is_lane(op: ir.Operation, index: Index) -> bool:
    """Whether an index is the thread's number in its warp, in blocks whose rows are whole warps."""
    found = lane_of(op)
    if found is None or (as_index(_extent(found)).as_constant() or 1) % WARP_SIZE:
        return False
    return _of_loops(op, index) in (leaf(found), mod(leaf(found), Index({}, WARP_SIZE)))


def _extent(variable: ir.Value) -> int | ir.Value:
    loop = variable.owner.owner.opview
    assert isinstance(loop, ForOp), "threads are loops here"
    return loop.extent


def _of_loops(op: ir.Operation, index: Index) -> Index:
    """An index in terms of the loops around the blocks that an operation is in."""
    outer = op.parent
    while outer is not None:
        view = outer.operation.opview
        if isinstance(view, BlockOp):
            ((index, _),) = from_outside(view, [(index, Index({}, 1))])
        outer = outer.operation.parent
    return index


def _require_all_lanes(op: ir.Operation, own: ir.Value, outer: list[Index]) -> None:
    """All threads of a warp take part in a shuffle, and hand over the same of their elements."""
    lane = _lane(op, own)
    if any(_of_loops(op, index).uses(lane) for index in outer):
        raise _refusal(op, own, "reads one of several elements", "choose it alike in all threads")
    around = op.parent
    while around is not None and around.operation.name != "func.func":
        block = around.operation.opview
        guarded = isinstance(block, BlockOp) and len(block.predicate)
        if guarded or around.operation.name in ("scf.if", "scf.while"):
            raise _refusal(
                op,
                own,
                "reads, under a condition, an element",
                "read it before the condition: all threads of the warp take part",
            )
        around = around.operation.parent


def _refusal(op: ir.Operation, own: ir.Value, what: str, hint: str) -> CompileError:
    return CompileError(
        f"{function_name(op)}: a thread {what} of {describe(own)} that belongs to another thread "
        "of its warp",
        hint=hint,
    )
