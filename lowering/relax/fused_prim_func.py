"""Building the one TensorIR function of a fused Relax function by inlining its kernels."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import from_attribute, to_attribute
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.names import name_location
from relax_mlir.dialects.relax.types import TensorInfo
from relax_mlir.dialects.variadic import create
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.relax.dim_values import DimValues, size_of
from relax_mlir.lowering.relax.functions import (
    TIR_ATTRS,
    argument_attributes,
    entry_block,
    operations,
    symbol_name,
    walk,
)
from relax_mlir.lowering.relax.fused_body import FusedBody, KernelCall, Slot, Unsupported
from relax_mlir.mlir import arith, dynamic, func, ir

_LAYOUT_ATTRIBUTES = ("tir.strides", "tir.offset", "tir.scope")


def build_prim_function(
    state: ModuleState,
    function: ir.Operation,
    body: FusedBody,
    kernels: dict[str, ir.Operation],
) -> ir.Operation:
    """Add the TensorIR function for a primitive Relax function, under its name, in front of it.

    Raises Unsupported, before anything is changed, for kernels that cannot be inlined.
    """
    for call in body.calls:
        _check(call, kernels.get(call.callee))
    return _Inliner(function, body, kernels).build()


def _check(call: KernelCall, kernel: ir.Operation | None) -> None:
    if kernel is None or not len(kernel.regions[0].blocks):
        raise Unsupported(f"'{call.callee}' has no TensorIR body")
    slots = [*call.inputs, *call.outputs]
    parameters = list(entry_block(kernel).arguments)
    if len(parameters) != len(slots) + len(call.scalars):
        raise Unsupported(f"'{call.callee}' takes {len(parameters)} arguments")
    for slot, parameter, attributes in zip(
        slots, parameters, argument_attributes(kernel), strict=False
    ):
        kind = parameter.type
        if not isinstance(kind, ir.MemRefType) or kind.rank != slot.info.ndim:
            raise Unsupported(f"'{call.callee}': {kind} for {slot.info}")
        if kind.element_type != dtypes.storage(slot.info.dtype):
            raise Unsupported(f"'{call.callee}': {kind} for {slot.info}")
        if any(key in attributes for key in _LAYOUT_ATTRIBUTES):
            raise Unsupported(f"'{call.callee}' has a buffer with a layout of its own")


class _Inliner:
    def __init__(
        self, function: ir.Operation, body: FusedBody, kernels: dict[str, ir.Operation]
    ) -> None:
        self.function = function
        self.body = body
        self.kernels = kernels
        self.attributes: dict[int, dict[str, ir.Attribute]] = {}
        self.buffers: dict[int, ir.Value] = {}
        self.names: list[str] = []
        self._name_slots()

    def build(self) -> ir.Operation:
        parameters = [*self.body.parameters, *self.body.results]
        i64 = ir.IntegerType.get_signless(64)
        kinds = [_memref(slot.info) for slot in parameters] + [i64] * len(self.body.scalars)
        names = [slot.name for slot in parameters] + list(self.body.scalars)
        with ir.InsertionPoint(self.function), self.function.location:
            made = func.FuncOp(symbol_name(self.function), (kinds, []), visibility="private")
        op = made.operation
        op.attributes[TIR_ATTRS] = to_attribute({"tir.noalias": True})
        op.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [self._parameter_attributes(slot) for slot in parameters]
            + [ir.DictAttr.get({"tir.name": ir.StringAttr.get(n)}) for n in self.body.scalars]
        )
        block = ir.Block.create_at_start(op.regions[0], kinds, [name_location(n) for n in names])
        with ir.InsertionPoint(block):
            end = func.ReturnOp([]).operation
        for slot, argument in zip(parameters, block.arguments, strict=False):
            self.buffers[id(slot)] = argument
        self._fill(block, end)
        _name_blocks_apart(op)
        return op

    def _fill(self, block: ir.Block, end: ir.Operation) -> None:
        # Sizes and allocations come first, in front of a mark that goes away at the end.
        with ir.InsertionPoint(end):
            mark = arith.ConstantOp(ir.IndexType.get(), 0).operation
        sizes = DimValues(self._symbols(block, mark), mark)
        for call in self.body.calls:
            for slot in call.outputs:
                if id(slot) not in self.buffers:
                    self.buffers[id(slot)] = self._allocate(slot, sizes, mark)
        for call in self.body.calls:
            self._inline(call, sizes, mark, end)
        mark.erase()

    # -- names and attributes -----------------------------------------------------------------

    def _name_slots(self) -> None:
        """Outputs take the name of the kernel's own parameter; attributes are the kernel's too."""
        taken = [slot.name for slot in self.body.parameters]
        for call in self.body.calls:
            described = argument_attributes(self.kernels[call.callee])
            slots = [*call.inputs, *call.outputs]
            for slot, attributes in zip(slots, described, strict=False):
                self.attributes.setdefault(id(slot), attributes)
            for slot, attributes in zip(call.outputs, described[len(call.inputs) :], strict=False):
                own = attributes.get("tir.name")
                base = ir.StringAttr(own).value if own is not None else slot.name
                slot.name = _suffixed(taken, f"{base}_intermediate")
                taken.append(slot.name)

    def _parameter_attributes(self, slot: Slot) -> ir.Attribute:
        kept = ("tir.dtype", "tir.shape_dtype", "tir.align")
        own = self.attributes.get(id(slot), {})
        attributes = {key: own[key] for key in kept if key in own}
        attributes["tir.name"] = ir.StringAttr.get(slot.name)
        if dtypes.to_mlir(slot.info.dtype) != dtypes.storage(slot.info.dtype):
            # Also of a field of a tuple that no kernel reads, which none describes.
            attributes["tir.dtype"] = to_attribute(slot.info.dtype)
        assert slot.info.dims is not None  # read_body lets nothing else through
        if not all(isinstance(dim, int) for dim in slot.info.dims):
            attributes["tir.shape"] = _shape_attribute(slot.info.dims)
        return ir.DictAttr.get(attributes)

    # -- sizes and allocations ----------------------------------------------------------------

    def _symbols(self, block: ir.Block, before: ir.Operation) -> dict[str, ir.Value]:
        """The value of each symbol: a scalar parameter, or a size of the first buffer with it."""
        found: dict[str, ir.Value] = {}
        parameters = [*self.body.parameters, *self.body.results]
        with ir.InsertionPoint(before):
            for slot, argument in zip(parameters, block.arguments, strict=False):
                for axis, dim in enumerate(slot.info.dims or ()):
                    if isinstance(dim, str) and dim_algebra.is_symbol(dim) and dim not in found:
                        found[dim] = size_of(argument, axis, dim)
            scalars = list(block.arguments)[len(parameters) :]
            for symbol, argument in zip(self.body.scalars, scalars, strict=True):
                if symbol not in found:
                    found[symbol] = arith.IndexCastOp(ir.IndexType.get(), argument).result
        return found

    def _allocate(self, slot: Slot, sizes: DimValues, before: ir.Operation) -> ir.Value:
        own = self.attributes.get(id(slot), {})
        dims = slot.info.dims or ()
        dynamic_sizes = [sizes.value(dim) for dim in dims if not isinstance(dim, int)]
        attributes: dict[str, ir.Attribute] = {
            "scope": ir.StringAttr.get("global"),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(dynamic_sizes)]),
        }
        for key in ("dtype", "shape_dtype", "align"):
            if f"tir.{key}" in own:
                attributes[key] = own[f"tir.{key}"]
        if dynamic_sizes:
            attributes["shape"] = _shape_attribute(dims)
        with ir.InsertionPoint(before):
            return create(
                "tir.alloc_buffer",
                results=[_memref(slot.info)],
                operands=dynamic_sizes,
                attributes=attributes,
                loc=name_location(slot.name),
            ).result

    # -- inlining -----------------------------------------------------------------------------

    def _inline(
        self, call: KernelCall, sizes: DimValues, mark: ir.Operation, end: ir.Operation
    ) -> None:
        kernel = self.kernels[call.callee]
        with ir.InsertionPoint(kernel):
            copy = kernel.clone()
        block = entry_block(copy)
        parameters = list(block.arguments)
        slots = [*call.inputs, *call.outputs]
        _rename_sizes(copy, slots, sizes)
        for parameter, slot in zip(parameters, slots, strict=False):
            parameter.replace_all_uses_with(self.buffers[id(slot)])
        for parameter, dim in zip(parameters[len(slots) :], call.scalars, strict=True):
            parameter.replace_all_uses_with(_scalar(sizes.value(dim), parameter.type, mark))
        _move_body(block, mark, end)
        copy.erase()


_PROLOGUE = frozenset(("tir.alloc_buffer", "affine.apply", "memref.dim"))


def _move_body(block: ir.Block, mark: ir.Operation, end: ir.Operation) -> None:
    """Move a kernel's statements to the end; its own allocations, and the sizes they need, join
    those at the top."""
    later: set[ir.Operation] = set()
    for op in operations(block)[:-1]:
        movable = op.name in _PROLOGUE or op.name.startswith("arith.")
        needs_later = any(
            not isinstance(v, ir.BlockArgument) and v.owner.operation in later for v in op.operands
        )
        if movable and not needs_later:
            op.move_before(mark)
        else:
            later.add(op)
            op.move_before(end)


def _rename_sizes(copy: ir.Operation, slots: list[Slot], sizes: DimValues) -> None:
    """Express the kernel's sizes by the symbols of the fused function."""
    parameters = list(entry_block(copy).arguments)
    symbols = _kernel_symbols(argument_attributes(copy), slots)
    for op in list(walk(copy)):
        if op.name == "memref.dim":
            axis = _constant(op.operands[1])
            for parameter, slot in zip(parameters, slots, strict=False):
                if parameter == op.operands[0] and axis is not None:
                    op.results[0].replace_all_uses_with(sizes.value((slot.info.dims or ())[axis]))
                    op.erase()
                    break
        elif op.name == "tir.alloc_buffer" and "shape" in op.attributes:
            shape = from_attribute(op.attributes["shape"])
            op.attributes["shape"] = _shape_attribute(
                [dim_algebra.substitute(dim, symbols) for dim in shape]
            )


def _kernel_symbols(attributes: list[dict[str, ir.Attribute]], slots: list[Slot]) -> dict[str, Dim]:
    """What the symbols of a kernel are in the fused function."""
    found: dict[str, Dim] = {}
    for own, slot in zip(attributes, slots, strict=False):
        if "tir.shape" not in own:
            continue
        shape = from_attribute(own["tir.shape"])
        for symbol, dim in zip(shape, slot.info.dims or (), strict=True):
            if isinstance(symbol, str) and dim_algebra.is_symbol(symbol):
                found.setdefault(symbol, dim)
    return found


def _constant(value: ir.Value) -> int | None:
    if isinstance(value, ir.BlockArgument) or value.owner.operation.name != "arith.constant":
        return None
    return ir.IntegerAttr(value.owner.operation.attributes["value"]).value


def _scalar(value: ir.Value, kind: ir.Type, before: ir.Operation) -> ir.Value:
    with ir.InsertionPoint(before):
        return arith.IndexCastOp(kind, value).result


def _memref(info: TensorInfo) -> ir.Type:
    shape = [dim if isinstance(dim, int) else dynamic() for dim in info.dims or ()]
    return ir.MemRefType.get(shape, dtypes.storage(info.dtype))


def _shape_attribute(dims: Sequence[Dim]) -> ir.Attribute:
    """`["n", 784]`, as `tir.shape` spells a shape."""
    return ir.ArrayAttr.get([to_attribute(dim) for dim in dims])


def _suffixed(taken: list[str], name: str) -> str:
    """`name`, or the first of name_1, name_2, ... that is not taken."""
    number, candidate = 0, name
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def _name_blocks_apart(function: ir.Operation) -> None:
    taken: list[str] = []
    for op in walk(function):
        if op.name == "tir.block":
            name = _suffixed(taken, ir.StringAttr(op.attributes["sym_name"]).value)
            op.attributes["sym_name"] = ir.StringAttr.get(name)
            taken.append(name)
