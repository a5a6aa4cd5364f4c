"""`tir-lower-calls`: calls that leave a TensorIR function, to the llvm dialect.

`T.call_extern` becomes a call of the C function of that name, which has to be linked with the
program or be part of the process.  `T.call_packed` calls a registered function through the TVM FFI;
when it fails, the error stays raised in the thread, and the function is marked
(`ffi.may_raise`) so that whoever calls it looks for one.  It gets buffers as tensors of its own,
whose contents are copied back after the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.dialects import dtypes
from relax_mlir.errors import CompileError
from relax_mlir.lowering.passes import ModuleState, Pass, register_pass
from relax_mlir.lowering.to_llvm.ffi_abi import ANY, DLTENSOR, KIND, OBJECT_HEADER, dtype_word
from relax_mlir.lowering.to_llvm.ffi_signature import MAY_RAISE, is_prim_func, symbol_name
from relax_mlir.lowering.to_llvm.ffi_support import DECLARATIONS, SUPPORT_SYMBOLS
from relax_mlir.lowering.to_llvm.llvm_intrinsics import lower_intrinsics
from relax_mlir.lowering.to_llvm.llvm_module import call_c, declare, pointer_type, string_address
from relax_mlir.lowering.to_llvm.tir_intrinsics import is_scalable, lower_intrinsic, refuse_scalable
from relax_mlir.mlir import arith, dynamic, func, ir, memref, operations_named

__all__ = ["LowerCalls"]

_CPU = 1  # kDLCPU


@register_pass("tir-lower-calls")
@dataclass(frozen=True)
class LowerCalls(Pass):
    """Lower calls of extern and packed functions to the llvm dialect."""

    def run(self, state: ModuleState) -> None:
        for function in state.functions():
            if not is_prim_func(function):
                continue
            for op in lower_intrinsics(_calls_in(function)):
                _CallLowering(state, function, op).run()
        _mark_callers(state)


def _mark_callers(state: ModuleState) -> None:
    """Who calls a function that may return with an error raised may do so too."""
    functions = {symbol_name(op): op for op in state.functions() if is_prim_func(op)}
    calls: list[tuple[str, str]] = []
    for name, function in functions.items():
        for op in operations_named(function, ("func.call",)):
            calls.append((name, ir.FlatSymbolRefAttr(op.attributes["callee"]).value))
    for _ in functions:
        for caller, callee in calls:
            if callee in functions and MAY_RAISE in functions[callee].attributes:
                functions[caller].attributes[MAY_RAISE] = ir.UnitAttr.get()


def _calls_in(function: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []
    scalable: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "tir.call":
            found.append(op)
        if any(is_scalable(result.type) for result in op.results):
            scalable.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    if scalable:
        refuse_scalable(function, scalable[0])
    return found


def _text(op: ir.Operation, name: str) -> str:
    return ir.StringAttr(op.attributes[name]).value


class _CallLowering:
    """Lowers one `tir.call`."""

    def __init__(self, state: ModuleState, function: ir.Operation, op: ir.Operation) -> None:
        self.state = state
        self.body = state.module.body
        self.function = function
        self.op = op
        self.callee = _text(op, "callee")
        self.pointer = pointer_type()
        self.any = ir.Type.parse(ANY)

    def run(self) -> None:
        lower = {"intrinsic": self._intrinsic, "function": self._function,
                 "packed": self._packed}.get(_text(self.op, "kind"), self._extern)  # fmt: skip
        with ir.InsertionPoint(self.op), self.op.location:
            result = lower()
        if len(self.op.results) and result is not None:
            self.op.results[0].replace_all_uses_with(result)
        self.op.erase()

    def _intrinsic(self) -> ir.Value | None:
        if self.callee == "tvm_call_trace_packed":
            return self._trace()
        return lower_intrinsic(self.function, self.op, self.callee, self._arguments())

    def _trace(self) -> ir.Value | None:
        """Give values to a registered function; the last of them is the call's."""
        action, *values = self._arguments()
        last = values[-1] if values else None
        if not isinstance(action, str) or last is None or isinstance(last, str):
            raise CompileError(f"{symbol_name(self.function)}: a trace names a function and values")
        out = self._call_registered(action, values, self._dtypes()[1:])
        self._call("relax_ffi_release", [out], None)
        return last

    def _function(self) -> ir.Value | None:
        """Call another TensorIR function of the module; buffers are passed as they are."""
        callee = next((op for op in self.state.functions() if symbol_name(op) == self.callee), None)
        where = f"{symbol_name(self.function)}: the call of {self.callee!r}"
        if callee is None or not is_prim_func(callee):
            raise CompileError(f"{where}: the module has no primitive function of that name")
        kind = ir.FunctionType(ir.TypeAttr(callee.attributes["function_type"]).value)
        given = self._arguments()
        if len(given) != len(kind.inputs):
            raise CompileError(f"{where} has {len(given)} arguments, it takes {len(kind.inputs)}")
        operands = [
            self._argument(f"{where}: argument {number}", value, wanted)
            for number, (value, wanted) in enumerate(zip(given, kind.inputs, strict=True))
        ]
        made = func.CallOp(list(kind.results), self.callee, operands)
        results = list(made.operation.results)
        return results[0] if results and len(self.op.results) else None

    def _argument(self, where: str, value: str | ir.Value, wanted: ir.Type) -> ir.Value:
        if isinstance(value, str):
            raise CompileError(f"{where} is a string")
        if value.type == wanted:
            return value
        if isinstance(value.type, ir.MemRefType) and isinstance(wanted, ir.MemRefType):
            same = value.type.element_type == wanted.element_type and value.type.rank == wanted.rank
            sizes = list(zip(value.type.shape, wanted.shape, strict=False))
            if same and all(a == b or dynamic() in (a, b) for a, b in sizes):
                return memref.cast(wanted, value)
        if _is_index(wanted) and isinstance(value.type, ir.IntegerType):
            return arith.index_cast(wanted, value)
        if isinstance(wanted, ir.IntegerType) and _is_index(value.type):
            return arith.index_cast(wanted, value)
        raise CompileError(f"{where} is {value.type}, it takes {wanted}",
                           hint="T.decl_buffer gives storage the shape that is asked for",
                           )  # fmt: skip

    # -- building blocks ----------------------------------------------------------------------
    def _create(
        self,
        name: str,
        results: Sequence[ir.Type] = (),
        operands: Sequence[ir.Value] = (),
        **attributes: ir.Attribute,
    ) -> ir.Operation:
        return ir.Operation.create(
            name, results=list(results), operands=list(operands), attributes=attributes
        )

    def _number(self, value: int, bits: int) -> ir.Value:
        return arith.constant(ir.IntegerType.get_signless(bits), value)

    def _field(self, pointer: ir.Value, *path: int, kind: ir.Type | None = None) -> ir.Value:
        return self._create(
            "llvm.getelementptr",
            [self.pointer],
            [pointer],
            elem_type=ir.TypeAttr.get(kind or self.any),
            rawConstantIndices=ir.DenseI32ArrayAttr.get(list(path)),
            noWrapFlags=ir.Attribute.parse("0 : i32"),
        ).result

    def _store(self, value: ir.Value, pointer: ir.Value) -> None:
        self._create("llvm.store", (), [value, pointer])

    def _load(self, pointer: ir.Value, kind: ir.Type) -> ir.Value:
        return self._create("llvm.load", [kind], [pointer]).result

    def _stack(self, count: int, element: ir.Type | None = None) -> ir.Value:
        """Room for `count` Anys (or others) while the function runs: calls may be in loops."""
        entry = self.function.regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(entry):
            size = self._number(max(1, count), 32)
            kind = ir.TypeAttr.get(element or self.any)
            return self._create("llvm.alloca", [self.pointer], [size], elem_type=kind).result

    def _string(self, text: str) -> ir.Value:
        """Address of a C string."""
        return string_address(self.body, text)

    def _declare(self, name: str, text: str) -> None:
        declare(self.body, name, text)

    def _call(
        self, name: str, operands: Sequence[ir.Value], result: ir.Type | None
    ) -> ir.Value | None:
        return call_c(name, operands, result)

    # -- the two kinds ------------------------------------------------------------------------
    def _arguments(self) -> list[str | ir.Value]:
        """Strings and values in the order of the call."""
        values = iter(self.op.operands)
        return [
            ir.StringAttr(entry).value if isinstance(entry, ir.StringAttr) else next(values)
            for entry in ir.ArrayAttr(self.op.attributes["literals"])
        ]

    def _dtypes(self) -> list[str]:
        """TVM's dtypes of buffer arguments; "" of others and where the call does not say."""
        attributes = self.op.attributes
        if "buffer_dtypes" not in attributes:
            return [""] * len(ir.ArrayAttr(attributes["literals"]))
        return [ir.StringAttr(entry).value for entry in ir.ArrayAttr(attributes["buffer_dtypes"])]

    def _extern(self) -> ir.Value | None:
        operands = [
            self._string(argument) if isinstance(argument, str) else self._plain(argument)
            for argument in self._arguments()
        ]
        result = self.op.results[0].type if len(self.op.results) else None
        returned = ir.IntegerType.get_signless(64) if _is_index(result) else result
        kinds = ", ".join(str(operand.type) for operand in operands)
        suffix = "" if returned is None else f" -> {returned}"
        self._declare(self.callee, f"llvm.func @{self.callee}({kinds}){suffix}")
        value = self._call(self.callee, operands, returned)
        return arith.index_cast(ir.IndexType.get(), value) if _is_index(result) else value

    def _plain(self, value: ir.Value) -> ir.Value:
        """A value as C takes it; a buffer is passed by the address of its first element."""
        if _is_index(value.type):
            return arith.index_cast(ir.IntegerType.get_signless(64), value)
        if not isinstance(value.type, ir.MemRefType):
            return value
        index = self._create(
            "memref.extract_aligned_pointer_as_index", [ir.IndexType.get()], [value]
        ).result
        number = arith.index_cast(ir.IntegerType.get_signless(64), index)
        return self._create("llvm.inttoptr", [self.pointer], [number]).result

    def _packed(self) -> ir.Value | None:
        out = self._call_registered(self.callee, self._arguments(), self._dtypes())
        result = self._read_any(out) if len(self.op.results) else None
        self._call("relax_ffi_release", [out], None)
        return result

    def _call_registered(
        self, callee: str, arguments: Sequence[str | ir.Value], kinds: Sequence[str]
    ) -> ir.Value:
        """Call a registered function; the Any with its result."""
        self.function.attributes[MAY_RAISE] = ir.UnitAttr.get()
        args, out = self._stack(len(arguments)), self._stack(1)
        for index, (argument, dtype) in enumerate(zip(arguments, kinds, strict=True)):
            self._write_any(args, index, argument, dtype)
        buffers = {
            index: argument
            for index, argument in enumerate(arguments)
            if not isinstance(argument, str) and isinstance(argument.type, ir.MemRefType)
        }
        if buffers:
            args = self._own_all(args, len(arguments))
        name, support = self._string(callee), "relax_ffi_call_global"
        for symbol in (support, "relax_ffi_release"):
            self._declare_support(symbol)
        length = self._number(len(callee.encode()), 64)
        count = self._number(len(arguments), 32)
        i32 = ir.IntegerType.get_signless(32)
        self._store(self._number(0, 64), out)
        self._store(self._number(0, 64), self._field(out, 0, 2))
        self._call(support, [name, length, args, count, out], i32)
        for index, buffer in buffers.items():
            self._copy_back(self._field(args, index, 2), buffer)
        if buffers:
            for index in range(len(arguments)):
                self._call("relax_ffi_release", [self._field(args, index)], None)
        return out

    def _own_all(self, args: ir.Value, count: int) -> ir.Value:
        """The arguments as values the callee may keep: a buffer lives no longer than its function,
        so that it is passed as a copy."""
        self._declare_support("relax_ffi_own")
        owned, i32 = self._stack(count), ir.IntegerType.get_signless(32)
        for index in range(count):
            slot = self._field(owned, index)
            self._store(self._number(0, 64), slot)
            self._call("relax_ffi_own", [self._field(args, index), slot], i32)
        return owned

    def _copy_back(self, payload: ir.Value, buffer: ir.Value) -> None:
        """What the callee wrote into the copy of a buffer goes into the buffer."""
        kind, wide = ir.MemRefType(buffer.type), ir.IntegerType.get_signless(64)
        size = self._number(dtypes.bits(dtypes.from_mlir(kind.element_type)) // 8, 64)
        for axis in range(kind.rank):
            position = arith.constant(ir.IndexType.get(), axis)
            size = arith.muli(size, arith.index_cast(wide, memref.dim(buffer, position)))
        tensor = self._load(payload, self.pointer)
        layout = ir.IntegerType.get_signless(8)
        data = self._load(self._field(tensor, OBJECT_HEADER, kind=layout), self.pointer)
        self._declare("memcpy", f"llvm.func @memcpy{DECLARATIONS['memcpy']}")
        self._call("memcpy", [self._plain(buffer), data, size], self.pointer)

    def _declare_support(self, symbol: str) -> None:
        self._declare(symbol, f"llvm.func @{symbol}{SUPPORT_SYMBOLS[symbol]}")

    def _dltensor(self, value: ir.Value, dtype: str) -> ir.Value:
        """A view of a compact buffer, on the stack."""
        kind = ir.MemRefType(value.type)
        wide = ir.IntegerType.get_signless(64)
        layout = ir.Type.parse(DLTENSOR)
        tensor = self._stack(1, layout)
        extents = self._stack(2 * kind.rank, wide)
        stride = self._number(1, 64)
        for axis in reversed(range(kind.rank)):
            position = arith.constant(ir.IndexType.get(), axis)
            size = arith.index_cast(wide, memref.dim(value, position))
            self._store(size, self._field(extents, axis, kind=wide))
            self._store(stride, self._field(extents, kind.rank + axis, kind=wide))
            stride = arith.muli(stride, size)
        word = dtype_word(dtype or dtypes.from_mlir(kind.element_type))
        fields: list[tuple[tuple[int, ...], ir.Value]] = [
            ((0, 0), self._plain(value)),
            ((0, 1, 0), self._number(_CPU, 32)),
            ((0, 1, 1), self._number(0, 32)),
            ((0, 2), self._number(kind.rank, 32)),
            ((0, 3), self._number(word, 32)),
            ((0, 4), extents),
            ((0, 5), self._field(extents, kind.rank, kind=wide)),
            ((0, 6), self._number(0, 64)),
        ]
        for path, content in fields:
            self._store(content, self._field(tensor, *path, kind=layout))
        return tensor

    def _write_any(self, args: ir.Value, index: int, argument: str | ir.Value, dtype: str) -> None:
        if isinstance(argument, str):
            kind, payload = KIND["raw_str"], self._string(argument)
        else:
            kind, payload = self._payload(argument, dtype)
        self._store(self._number(kind, 64), self._field(args, index))
        self._store(payload, self._field(args, index, 2))

    def _payload(self, value: ir.Value, dtype: str) -> tuple[int, ir.Value]:
        """The kind of an Any and its 64 bits for a number."""
        wide = ir.IntegerType.get_signless(64)
        if isinstance(value.type, ir.IntegerType):
            if value.type.width == 1:
                return KIND["bool"], arith.extui(wide, value)
            return KIND["int"], value if value.type.width == 64 else arith.extsi(wide, value)
        if _is_index(value.type):
            return KIND["int"], arith.index_cast(wide, value)
        if isinstance(value.type, ir.MemRefType):
            return KIND["dltensor_ptr"], self._dltensor(value, dtype)
        double = ir.F64Type.get()
        return KIND["float"], value if value.type == double else arith.extf(double, value)

    def _read_any(self, slot: ir.Value) -> ir.Value:
        """The number in an Any, as the type of the call's result."""
        kind = self.op.results[0].type
        payload = self._field(slot, 0, 2)
        if isinstance(kind, ir.IntegerType):
            wide = self._load(payload, ir.IntegerType.get_signless(64))
            return wide if kind.width == 64 else arith.trunci(kind, wide)
        if _is_index(kind):
            return arith.index_cast(kind, self._load(payload, ir.IntegerType.get_signless(64)))
        number = self._load(payload, ir.F64Type.get())
        return number if kind == number.type else arith.truncf(kind, number)


def _is_index(kind: ir.Type | None) -> bool:
    return isinstance(kind, ir.IndexType)
