"""Functions that call themselves: loops where the call is the last thing done, a limit elsewhere.

A call of itself whose result is returned as it is becomes a jump to the start with other arguments,
so that loops written as recursion run in constant memory.  Other recursion counts its depth, which
goes from call to call in the unused handle argument, and raises RecursionError before the stack
is full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from relax_mlir.lowering.relax.functions import callee_of, walk
from relax_mlir.lowering.to_llvm.ffi_abi import ANY
from relax_mlir.lowering.to_llvm.ffi_text import FunctionText, call_text
from relax_mlir.mlir import ir

__all__ = ["DepthLimit", "TailLoop", "recursive_functions", "tail_calls"]

# Stack that nested calls may take; threads have 8 MiB, of which kernels need some.
_STACK_BYTES = 4 << 20
# What a frame takes besides the slots that host code asks for.
_FRAME_BYTES = 1024
# A handle below this is a depth: real ones are addresses.
_HANDLES = 1 << 20


def tail_calls(function: ir.Operation, name: str) -> list[ir.Operation]:
    """The calls of `@name` whose result the function returns as it is."""
    return list(_tail_calls(function.regions[0].blocks[0], name))


def _tail_calls(block: ir.Block, name: str, index: int = 0) -> Iterator[ir.Operation]:
    """Those behind which the block does nothing but give their result, its value `index`."""
    operations = [view.operation for view in block.operations]
    value = operations[-1].operands[index]
    for op in reversed(operations[:-1]):
        results = list(op.results)
        if value not in results:
            return
        if op.name == "relax.call" and callee_of(op) == name:
            yield op
        if op.name == "relax.if":
            for region in op.regions:
                yield from _tail_calls(region.blocks[0], name)
        if op.name == "relax.dataflow":
            yield from _tail_calls(op.regions[0].blocks[0], name, results.index(value))
        if op.name != "relax.bind":
            return
        value = op.operands[0]


def recursive_functions(functions: Mapping[str, ir.Operation]) -> dict[str, set[str]]:
    """Those functions that call themselves, directly or not: each with the functions of its
    cycles, itself among them."""
    calls = {
        name: {callee_of(op) for op in walk(function) if op.name == "relax.call"} & functions.keys()
        for name, function in functions.items()
    }
    reached = {name: _reached(name, calls) for name in calls}
    return {
        name: {other for other in found if name in reached[other]}
        for name, found in reached.items()
        if name in found
    }


def _reached(name: str, calls: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = list(calls[name])
    while pending:
        current = pending.pop()
        if current not in found:
            found.add(current)
            pending.extend(calls[current])
    return found


class TailLoop:
    """The loop that a function becomes which calls itself at its end."""

    def __init__(
        self, text: FunctionText, slots: Sequence[str], check: Callable[[str], None]
    ) -> None:
        """`slots` are Anys the function owns, two an argument; `check` leaves on an error."""
        self.text = text
        self.check = check
        self.current = "%current"
        # The arguments of this round, those of the next, and the array of the former.
        count = len(slots) // 2
        self.held, self.next = slots[:count], slots[count:]
        self.array = text.stack(ANY, max(1, count))
        text.line("cf.br ^start(%args : !llvm.ptr)")
        text.label("^start", "(%current: !llvm.ptr)")

    def jump(self, views: list[str]) -> None:
        """Start over with the arguments at `views`, Anys that are borrowed."""
        text = self.text
        for view, slot in zip(views, self.next, strict=True):
            kinds = ["!llvm.ptr", "!llvm.ptr"]
            self.check(text.call("relax_ffi_own", [view, slot], kinds, "i32"))
        text.line("cf.br ^again")
        text.label(text.block("never"))

    def finish(self, releases: list[str]) -> None:
        """The way back to the start; `releases` gives up what this round owns."""
        text, lines = self.text, list(releases)
        for index, (held, following) in enumerate(zip(self.held, self.next, strict=True)):
            place, value = text.name(), text.name()
            entry = f"llvm.getelementptr {self.array}[{index}] : (!llvm.ptr) -> !llvm.ptr, {ANY}"
            lines += [
                call_text("relax_ffi_release", [held], ["!llvm.ptr"]),
                f"{value} = llvm.load {following} : !llvm.ptr -> {ANY}",
                f"llvm.store {value}, {held} : {ANY}, !llvm.ptr",
                f"{place} = {entry}",
                f"llvm.store {value}, {place} : {ANY}, !llvm.ptr",
                f"llvm.store {text.constant(0, 'i32')}, {following} : i32, !llvm.ptr",
            ]
        lines.append(f"cf.br ^start({self.array} : !llvm.ptr)")
        text.cold("^again", lines)


class DepthLimit:
    """Counts how deep a function is inside of itself."""

    def __init__(self, text: FunctionText, name: str) -> None:
        self.text = text
        self.limit = text.name()
        address = text.value("llvm.ptrtoint %handle : !llvm.ptr to i64")
        counted = text.compare("ult", address, text.constant(_HANDLES))
        self.depth = text.select(counted, address, text.constant(0), "i64")
        bad = text.block("deep")
        text.require(text.compare("slt", self.depth, self.limit), bad)
        message = f"{name}: it calls itself too deeply; a call that is the last thing a function "
        message += "does takes no stack"
        operands = [text.string("RecursionError"), text.string(message)]
        raised = call_text("TVMFFIErrorSetRaisedFromCStr", operands, ["!llvm.ptr"] * 2)
        text.cold(bad, [raised, f"return {text.constant(-1, 'i32')} : i32"])

    def handle(self) -> str:
        """The handle that a call of a function of the cycle gets."""
        deeper = self.text.binary("addi", self.depth, self.text.constant(1))
        return self.text.value(f"llvm.inttoptr {deeper} : i64 to !llvm.ptr")

    def finish(self) -> None:
        """Fix the limit, now that the size of the frame is known."""
        limit = max(16, _STACK_BYTES // (self.text.stack_bytes + _FRAME_BYTES))
        self.text.prologue_line(f"{self.limit} = llvm.mlir.constant({limit} : i64) : i64")
