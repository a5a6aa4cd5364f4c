"""Checking and unpacking the arguments of a TVM FFI call.

Nothing else checks what a caller passes: rank, dtype, device, sizes, symbolic sizes across
arguments and strides are all compared here, and every message names function, argument, what was
expected and what was given:

    main: argument 1 'w0': expected float32 tensor of shape (784, 256), got float32 tensor of
    shape (784, 255)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects import dims
from relax_mlir.errors import CompileError
from relax_mlir.lowering.tir_to_gpu.host_device import DEVICE
from relax_mlir.lowering.to_llvm.ffi_abi import (
    ANY,
    KIND,
    OBJECT_HEADER,
    dtype_word,
)
from relax_mlir.lowering.to_llvm.ffi_dims import DimensionValues
from relax_mlir.lowering.to_llvm.ffi_text import FunctionText, call_text

__all__ = ["ArgumentReader", "ScalarSpec", "TensorSpec", "TensorValue"]

_CPU = 1  # kDLCPU


@dataclass(frozen=True)
class TensorSpec:
    """What a tensor argument must be.

    `dims` holds integers, expressions over symbols, or None for any size; None instead of the
    tuple accepts any rank.  `dtype` None accepts any dtype.  `strided` lets the memory have gaps.
    """

    name: str
    dtype: str | None
    dims: tuple[dims.Dim | None, ...] | None
    strided: bool = False

    def __str__(self) -> str:
        what = f"{self.dtype} tensor" if self.dtype else "tensor"
        if self.dims is None:
            return what
        sizes = ["_" if dim is None else str(dim) for dim in self.dims]
        inner = f"{sizes[0]}," if len(sizes) == 1 else ", ".join(sizes)
        return f"{what} of shape ({inner})"


@dataclass(frozen=True)
class ScalarSpec:
    """A number passed by value; `symbol` is the dimension symbol that it defines, if any."""

    name: str
    dtype: str
    symbol: str | None = None

    def __str__(self) -> str:
        return "a pointer or None" if self.dtype == "handle" else f"a scalar of {self.dtype}"


@dataclass
class TensorValue:
    """A tensor known to host code: SSA names of its memory and sizes.

    `any_slot` points to an Any that holds it as an object or DLTensor*; None when it has no object.
    """

    data: str
    sizes: list[str]
    dtype: str
    dims: tuple[dims.Dim, ...]
    strides: list[str] | None = None
    any_slot: str | None = None
    tensor: str | None = None


@dataclass
class ArgumentReader:
    """Writes the checks of one function; symbols it meets go to `values`.

    `leave` is the terminator of a failure block; None returns -1, the ABI's sign of an error.
    `on_device` asks for tensors on the device that the module was loaded on.
    """

    text: FunctionText
    function: str
    values: DimensionValues
    leave: str | None = None
    on_device: bool = False
    _deferred: list[tuple[dims.Dim, str, str]] = field(default_factory=list)

    def check_count(self, given: str, names: Sequence[str]) -> None:
        text = self.text
        bad = text.block("count")
        text.require(text.equals(given, len(names), "i32"), bad)
        plural = "argument" if len(names) == 1 else "arguments"
        expected = f"{len(names)} {plural} ({', '.join(names)})" if names else "no arguments"
        prefix, wanted = text.string(f"{self.function}: "), text.string(expected)
        types = ["!llvm.ptr", "!llvm.ptr", "i32"]
        raise_error = call_text("relax_ffi_count_error", [prefix, wanted, given], types)
        text.cold(bad, [raise_error, self._leave_text()])

    def failure(self, where: str, expected: str, slot: str) -> str:
        """A block that raises the error about the value in `slot`; takes (kind, symbol, value)."""
        text = self.text
        block = text.block("fail")
        prefix, wanted = text.string(where), text.string(expected)
        kind, symbol, value = (f"%{stem}{block[5:]}" for stem in ("kind", "symbol", "value"))
        raise_error = call_text(
            "relax_ffi_argument_error",
            [kind, prefix, wanted, symbol, value, slot],
            ["!llvm.ptr"] * 4 + ["i64", "!llvm.ptr"],
        )
        arguments = f"({kind}: !llvm.ptr, {symbol}: !llvm.ptr, {value}: i64)"
        text.cold(block, [raise_error, self._leave_text()], arguments)
        return block

    def _leave_text(self) -> str:
        return self.leave or f"return {self.text.constant(-1, 'i32')} : i32"

    def otherwise(
        self, block: str, kind: str, symbol: str | None = None, value: str | None = None
    ) -> str:
        """The branch operand that enters a failure block."""
        text = self.text
        operands = [
            text.string(kind),
            text.string(symbol) if symbol else text.null(),
            value or text.constant(0),
        ]
        return f"{block}({', '.join(operands)} : !llvm.ptr, !llvm.ptr, i64)"

    def tensor(self, slot: str, spec: TensorSpec, where: str) -> TensorValue:
        """Check that the Any at `slot` is the tensor `spec` asks for, and read it."""
        text = self.text
        expected = f"contiguous {spec}" if not spec.strided and spec.dims is not None else str(spec)
        place = " on the GPU" if self.on_device else ""
        block = self.failure(where, f"{spec}{place}", slot)
        kind = text.load(slot, "i32")
        is_object = text.equals(kind, KIND["tensor"], "i32")
        is_pointer = text.equals(kind, KIND["dltensor_ptr"], "i32")
        text.require(
            text.binary("ori", is_object, is_pointer, "i1"), self.otherwise(block, "TypeError")
        )
        payload = text.load(text.field(slot, ANY, 0, 2), "!llvm.ptr")
        inside = text.offset(payload, OBJECT_HEADER)
        tensor = text.select(is_object, inside, payload, "!llvm.ptr")
        self._check_header(tensor, spec, block)
        value = self._read(tensor, spec, slot, block)
        if not spec.strided:
            layout = self.failure(where, expected, slot)
            compact = text.call("relax_ffi_is_compact", [tensor], ["!llvm.ptr"], "i1")
            text.require(compact, self.otherwise(layout, "ValueError"))
        return value

    def _check_header(self, tensor: str, spec: TensorSpec, block: str) -> None:
        text = self.text
        if spec.dtype is not None:
            word = text.tensor_field(tensor, 3, kind="i32")
            same = text.equals(word, dtype_word(spec.dtype), "i32")
            text.require(same, self.otherwise(block, "TypeError"))
        if spec.dims is not None:
            rank = text.tensor_field(tensor, 2, kind="i32")
            same = text.equals(rank, len(spec.dims), "i32")
            text.require(same, self.otherwise(block, "ValueError"))
        text.require(self._is_in_place(tensor), self.otherwise(block, "ValueError"))

    def _is_in_place(self, tensor: str) -> str:
        text = self.text
        if not self.on_device:
            return text.equals(text.tensor_field(tensor, 1, 0, kind="i32"), _CPU, "i32")
        # Type and number of the device, which are compared together.
        given = text.tensor_field(tensor, 1, 0, kind="i64")
        text.module.declare(DEVICE, f"llvm.mlir.global external @{DEVICE}() : i64")
        return text.compare("eq", given, text.load(text.address(DEVICE), "i64"))

    def _read(self, tensor: str, spec: TensorSpec, slot: str, block: str) -> TensorValue:
        text = self.text
        base = text.tensor_field(tensor, 0, kind="!llvm.ptr")
        data = text.offset(base, text.tensor_field(tensor, 6, kind="i64"))
        sizes: list[str] = []
        known: list[dims.Dim] = []
        if spec.dims:
            shape = text.tensor_field(tensor, 4, kind="!llvm.ptr")
            for axis, dim in enumerate(spec.dims):
                size = text.load(text.offset(shape, 8 * axis), "i64")
                known.append(self.match(dim, size, block, f"{spec.name}.{axis}"))
                sizes.append(text.constant(dim) if isinstance(dim, int) else size)
        value = TensorValue(data, sizes, spec.dtype or "handle", tuple(known), None, slot, tensor)
        if spec.strided:
            value.strides = self._strides(tensor, sizes)
        return value

    def match(self, dim: dims.Dim | None, size: str, block: str, fallback: str) -> dims.Dim:
        """Bind or compare one size; returns the dimension it is known by from here on."""
        text = self.text
        if dim is None:
            symbol = self.values.fresh(fallback)
            self.values.bind(symbol, size)
            return symbol
        if isinstance(dim, int):
            text.require(text.equals(size, dim), self.otherwise(block, "ValueError"))
            return dim
        if dims.is_symbol(dim) and not self.values.knows(dim):
            self.values.bind(dim, size)
            return dim
        if not self.values.knows(dim):
            self._deferred.append((dim, size, block))
            return dim
        self._compare(dim, size, block)
        return dim

    def _compare(self, dim: dims.Dim, size: str, block: str) -> None:
        expected = self.values.value(dim)
        same = self.text.compare("eq", size, expected)
        self.text.require(same, self.otherwise(block, "ValueError", str(dim), expected))

    def finish(self) -> None:
        """Compare the sizes that depend on symbols that later arguments defined.

        Raises CompileError when a symbol is defined by no argument.
        """
        for dim, size, block in self._deferred:
            if not self.values.knows(dim):
                raise CompileError(
                    f"{self.function}: the size {dim} cannot be checked: no argument has "
                    f"{' or '.join(dims.symbols(dim))} as a size of its own"
                )
            self._compare(dim, size, block)
        self._deferred.clear()

    def _strides(self, tensor: str, sizes: Sequence[str]) -> list[str]:
        """The strides as the tensor has them; a null pointer means row-major."""
        text = self.text
        compact = compact_strides(text, sizes)
        strides = text.tensor_field(tensor, 5, kind="!llvm.ptr")
        absent = text.value(f'llvm.icmp "eq" {strides}, {text.null()} : !llvm.ptr')
        result = []
        for axis, default in enumerate(compact):
            slot = text.stack("i64")
            text.store(default, slot, "i64")
            source = text.select(absent, slot, text.offset(strides, 8 * axis), "!llvm.ptr")
            result.append(text.load(source, "i64"))
        return result

    def scalar(self, slot: str, spec: ScalarSpec, where: str) -> str:
        """Check that the Any at `slot` is a number and convert it to `spec.dtype`; for a handle,
        that it is a pointer or None, which is null."""
        text = self.text
        block = self.failure(where, str(spec), slot)
        kind = text.load(slot, "i32")
        payload = text.field(slot, ANY, 0, 2)
        if spec.dtype == "handle":
            is_pointer, is_none = (
                text.equals(kind, KIND[name], "i32") for name in ("opaque_ptr", "none")
            )
            text.require(
                text.binary("ori", is_pointer, is_none, "i1"), self.otherwise(block, "TypeError")
            )
            address = text.select(is_pointer, text.load(payload, "i64"), text.constant(0), "i64")
            return text.value(f"llvm.inttoptr {address} : i64 to !llvm.ptr")
        is_int, is_bool = (text.equals(kind, KIND[name], "i32") for name in ("int", "bool"))
        integral = text.binary("ori", is_int, is_bool, "i1")
        if not spec.dtype.startswith(("float", "bfloat")):
            text.require(integral, self.otherwise(block, "TypeError"))
            value = text.load(payload, "i64")
            if spec.symbol is not None:
                value_dim = self.match(spec.symbol, value, block, spec.name)
                assert value_dim == spec.symbol
            return _narrow(text, value, spec.dtype)
        is_float = text.equals(kind, KIND["float"], "i32")
        text.require(
            text.binary("ori", integral, is_float, "i1"), self.otherwise(block, "TypeError")
        )
        converted = text.value(f"arith.sitofp {text.load(payload, 'i64')} : i64 to f64")
        value = text.select(is_float, text.load(payload, "f64"), converted, "f64")
        return _narrow_float(text, value, spec.dtype)


def compact_strides(text: FunctionText, sizes: Sequence[str]) -> list[str]:
    """Row-major strides of the given sizes (SSA names)."""
    strides: list[str] = []
    step = text.constant(1)
    for axis in reversed(range(len(sizes))):
        strides.insert(0, step)
        if axis:
            step = text.binary("muli", step, sizes[axis])
    return strides


def _narrow(text: FunctionText, value: str, dtype: str) -> str:
    if dtype == "bool":
        return text.compare("ne", value, text.constant(0))
    bits = int(dtype.lstrip("uint"))
    return value if bits == 64 else text.value(f"arith.trunci {value} : i64 to i{bits}")


def _narrow_float(text: FunctionText, value: str, dtype: str) -> str:
    kind = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}[dtype]
    return value if kind == "f64" else text.value(f"arith.truncf {value} : f64 to {kind}")
