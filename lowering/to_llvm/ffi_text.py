"""Writing host functions as MLIR text: fresh names, constants, strings, blocks.

Host code (argument checks, calls into the TVM FFI) is long, regular and straight; as text it is
parsed at once, which is many times faster than building it op by op through the bindings.  What is
parsed goes through MLIR's verifier like everything else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from relax_mlir.lowering.to_llvm.ffi_abi import ANY, DLTENSOR, memref_descriptor

__all__ = ["FunctionText", "ModuleText", "call_text", "quote"]


# Bytes of what is put on the stack; other types are at most as large as an Any.
_STACK_SIZES = {"i8": 1, "i64": 8, "!llvm.ptr": 8}


def quote(text: str) -> str:
    """`text` as an MLIR string literal, other bytes than printable ASCII escaped."""
    plain = {ord("\\"): "\\5C", ord('"'): "\\22"}
    return "".join(
        plain.get(byte, chr(byte) if 32 <= byte < 127 else f"\\{byte:02X}")
        for byte in text.encode()
    )


def call_text(
    callee: str, operands: Sequence[str], types: Sequence[str], result: str = "()"
) -> str:
    """A call of an `llvm.func`."""
    signature = f"({', '.join(types)}) -> {result}"
    return f"llvm.call @{callee}({', '.join(operands)}) : {signature}"


class ModuleText:
    """Globals and functions that are being written; `str()` is a module."""

    def __init__(self) -> None:
        self._strings: dict[str, str] = {}
        self._globals: dict[str, str] = {}
        self._functions: list[str] = []

    def string(self, text: str) -> str:
        """Symbol of a private C string."""
        if text not in self._strings:
            # Named by content: texts written by different passes then agree.
            name = f"__ffi_str_{hashlib.sha1(text.encode()).hexdigest()[:16]}"
            self._strings[text] = name
            size = len(text.encode()) + 1
            self._globals[name] = (
                f'llvm.mlir.global internal constant @{name}("{quote(text)}\\00") '
                f"{{addr_space = 0 : i32}} : !llvm.array<{size} x i8>"
            )
        return self._strings[text]

    def declare(self, name: str, text: str) -> None:
        """Add a global or a declaration once."""
        self._globals.setdefault(name, text)

    def redeclare(self, name: str, text: str) -> None:
        """Replace a declaration, when what it says is known only at the end."""
        self._globals[name] = text

    def add(self, function: str) -> None:
        self._functions.append(function)

    def __str__(self) -> str:
        body = [*self._globals.values(), *self._functions]
        return "module {\n" + "\n".join(body) + "\n}\n"


class FunctionText:
    """The text of one function.

    Values are SSA names such as `%7`.  `prologue` holds what every block may use (constants,
    stack slots) and comes first in the entry block; `lines` is the code being written.
    """

    def __init__(self, module: ModuleText, header: str) -> None:
        self.module = module
        self._header = header
        self._prologue: list[str] = []
        self._lines: list[str] = []
        self._cold: list[str] = []
        self._constants: dict[tuple[str, object], str] = {}
        self._next = 0
        self._next_block = 0
        self.stack_bytes = 0

    # -- text ---------------------------------------------------------------------------------
    def name(self) -> str:
        self._next += 1
        return f"%v{self._next}"

    def block(self, stem: str = "bb") -> str:
        self._next_block += 1
        return f"^{stem}{self._next_block}"

    def line(self, text: str) -> None:
        self._lines.append(f"  {text}")

    def value(self, text: str) -> str:
        """Write an operation with one result; returns the result."""
        result = self.name()
        self.line(f"{result} = {text}")
        return result

    def prologue(self, text: str) -> str:
        """Write an operation with one result into the entry block, before all code."""
        result = self.name()
        self._prologue.append(f"  {result} = {text}")
        return result

    def prologue_line(self, text: str) -> None:
        self._prologue.append(f"  {text}")

    def label(self, block: str, arguments: str = "") -> None:
        self._lines.append(f"{block}{arguments}:")

    def cold(self, block: str, lines: Sequence[str], arguments: str = "") -> None:
        """A block of the unlikely kind, placed at the end of the function."""
        self._cold.append(f"{block}{arguments}:")
        self._cold.extend(f"  {line}" for line in lines)

    def finish(self) -> None:
        """Add the function to its module."""
        body = [*self._prologue, *self._lines, *self._cold]
        self.module.add(self._header + " {\n" + "\n".join(body) + "\n}")

    # -- constants ----------------------------------------------------------------------------
    def constant(self, value: int, kind: str = "i64") -> str:
        key = (kind, value)
        if key not in self._constants:
            self._constants[key] = self.prologue(f"llvm.mlir.constant({value} : {kind}) : {kind}")
        return self._constants[key]

    def null(self) -> str:
        key = ("ptr", 0)
        if key not in self._constants:
            self._constants[key] = self.prologue("llvm.mlir.zero : !llvm.ptr")
        return self._constants[key]

    def string(self, text: str) -> str:
        return self.address(self.module.string(text))

    def address(self, symbol: str) -> str:
        key = ("address", symbol)
        if key not in self._constants:
            self._constants[key] = self.prologue(f"llvm.mlir.addressof @{symbol} : !llvm.ptr")
        return self._constants[key]

    def stack(self, kind: str, count: int = 1, alignment: int = 8) -> str:
        """A stack slot that lives as long as the call."""
        size = self.constant(count, "i32")
        self.stack_bytes += count * _STACK_SIZES.get(kind, 16)
        return self.prologue(
            f"llvm.alloca {size} x {kind} {{alignment = {alignment} : i64}} : (i32) -> !llvm.ptr"
        )

    # -- memory -------------------------------------------------------------------------------
    def load(self, pointer: str, kind: str) -> str:
        return self.value(f"llvm.load {pointer} : !llvm.ptr -> {kind}")

    def store(self, value: str, pointer: str, kind: str) -> None:
        self.line(f"llvm.store {value}, {pointer} : {kind}, !llvm.ptr")

    def offset(self, pointer: str, amount: str | int) -> str:
        """`pointer` moved by a number of bytes."""
        if amount == 0:
            return pointer
        index = f"[{amount}] : (!llvm.ptr" + (", i64" if isinstance(amount, str) else "")
        return self.value(f"llvm.getelementptr {pointer}{index}) -> !llvm.ptr, i8")

    def field(self, pointer: str, struct: str, *path: int) -> str:
        """Address of a field of the struct (or array of structs) that `pointer` points to."""
        indices = ", ".join(map(str, path))
        return self.value(
            f"llvm.getelementptr {pointer}[{indices}] : (!llvm.ptr) -> !llvm.ptr, {struct}"
        )

    def any_kind(self, args: str, index: int) -> str:
        return self.load(self.field(args, ANY, index, 0), "i32")

    def any_payload(self, args: str, index: int, kind: str) -> str:
        return self.load(self.field(args, ANY, index, 2), kind)

    def tensor_field(self, tensor: str, *path: int, kind: str) -> str:
        return self.load(self.field(tensor, DLTENSOR, 0, *path), kind)

    # -- arithmetic ---------------------------------------------------------------------------
    def binary(self, op: str, a: str, b: str, kind: str = "i64") -> str:
        return self.value(f"arith.{op} {a}, {b} : {kind}")

    def compare(self, predicate: str, a: str, b: str, kind: str = "i64") -> str:
        return self.value(f"arith.cmpi {predicate}, {a}, {b} : {kind}")

    def equals(self, a: str, number: int, kind: str = "i64") -> str:
        return self.compare("eq", a, self.constant(number, kind), kind)

    def select(self, condition: str, a: str, b: str, kind: str) -> str:
        return self.value(f"arith.select {condition}, {a}, {b} : {kind}")

    # -- control ------------------------------------------------------------------------------
    def require(self, condition: str, otherwise: str) -> None:
        """Branch to `otherwise` (a block, with its operands) unless `condition` holds."""
        going_on = self.block()
        self.line(f"cf.cond_br {condition}, {going_on}, {otherwise}")
        self.label(going_on)

    def call(self, callee: str, operands: Sequence[str], types: Sequence[str], result: str) -> str:
        """Call an `llvm.func`; returns its result."""
        text = call_text(callee, operands, types, result)
        if result == "()":
            self.line(text)
            return ""
        return self.value(text)

    # -- memrefs ------------------------------------------------------------------------------
    def memref(self, data: str, sizes: Sequence[str], strides: Sequence[str], kind: str) -> str:
        """The memref of type `kind` over memory at `data`."""
        rank = len(sizes)
        struct = memref_descriptor(rank)
        whole = self.value(f"llvm.mlir.poison : {struct}")
        parts = [(data, "0"), (data, "1"), (self.constant(0), "2")]
        for axis in range(rank):
            parts.append((sizes[axis], f"3, {axis}"))
            parts.append((strides[axis], f"4, {axis}"))
        for part, position in parts:
            whole = self.value(f"llvm.insertvalue {part}, {whole}[{position}] : {struct}")
        return self.value(f"builtin.unrealized_conversion_cast {whole} : {struct} to {kind}")
