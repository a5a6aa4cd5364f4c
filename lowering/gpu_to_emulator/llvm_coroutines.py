"""`llvm-coroutines`: functions that call `emu_yield` become coroutines.

A function of the llvm dialect that `gpu-to-emulator` has made returns the handle of a coroutine
that has not started.  Resumed, it runs to the next `emu_yield(event)`, whose event it writes to the
first word of the launch's state; at its end it reports Event.DONE and frees itself.  A refused
access (a check that returned 0) ends it with Event.FAULT.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.gpu_to_emulator.async_copies import ASYNC_WAIT
from relax_mlir.lowering.gpu_to_emulator.check_access import CHECK_ACCESS
from relax_mlir.lowering.gpu_to_emulator.gpu_to_emulator import SHARED_BYTES
from relax_mlir.lowering.gpu_to_emulator.kernel_writer import YIELD
from relax_mlir.lowering.gpu_to_emulator.layout import Event
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.mlir import ir, llvm

__all__ = ["LLVMCoroutines"]

_MAY_REFUSE = (CHECK_ACCESS, ASYNC_WAIT)
_ALLOCATOR = (
    ("aligned_alloc", "!llvm.func<ptr (i64, i64)>"),
    ("free", "!llvm.func<void (ptr)>"),
)
# Of a frame, which holds vectors of any size.
_ALIGNMENT = 64


@register_pass("llvm-coroutines")
@dataclass(frozen=True)
class LLVMCoroutines(Pass):
    """Turn the emulator's thread functions into LLVM coroutines."""

    def run(self, state: ModuleState) -> None:
        body = state.module.body
        threads = [op.operation for op in body.operations if SHARED_BYTES in op.attributes]
        if not threads:
            return
        present = {
            ir.StringAttr(op.attributes["sym_name"]).value
            for op in body.operations
            if "sym_name" in op.operation.attributes
        }
        with ir.InsertionPoint(body):
            for name, kind in _ALLOCATOR:
                if name not in present:
                    llvm.LLVMFuncOp(name, ir.TypeAttr.parse(kind))
        for op in threads:
            _Coroutine(op).write()
        for op in list(body.operations):
            named = op.operation.name == "llvm.func"
            if named and ir.StringAttr(op.attributes["sym_name"]).value == YIELD:
                op.operation.erase()


class _Coroutine:
    """One function: its frame, its tail blocks, and the places where it stops."""

    def __init__(self, op: ir.Operation) -> None:
        self.op = op
        self.region = op.regions[0]
        self.ptr, self.token = ir.Type.parse("!llvm.ptr"), ir.Type.parse("token")
        self.i1, self.i8 = (ir.IntegerType.get_signless(bits) for bits in (1, 8))
        self.i32, self.i64 = (ir.IntegerType.get_signless(bits) for bits in (32, 64))
        self.state = self.region.blocks[0].arguments[1]

    def _constant(self, kind: ir.Type, value: int) -> ir.Value:
        return llvm.mlir_constant(ir.IntegerAttr.get(kind, value))

    def write(self) -> None:
        calls, refusals, returns = self._find()
        self._write_frame()
        self._write_tail()
        for op in refusals:
            self._end_if_refused(op)
        for op in calls:
            with ir.InsertionPoint(op):
                self._report(op.operands[0])
            self._suspend_after(op)
            op.erase()
        for op in returns:
            with ir.InsertionPoint(op):
                self._report(self._constant(self.i64, Event.DONE))
                llvm.br([], self.cleanup)
            op.erase()
        self._suspend_after(self.begin)
        passthrough = [ir.StringAttr.get(name) for name in ("presplitcoroutine", "noinline")]
        self.op.attributes["passthrough"] = ir.ArrayAttr.get(passthrough)

    def _find(self) -> tuple[list[ir.Operation], list[ir.Operation], list[ir.Operation]]:
        calls: list[ir.Operation] = []
        refusals: list[ir.Operation] = []
        returns: list[ir.Operation] = []
        for block in self.region.blocks:
            for view in block.operations:
                op = view.operation
                if op.name == "llvm.return":
                    returns.append(op)
                elif op.name == "llvm.call" and "callee" in op.attributes:
                    callee = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
                    if callee == YIELD:
                        calls.append(op)
                    elif callee in _MAY_REFUSE:
                        refusals.append(op)
        return calls, refusals, returns

    def _write_frame(self) -> None:
        first = self.region.blocks[0].operations[0]
        with ir.InsertionPoint(first), ir.Location.unknown():
            null = llvm.mlir_zero(self.ptr)
            zero = self._constant(self.i32, 0)
            self.id = llvm.intr_coro_id(self.token, zero, null, null, null)
            size = llvm.intr_coro_size(self.i64)
            padded = llvm.add(size, self._constant(self.i64, _ALIGNMENT - 1), 0)
            whole = llvm.and_(padded, self._constant(self.i64, -_ALIGNMENT))
            operands = [self._constant(self.i64, _ALIGNMENT), whole]
            memory = llvm.CallOp(self.ptr, operands, [], [], callee="aligned_alloc").result
            self.handle = llvm.intr_coro_begin(self.ptr, self.id, memory)
            self.begin = self.handle.owner.operation

    def _write_tail(self) -> None:
        blocks = self.region.blocks
        self.cleanup, self.suspended = blocks.append(), blocks.append()
        self.fault = blocks.append()
        self.stopped = blocks.append(self.i8, arg_locs=[ir.Location.unknown()])
        with ir.Location.unknown():
            with ir.InsertionPoint(self.cleanup):
                memory = llvm.intr_coro_free(self.ptr, self.id, self.handle)
                llvm.CallOp(None, [memory], [], [], callee="free")
                llvm.br([], self.suspended)
            with ir.InsertionPoint(self.suspended):
                no = self._constant(self.i1, 0)
                llvm.intr_coro_end(self.i1, self.handle, no, llvm.mlir_none())
                llvm.return_(arg=self.handle)
            with ir.InsertionPoint(self.fault):
                self._report(self._constant(self.i64, Event.FAULT))
                llvm.br([], self.cleanup)
            with ir.InsertionPoint(self.stopped):
                # 1 is the request to go away, anything else the return to the scheduler.
                one = self._constant(self.i8, 1)
                gone = llvm.icmp(llvm.ICmpPredicate.eq, self.stopped.arguments[0], one)
                llvm.cond_br(gone, [], [], self.cleanup, self.suspended)

    def _report(self, event: ir.Value) -> None:
        llvm.store(event, self.state)

    def _split_after(self, op: ir.Operation) -> tuple[ir.Block, ir.Block]:
        """The block of an operation, ended behind it, and a new one with the rest."""
        block = op.block
        rest, behind = [], False
        for view in block.operations:
            if behind:
                rest.append(view)
            behind = behind or view.operation == op
        after = block.create_after()
        for view in rest:
            after.append(view)
        return block, after

    def _suspend_after(self, op: ir.Operation) -> None:
        block, after = self._split_after(op)
        with ir.InsertionPoint(block), op.location:
            saved = llvm.intr_coro_save(self.token, self.handle)
            how = llvm.intr_coro_suspend(self.i8, saved, self._constant(self.i1, 0))
            resumed = llvm.icmp(llvm.ICmpPredicate.eq, how, self._constant(self.i8, 0))
            llvm.cond_br(resumed, [], [how], after, self.stopped)

    def _end_if_refused(self, op: ir.Operation) -> None:
        block, after = self._split_after(op)
        with ir.InsertionPoint(block), op.location:
            zero = self._constant(self.i64, 0)
            fine = llvm.icmp(llvm.ICmpPredicate.ne, op.results[0], zero)
            llvm.cond_br(fine, [], [], after, self.fault)
