"""Functions of the emulator's runtime, written in Python and compiled as they are traced.

`NativeModule.function` opens a function; inside, `Int` values build 64-bit arithmetic by Python's
operators, `when`, `loop` and `count` build control flow, `var` makes variables.  Addresses are
integers.

    with module.function("twice", 1) as f:
        f.ret(f.arguments[0] * 2)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import TypeAlias

from relax_mlir.mlir import PassManager, arith, cf, func, ir, llvm

__all__ = ["Function", "Int", "NativeModule", "Variable"]

Number: TypeAlias = "Int | int | IntEnum"


class Int:
    """A 64-bit integer (or, from comparisons, a truth value) of the function being written."""

    def __init__(self, function: Function, value: ir.Value) -> None:
        self.function = function
        self.value = value

    def _binary(self, make: Callable[[ir.Value, ir.Value], ir.Value], other: Number) -> Int:
        return Int(self.function, make(self.value, self.function.lift(other, self).value))

    def __add__(self, other: Number) -> Int:
        return self._binary(arith.addi, other)

    def __sub__(self, other: Number) -> Int:
        return self._binary(arith.subi, other)

    def __mul__(self, other: Number) -> Int:
        return self._binary(arith.muli, other)

    def __floordiv__(self, other: Number) -> Int:
        return self._binary(arith.divui, other)

    def __mod__(self, other: Number) -> Int:
        return self._binary(arith.remui, other)

    def __and__(self, other: Number) -> Int:
        return self._binary(arith.andi, other)

    def __or__(self, other: Number) -> Int:
        return self._binary(arith.ori, other)

    def __lshift__(self, other: Number) -> Int:
        return self._binary(arith.shli, other)

    def __rshift__(self, other: Number) -> Int:
        return self._binary(arith.shrui, other)

    def _compare(self, predicate: arith.CmpIPredicate, other: Number) -> Int:
        return self._binary(lambda a, b: arith.cmpi(predicate, a, b), other)

    def __lt__(self, other: Number) -> Int:
        return self._compare(arith.CmpIPredicate.ult, other)

    def __le__(self, other: Number) -> Int:
        return self._compare(arith.CmpIPredicate.ule, other)

    def __gt__(self, other: Number) -> Int:
        return self._compare(arith.CmpIPredicate.ugt, other)

    def is_(self, other: Number) -> Int:
        return self._compare(arith.CmpIPredicate.eq, other)

    def is_not(self, other: Number) -> Int:
        return self._compare(arith.CmpIPredicate.ne, other)


class Variable:
    """A 64-bit variable of a function."""

    def __init__(self, function: Function, slot: ir.Value) -> None:
        self._function = function
        self._slot = slot

    def get(self) -> Int:
        return Int(self._function, llvm.load(self._function.i64, self._slot))

    def address(self) -> Int:
        """Where the variable is, for a function that writes it."""
        return Int(self._function, llvm.ptrtoint(self._function.i64, self._slot))

    def set(self, value: Number) -> None:
        llvm.store(self._function.lift(value).value, self._slot)


class Function:
    """A function while it is written; every argument and the result are 64-bit integers."""

    def __init__(self, op: func.FuncOp) -> None:
        self.i64 = ir.IntegerType.get_signless(64)
        self._region: ir.Region = op.operation.regions[0]
        entry = op.add_entry_block()
        self._entry = ir.InsertionPoint(entry)
        self._point = self._entry
        self._finished = False
        self.arguments = [Int(self, value) for value in entry.arguments]

    # -- values -------------------------------------------------------------------------------
    def lift(self, value: Number, like: Int | None = None) -> Int:
        """A Python number as a constant of the type of `like`."""
        if isinstance(value, Int):
            return value
        kind = self.i64 if like is None else like.value.type
        return Int(self, arith.constant(kind, int(value)))

    def var(self, value: Number = 0) -> Variable:
        start = self.lift(value)
        block = self._region.blocks[0]
        with ir.InsertionPoint.at_block_begin(block):
            one = arith.constant(self.i64, 1)
            slot = llvm.alloca(ir.Type.parse("!llvm.ptr"), one, self.i64)
        made = Variable(self, slot)
        made.set(start)
        return made

    def load(self, address: Number, bits: int = 64) -> Int:
        """The unsigned integer of so many bits at an address."""
        kind = ir.IntegerType.get_signless(bits)
        value = llvm.load(kind, self.pointer(address))
        return Int(self, value if bits == 64 else arith.extui(self.i64, value))

    def store(self, value: Number, address: Number, bits: int = 64) -> None:
        word = self.lift(value).value
        if bits != 64:
            word = arith.trunci(ir.IntegerType.get_signless(bits), word)
        llvm.store(word, self.pointer(address))

    def pointer(self, address: Number) -> ir.Value:
        return llvm.inttoptr(ir.Type.parse("!llvm.ptr"), self.lift(address).value)

    def call(self, name: str, *arguments: Number, result: bool = True) -> Int:
        """Call a function of the module, or one of the C library that it declares."""
        operands = [self.lift(argument).value for argument in arguments]
        kinds = [self.i64] if result else []
        made = func.CallOp(kinds, name, operands)
        return Int(self, made.results[0]) if result else self.lift(0)

    def call_pointer(self, address: Number, *arguments: Number) -> Int:
        """Call the function at an address."""
        operands = [self.pointer(address), *(self.lift(argument).value for argument in arguments)]
        return Int(self, llvm.CallOp(self.i64, operands, [], []).result)

    def resume(self, handle: Number) -> None:
        """Let a coroutine run until it stops again."""
        llvm.intr_coro_resume(self.pointer(handle))

    def destroy(self, handle: Number) -> None:
        """Free a coroutine that has stopped."""
        llvm.CallOp(None, [self.load_pointer(handle, 8), self.pointer(handle)], [], [])

    def load_pointer(self, address: Number, offset: int = 0) -> ir.Value:
        at = self.lift(address) + offset
        return llvm.load(ir.Type.parse("!llvm.ptr"), self.pointer(at))

    # -- control ------------------------------------------------------------------------------
    def _block(self) -> ir.Block:
        return self._region.blocks.append()

    def _at(self, block: ir.Block) -> None:
        self._point.__exit__(None, None, None)
        self._point = ir.InsertionPoint(block)
        self._point.__enter__()
        self._finished = False

    def _jump(self, block: ir.Block) -> None:
        if not self._finished:
            cf.br([], block)

    def ret(self, value: Number = 0) -> None:
        """Return; what follows in the same branch is not reached."""
        func.ReturnOp([self.lift(value).value])
        self._finished = True

    @contextmanager
    def when(self, condition: Int) -> Iterator[None]:
        """Code that runs if `condition` holds."""
        inside, after = self._block(), self._block()
        cf.cond_br(condition.value, [], [], inside, after)
        self._at(inside)
        yield
        self._jump(after)
        self._at(after)

    @contextmanager
    def loop(self, condition: Callable[[], Int]) -> Iterator[None]:
        """Code that runs as long as `condition()` holds."""
        head, inside, after = self._block(), self._block(), self._block()
        self._jump(head)
        self._at(head)
        cf.cond_br(condition().value, [], [], inside, after)
        self._at(inside)
        yield
        self._jump(head)
        self._at(after)

    @contextmanager
    def count(self, start: Number, stop: Number) -> Iterator[Int]:
        """Code that runs for every number from `start` up to, not including, `stop`."""
        number, end = self.var(start), self.lift(stop)
        with self.loop(lambda: number.get() < end):
            yield number.get()
            if not self._finished:
                number.set(number.get() + 1)

    def open(self) -> None:
        self._point.__enter__()

    def close(self) -> None:
        if not self._finished:
            self.ret()
        self._point.__exit__(None, None, None)


_PIPELINE = (
    "builtin.module(convert-arith-to-llvm,convert-cf-to-llvm,convert-func-to-llvm,"
    "reconcile-unrealized-casts,canonicalize)"
)


class NativeModule:
    """Functions on 64-bit integers; `declarations` are those of the C library that they call."""

    def __init__(self, declarations: Sequence[tuple[str, int, bool]]) -> None:
        self.module = ir.Module.create()
        for name, count, result in declarations:
            self._declare(name, count, result)

    def _declare(self, name: str, count: int, result: bool) -> None:
        i64 = ir.IntegerType.get_signless(64)
        with ir.InsertionPoint(self.module.body):
            func.FuncOp(name, ([i64] * count, [i64] * result), visibility="private")

    def lower(self) -> ir.Module:
        """The module, brought to the llvm dialect."""
        PassManager.parse(_PIPELINE).run(self.module.operation)
        return self.module

    @contextmanager
    def function(self, name: str, count: int) -> Iterator[Function]:
        """Open the function `name` of `count` arguments; its result is 0 unless `ret` says so."""
        i64 = ir.IntegerType.get_signless(64)
        with ir.InsertionPoint(self.module.body):
            op = func.FuncOp(name, ([i64] * count, [i64]))
        made = Function(op)
        made.open()
        yield made
        made.close()
