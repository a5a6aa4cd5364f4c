"""Calls: of kernels in destination-passing style, of registered functions, of Relax functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from relax_mlir.dialects import dims
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.calls import outputs_of
from relax_mlir.lowering.relax.functions import callee_of
from relax_mlir.lowering.relax_to_host.host_function import (
    HostFunction,
    operation,
)
from relax_mlir.lowering.relax_to_host.lift_temporaries import lent_temporaries
from relax_mlir.lowering.relax_to_host.objects import (
    as_tensor,
    call_global,
    from_any,
    view_array,
)
from relax_mlir.lowering.relax_to_host.profile import timed
from relax_mlir.lowering.relax_to_host.values import (
    NoneValue,
    ShapeValue,
    TensorValue,
    TupleValue,
    Value,
)
from relax_mlir.lowering.to_llvm.ffi_abi import ANY
from relax_mlir.lowering.to_llvm.ffi_arguments import ScalarSpec, TensorSpec
from relax_mlir.lowering.to_llvm.ffi_signature import MAY_RAISE, read_signature
from relax_mlir.lowering.to_llvm.ffi_text import call_text
from relax_mlir.lowering.to_llvm.make_packed_api import (
    FFI_PREFIX,
    KERNEL_SUFFIX,
    kernel_argument,
)
from relax_mlir.mlir import ir

__all__ = ["read_result"]


@dataclass
class _KernelCall:
    """One call of a TensorIR function while its operands are put together."""

    host: HostFunction
    op: ir.Operation
    callee: str
    operands: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    # What the kernel's own symbols stand for here: an expression and its value.
    symbols: dict[str, tuple[dims.Dim, str]] = field(default_factory=dict)
    deferred: list[tuple[str, dims.Dim, dims.Dim, str]] = field(default_factory=list)

    def write(self, tensors: Sequence[TensorValue], scalars: Sequence[dims.Dim]) -> None:
        """Check the tensors against the kernel's signature and call it."""
        kernel = self.host.context.kernels.get(self.callee)
        if kernel is None:
            raise self.host.error(self.op, f"the module has no TensorIR function @{self.callee}")
        lent = lent_temporaries(kernel)
        specs = read_signature(kernel)
        specs = specs[: len(specs) - len(lent)]
        kinds = ir.FunctionType(ir.TypeAttr(kernel.attributes["function_type"]).value).inputs
        if len(specs) != len(tensors) + len(scalars):
            raise self.host.error(
                self.op,
                f"@{self.callee} takes {len(specs)} arguments, the call gives "
                f"{len(tensors)} tensors and {len(scalars)} scalars",
            )
        for index, (value, spec, kind) in enumerate(zip(tensors, specs, kinds, strict=False)):
            self._add_tensor(index, value, spec, kind)
        for value, kind in zip(scalars, kinds[len(tensors) : len(specs)], strict=True):
            self._add_scalar(self.host.values.value(value), kind)
        for index, kind in enumerate(lent):
            self._lend(index, kind)
        self._match_deferred(specs[len(tensors) :], scalars)
        text = self.host.text
        operands, kinds_text = ", ".join(self.operands), ", ".join(self.kinds)
        with timed(self.host, self.op, self.callee):
            text.line(f"func.call @{self.callee}{KERNEL_SUFFIX}({operands}) : ({kinds_text}) -> ()")
        if MAY_RAISE in kernel.attributes:
            self.host.check(text.call("relax_ffi_pending_error", [], [], "i32"))

    def _add_tensor(self, index: int, value: TensorValue, spec: object, kind: ir.Type) -> None:
        where = f"@{self.callee}: argument {index}"
        if not isinstance(spec, TensorSpec) or spec.dims is None:
            raise self.host.error(self.op, f"{where} is a scalar, the call gives a tensor")
        where += f" '{spec.name}'"
        if spec.dtype != value.dtype:
            raise self.host.error(self.op, f"{where} is {spec.dtype}, the call gives {value.dtype}")
        if len(spec.dims) != len(value.sizes):
            raise self.host.error(
                self.op, f"{where} has rank {len(spec.dims)}, the call gives {len(value.sizes)}"
            )
        for axis, wanted in enumerate(spec.dims):
            if wanted is not None:
                self._match(
                    f"{where}: dimension {axis}", wanted, value.dims[axis], value.sizes[axis]
                )
        self.operands.append(kernel_argument(self.host.text, value, kind))
        self.kinds.append(str(kind))

    def _lend(self, index: int, kind: ir.MemRefType) -> None:
        text, data = self.host.text, self.host.lent_memory(self.op, index)
        sizes = [text.constant(size) for size in kind.shape]
        strides = [text.constant(prod(kind.shape[axis + 1 :])) for axis in range(kind.rank)]
        self.operands.append(text.memref(data, sizes, strides, str(kind)))
        self.kinds.append(str(kind))

    def _match(self, where: str, wanted: dims.Dim, given: dims.Dim, size: str) -> None:
        """Compare one size with what the kernel wants: now if possible, else at run time."""
        if dims.is_symbol(wanted) and wanted not in self.symbols:
            self.symbols[str(wanted)] = (given, size)
            return
        if any(symbol not in self.symbols for symbol in dims.symbols(wanted)):
            self.deferred.append((where, wanted, given, size))
            return
        meaning = {symbol: expression for symbol, (expression, _) in self.symbols.items()}
        expected = dims.substitute(wanted, meaning)
        if dims.equal(expected, given):
            return
        if dims.differ(expected, given):
            raise self.host.error(self.op, f"{where} must be {expected}, the call gives {given}")
        self._match_at_run_time(where, expected, size)

    def _match_deferred(self, specs: Sequence[object], scalars: Sequence[dims.Dim]) -> None:
        """Compare the sizes that use symbols which later arguments or scalars give."""
        for spec, value in zip(specs, scalars, strict=True):
            symbol = spec.symbol if isinstance(spec, ScalarSpec) else None
            if symbol is not None and symbol not in self.symbols:
                self.symbols[symbol] = (value, self.host.values.value(value))
        deferred, self.deferred = self.deferred, []
        for where, wanted, given, size in deferred:
            self._match(where, wanted, given, size)

    def _match_at_run_time(self, where: str, expected: dims.Dim, size: str) -> None:
        host, text = self.host, self.host.text
        bad = text.block("size")
        number = host.values.value(expected)
        text.require(text.compare("eq", size, number), bad)
        prefix = text.string(f"{host.name}: call of {where}: ")
        note = text.string("" if isinstance(expected, int) else f" (= {expected})")
        types = ["!llvm.ptr", "i64", "!llvm.ptr", "i64"]
        raise_error = call_text("relax_ffi_size_error", [prefix, number, note, size], types)
        text.cold(bad, [raise_error, host.failed])

    def _add_scalar(self, value: str, kind: ir.Type) -> None:
        text = self.host.text
        if isinstance(kind, ir.IndexType):
            value = text.value(f"arith.index_cast {value} : i64 to index")
        elif isinstance(kind, ir.IntegerType) and kind.width < 64:
            value = text.value(f"arith.trunci {value} : i64 to {kind}")
        self.operands.append(value)
        self.kinds.append(str(kind))


def _operands(host: HostFunction, op: ir.Operation) -> tuple[list[TensorValue], list[dims.Dim]]:
    """The tensors and the scalars (of `tir_vars`, a shape) that a call_tir is given."""
    values = list(op.operands)
    shapes = [value for value in values if types.shape_info(value.type) is not None]
    tensors = [
        _tensor(host, value, index) for index, value in enumerate(values) if value not in shapes
    ]
    scalars: list[dims.Dim] = []
    for value in shapes:
        shape = host.env[value]
        if not isinstance(shape, ShapeValue):
            raise host.error(op, "tir_vars must be a shape whose dimensions are known")
        scalars += shape.dims
    return tensors, scalars


def _tensor(host: HostFunction, value: ir.Value, index: int) -> TensorValue:
    info = types.tensor_info(value.type)
    rank = info.ndim if info is not None else -1
    where = f"{host.name}: operand {index}: "
    return as_tensor(host, host.env[value], value.type, where, rank)


def _bind_outputs(host: HostFunction, op: ir.Operation, outputs: list[TensorValue]) -> None:
    result = op.results[0]
    is_tuple = types.tuple_fields(result.type) is not None
    host.env[result] = TupleValue(list[Value](outputs)) if is_tuple else outputs[0]


@operation("relax.call_tir", "relax.call_tir_with_grad")
def call_tir(host: HostFunction, op: ir.Operation) -> None:
    tensors, scalars = _operands(host, op)
    result = op.results[0]
    outputs = [
        host.new_output(result, index, kind) for index, kind in enumerate(outputs_of(result.type))
    ]
    _KernelCall(host, op, callee_of(op)).write([*tensors, *outputs], scalars)
    _bind_outputs(host, op, outputs)


@operation("relax.call_tir_inplace")
def call_tir_inplace(host: HostFunction, op: ir.Operation) -> None:
    tensors, scalars = _operands(host, op)
    result = op.results[0]
    indices = list(ir.DenseI64ArrayAttr(op.attributes["inplace_indices"]))
    outputs: list[TensorValue] = []
    fresh: list[TensorValue] = []
    for index, (kind, reused) in enumerate(zip(outputs_of(result.type), indices, strict=True)):
        if reused >= 0:
            outputs.append(tensors[reused])
        else:
            fresh.append(host.new_output(result, index, kind))
            outputs.append(fresh[-1])
    _KernelCall(host, op, callee_of(op)).write([*tensors, *fresh], scalars)
    _bind_outputs(host, op, outputs)


@operation("relax.vm_call_tir_dyn")
def call_tir_dyn(host: HostFunction, op: ir.Operation) -> None:
    """The tensors to write are among the operands."""
    _KernelCall(host, op, callee_of(op)).write(*_operands(host, op))
    host.env[op.results[0]] = NoneValue()


@operation("relax.call_dps_packed")
def call_dps_packed(host: HostFunction, op: ir.Operation) -> None:
    result = op.results[0]
    for kind in outputs_of(result.type):
        info = types.tensor_info(kind)
        if info is None or info.dims is None or info.dtype is None:
            shown = types.describe(kind)
            raise host.error(op, f"an output needs a known shape and dtype, this is {shown}")
    outputs = [
        host.new_output(result, index, kind) for index, kind in enumerate(outputs_of(result.type))
    ]
    arguments = [host.env[value] for value in op.operands]
    with timed(host, op, callee_of(op)):
        call_global(host, callee_of(op), [*arguments, *outputs])
    _bind_outputs(host, op, outputs)


@operation(
    "relax.call_packed",
    "relax.call_pure_packed",
    "relax.call_inplace_packed",
    "relax.call_builtin_with_ctx",
    "relax.call_py_func",
)
def call_packed(host: HostFunction, op: ir.Operation) -> None:
    name, result = callee_of(op), op.results[0]
    with timed(host, op, name):
        slot = call_global(host, name, [host.env[value] for value in op.operands], result)
    host.env[result] = read_result(host, slot, result, f"{host.name}: result of '{name}': ")


def read_result(host: HostFunction, slot: str, result: ir.Value, where: str) -> Value:
    if types.tuple_fields(result.type) == []:
        return NoneValue()
    return from_any(host, slot, result.type, where, "result")


@operation("relax.call")
def call_function(host: HostFunction, op: ir.Operation) -> None:
    name, result, text = callee_of(op), op.results[0], host.text
    if name in host.context.kernels:
        _call_kernel(host, op, name)
        return
    if name not in host.context.functions:
        raise host.error(op, f"the module has no Relax function @{name}")
    arguments = [host.env[value] for value in op.operands]
    args = view_array(host, arguments)
    if host.loop is not None and op in host.tails:
        host.loop.jump([text.field(args, ANY, index) for index in range(len(arguments))])
        host.env[result] = NoneValue()
        return
    slot = host.owned_slot(result)
    count = text.constant(len(arguments), "i32")
    handle = text.null()
    if host.depth is not None and name in host.context.cycles[host.name]:
        handle = host.depth.handle()
    status = text.value(
        f"func.call @{FFI_PREFIX}{name}({handle}, {args}, {count}, {slot}) "
        ": (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32"
    )
    host.check(status)
    host.env[result] = read_result(host, slot, result, f"{host.name}: result of @{name}: ")


def _call_kernel(host: HostFunction, op: ir.Operation, name: str) -> None:
    """A TensorIR function called as it is: tensors to read and to write, then scalars."""
    tensors: list[TensorValue] = []
    scalars: list[dims.Dim] = []
    for index, value in enumerate(op.operands):
        prim = types.prim_info(value.type)
        if prim is None:
            tensors.append(_tensor(host, value, index))
        elif prim[1] is None:
            raise host.error(op, f"scalar {index} of @{name} must be a symbolic size or a number")
        else:
            scalars.append(prim[1])
    _KernelCall(host, op, name).write(tensors, scalars)
    host.env[op.results[0]] = NoneValue()
