"""One Relax function as one host function of the TVM FFI.

`HostFunction` holds what is known while the function is written: its text, its values, the stack
slots it owns and the workspace.  The operations are in `calls.py`, `structure.py` and
`objects.py`, filed in `OPERATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from relax_mlir.dialects import dims
from relax_mlir.dialects.relax import types
from relax_mlir.errors import CompileError
from relax_mlir.lowering.relax.functions import walk
from relax_mlir.lowering.relax_to_host.liveness import Liveness
from relax_mlir.lowering.relax_to_host.recursion import (
    DepthLimit,
    TailLoop,
    recursive_functions,
    tail_calls,
)
from relax_mlir.lowering.relax_to_host.values import Value
from relax_mlir.lowering.relax_to_host.workspace import (
    ALIGNMENT,
    Placement,
    WorkspacePlan,
    lent_key,
    lent_memory,
    plan_workspace,
    temporaries,
)
from relax_mlir.lowering.tir.check_bounds import ADDRESS_BITS
from relax_mlir.lowering.to_llvm.ffi_abi import ANY, OBJECT_HEADER, dtype_word
from relax_mlir.lowering.to_llvm.ffi_arguments import ArgumentReader, TensorValue
from relax_mlir.lowering.to_llvm.ffi_dims import DimensionValues
from relax_mlir.lowering.to_llvm.ffi_signature import symbol_name
from relax_mlir.lowering.to_llvm.ffi_text import FunctionText, ModuleText, call_text
from relax_mlir.lowering.to_llvm.make_packed_api import FFI_HEADER, FFI_PREFIX
from relax_mlir.mlir import ir

__all__ = ["OPERATIONS", "HostContext", "HostFunction", "operation"]

CONSTANTS = "__relax_constants"
# A workspace up to this size is on the stack.
_STACK_WORKSPACE = 16 * 1024
_FAIL = "cf.br ^exit({status} : i32)"

Handler = Callable[["HostFunction", ir.Operation], None]
OPERATIONS: dict[str, Handler] = {}
"""How each operation of a Relax function is written, by its name."""


def operation(*names: str) -> Callable[[Handler], Handler]:
    """Decorator: file a handler under the operations it writes."""

    def register(handler: Handler) -> Handler:
        OPERATIONS.update(dict.fromkeys(names, handler))
        return handler

    return register


@dataclass
class HostContext:
    """What the functions of one module share."""

    text: ModuleText
    kernels: dict[str, ir.Operation]
    functions: dict[str, ir.Operation]
    constants: dict[str, np.ndarray]
    table: list[str] = field(default_factory=list)
    profile: bool = False
    on_device: bool = False
    """Whether tensors are on a GPU, and their kernels run there."""
    cycles: dict[str, set[str]] = field(default_factory=dict)
    """The functions that call themselves, each with the functions of its cycles."""

    def __post_init__(self) -> None:
        self.cycles = recursive_functions(self.functions)

    def constant_index(self, key: str) -> int:
        """The place of a constant in the module's table."""
        if key not in self.table:
            self.table.append(key)
        return self.table.index(key)


class HostFunction:
    """Writes one function: its parameters (`parameters.py`) and then `write_body()`."""

    def __init__(self, context: HostContext, op: ir.Operation) -> None:
        self.context = context
        self.op = op
        self.name = symbol_name(op)
        self.text = FunctionText(context.text, f"func.func @{FFI_PREFIX}{self.name}{FFI_HEADER}")
        self.depth: DepthLimit | None = None
        if self.name in context.cycles:
            self.depth = DepthLimit(self.text, self.name)
        self.values = DimensionValues(self.text)
        self.failed = _FAIL.format(status=self.text.constant(-1, "i32"))
        self.reader = ArgumentReader(
            self.text, self.name, self.values, self.failed, context.on_device
        )
        self.liveness = Liveness(op, context.kernels)
        self.env: dict[ir.Value, Value] = {}
        self._owned: list[str] = []
        self._release: dict[int, list[str]] = {}
        self._plan = WorkspacePlan()
        self._workspace: str | None = None
        self._workspace_slot: str | None = None
        self._tokens: list[str] = []
        self.tails = tail_calls(op, self.name) if self.depth is not None else []
        self.loop: TailLoop | None = None
        if self.tails:
            count = len(op.regions[0].blocks[0].arguments)
            slots = [self.owned_slot() for _ in range(2 * count)]
            self.loop = TailLoop(self.text, slots, self.check)

    @property
    def arguments(self) -> str:
        """The address of the arguments' Anys."""
        return "%args" if self.loop is None else self.loop.current

    # -- the whole function -------------------------------------------------------------------
    def write_body(self) -> None:
        """Write everything behind the parameters, which are in `env` by now."""
        self._require_constants()
        self._allocate_workspace()
        self.write_block(self.op.regions[0].blocks[0].operations)
        self._write_exit()
        self.text.finish()

    def _require_constants(self) -> None:
        """Leave with an error where the table of constants was not filled, all at once."""
        if not any(op.name == "relax.constant" for op in walk(self.op)):
            return
        text, bad = self.text, self.text.block("constants")
        first = text.load(text.address(CONSTANTS), "!llvm.ptr")
        text.require(text.value(f'llvm.icmp "ne" {first}, {text.null()} : !llvm.ptr'), bad)
        kind = text.string("RuntimeError")
        message = text.string(
            f"{self.name}: the constants of the library are not loaded: load it with "
            "relax_mlir.runtime.load_module, or call __relax_set_constants"
        )
        raised = call_text("TVMFFIErrorSetRaisedFromCStr", [kind, message], ["!llvm.ptr"] * 2)
        text.cold(bad, [raised, self.failed])

    def write_block(self, operations: Iterable[ir.OpView]) -> None:
        """Write operations in order, giving up owned values after their last use."""
        for view in operations:
            op = view.operation
            handler = OPERATIONS.get(op.name)
            if handler is None:
                raise CompileError(
                    f"{self.name}: {op.name} has no host code; lower it first",
                    hint="relax-legalize-ops turns operators into calls of TensorIR functions",
                )
            handler(self, op)
            if op.name == "func.return":
                return  # what is still owned is released at the exit
            for slot in self._release.get(self.liveness.position(op), ()):
                self.text.call("relax_ffi_release", [slot], ["!llvm.ptr"], "()")

    def _write_exit(self) -> None:
        if self.loop is not None:
            kept = {*self.loop.held, *self.loop.next}
            self.loop.finish(self._releases(slot for slot in self._owned if slot not in kept))
        if self.depth is not None:
            self.depth.finish()
        lines = [*self._releases(self._owned), "return %status : i32"]
        self.text.cold("^exit", lines, "(%status: i32)")

    def _releases(self, slots: Iterable[str]) -> list[str]:
        """Lines that give up the values in slots and the workspace."""
        text = self.text
        lines = [call_text("relax_ffi_release", [slot], ["!llvm.ptr"]) for slot in slots]
        if self._workspace_slot is not None:
            block, slot = text.name(), self._workspace_slot
            lines.append(f"{block} = llvm.load {slot} : !llvm.ptr -> !llvm.ptr")
            on_device = self.context.on_device
            free = "relax_device_free" if on_device else "relax_ffi_give_workspace"
            lines.append(call_text(free, [block], ["!llvm.ptr"]))
            lines.append(f"llvm.store {text.null()}, {slot} : !llvm.ptr, !llvm.ptr")
        return lines

    def error(self, op: ir.Operation, message: str) -> CompileError:
        """An error about an operation of this function."""
        return CompileError(f"{self.name}: {op.name}: {message}")

    # -- slots --------------------------------------------------------------------------------
    def owned_slot(self, value: ir.Value | None = None) -> str:
        """An Any that this function owns: released after the last use of `value`, at the latest on
        the way out."""
        text = self.text
        slot = text.stack(ANY)
        text.prologue_line(f"llvm.store {text.constant(0, 'i32')}, {slot} : i32, !llvm.ptr")
        self._owned.append(slot)
        if value is not None:
            self._release.setdefault(self.liveness.last_use(value), []).append(slot)
        return slot

    def owns(self, slot: str) -> bool:
        return slot in self._owned

    def owned_slots(self) -> frozenset[str]:
        """The slots of this function so far."""
        return frozenset(self._owned)

    def check(self, status: str) -> None:
        """Leave with an error unless `status` is zero."""
        text = self.text
        exit_block = f"^exit({text.constant(-1, 'i32')} : i32)"
        text.require(text.equals(status, 0, "i32"), exit_block)

    # -- memory -------------------------------------------------------------------------------
    def _allocate_workspace(self) -> None:
        kept = temporaries(self.op, self.liveness, self.values.knows)
        lent = lent_memory(self.op, self.liveness, self.context.kernels)
        self._plan = plan_workspace([*kept, *lent])
        plan, text = self._plan, self.text
        if plan.empty:
            return
        small = plan.static_size <= _STACK_WORKSPACE and self.depth is None
        if not plan.tokens and small and not self.context.on_device:
            self._workspace = text.stack("i8", plan.static_size, ALIGNMENT)
            return
        # The static part comes first, then the tokens one after another.
        total = text.constant(plan.static_size)
        starts: list[str] = []
        mask = text.constant(-ALIGNMENT)
        for size in plan.tokens:
            starts.append(total)
            padded = text.binary("addi", self.values.value(size), text.constant(ALIGNMENT - 1))
            total = text.binary("addi", total, text.binary("andi", padded, mask))
        self._workspace = self._allocate_block(total)
        self._tokens = [text.offset(self._workspace, start) for start in starts]

    def _allocate_block(self, size: str) -> str:
        text = self.text
        slot = text.stack("!llvm.ptr")
        text.prologue_line(f"llvm.store {text.null()}, {slot} : !llvm.ptr, !llvm.ptr")
        self._workspace_slot = slot
        if self.context.on_device:
            return self._allocate_on_device(slot, size)
        block = text.call("relax_ffi_take_workspace", [size], ["i64"], "!llvm.ptr")
        exhausted = text.block("exhausted")
        text.require(text.value(f'llvm.icmp "ne" {block}, {text.null()} : !llvm.ptr'), exhausted)
        text.store(block, slot, "!llvm.ptr")
        kind = text.string("MemoryError")
        message = text.string(f"{self.name}: cannot allocate memory")
        raise_error = call_text("TVMFFIErrorSetRaisedFromCStr", [kind, message], ["!llvm.ptr"] * 2)
        text.cold(exhausted, [raise_error, self.failed])
        return block

    def _allocate_on_device(self, slot: str, size: str) -> str:
        text = self.text
        block = text.call("relax_device_alloc", [size], ["i64"], "!llvm.ptr")
        text.store(block, slot, "!llvm.ptr")
        present = text.value(f'llvm.icmp "ne" {block}, {text.null()} : !llvm.ptr')
        text.require(present, f"^exit({text.constant(-1, 'i32')} : i32)")
        return block

    def copy_memory(self, target: str, source: str, size: str) -> None:
        """Copy bytes from one tensor to another."""
        kinds = ["!llvm.ptr", "!llvm.ptr", "i64"]
        if self.context.on_device:
            self.check(self.text.call("relax_device_copy", [target, source, size], kinds, "i32"))
        else:
            self.text.call("memcpy", [target, source, size], kinds, "!llvm.ptr")

    def read_memory(self, data: str, size: int) -> str:
        """Where the host reads `size` bytes of a tensor: a copy, when they are on the device."""
        if not self.context.on_device:
            return data
        text = self.text
        copy = text.stack("i8", size, 8)
        operands = [copy, data, text.constant(size)]
        kinds = ["!llvm.ptr", "!llvm.ptr", "i64"]
        self.check(text.call("relax_device_to_host", operands, kinds, "i32"))
        return copy

    def new_output(self, result: ir.Value, index: int, kind: ir.Type) -> TensorValue:
        """Memory for output `index` of an operation: in the workspace or as a tensor object."""
        info = types.tensor_info(kind)
        assert info is not None and info.dims is not None and info.dtype is not None
        size = types.size_in_bytes(info.dims, info.dtype)
        if isinstance(size, int) and size > 1 << ADDRESS_BITS:
            raise CompileError(
                f"{self.name}: {types.describe(kind)} takes {size} bytes, more than the "
                f"2^{ADDRESS_BITS} of the address space"
            )
        place = self._plan.places.get((result, index))
        if place is None:
            return self.new_tensor(info.dims, info.dtype, self.owned_slot(result))
        return TensorValue(self._placed(place), self.sizes(info.dims), info.dtype, info.dims)

    def lent_memory(self, op: ir.Operation, index: int) -> str:
        """The memory for temporary number `index` of the kernel that an operation calls."""
        return self._placed(self._plan.places[lent_key(op, index)])

    def _placed(self, place: Placement) -> str:
        base = self._workspace if place.token is None else self._tokens[place.token]
        # Without a workspace every temporary is empty.
        return self.text.null() if base is None else self.text.offset(base, place.offset)

    def sizes(self, shape: Iterable[dims.Dim]) -> list[str]:
        return [self.values.value(dim) for dim in shape]

    def new_tensor(self, shape: tuple[dims.Dim, ...], dtype: str, slot: str) -> TensorValue:
        """A new tensor object in `slot`."""
        text = self.text
        sizes = self.sizes(shape)
        status = text.call(
            "relax_device_new_tensor" if self.context.on_device else "relax_ffi_new_tensor",
            [
                text.constant(len(shape), "i32"),
                self._shape_array(shape, sizes),
                text.constant(dtype_word(dtype), "i32"),
                self.values.value(types.size_in_bytes(shape, dtype)),
                slot,
            ],
            ["i32", "!llvm.ptr", "i32", "i64", "!llvm.ptr"],
            "i32",
        )
        self.check(status)
        tensor = text.load(text.field(slot, ANY, 0, 2), "!llvm.ptr")
        data = text.load(text.offset(tensor, OBJECT_HEADER), "!llvm.ptr")
        return TensorValue(data, sizes, dtype, shape, any_slot=slot)

    def new_view(
        self, source: str, data: str, shape: tuple[dims.Dim, ...], dtype: str, slot: str
    ) -> TensorValue:
        """A tensor object in `slot` whose memory, at `data`, is the tensor's in slot `source`."""
        text, sizes = self.text, self.sizes(shape)
        operands = [
            source,
            data,
            text.constant(len(shape), "i32"),
            self._shape_array(shape, sizes),
            text.constant(dtype_word(dtype), "i32"),
            slot,
        ]
        kinds = ["!llvm.ptr", "!llvm.ptr", "i32", "!llvm.ptr", "i32", "!llvm.ptr"]
        self.check(text.call("relax_ffi_new_view", operands, kinds, "i32"))
        return TensorValue(data, sizes, dtype, shape, any_slot=slot)

    def _shape_array(self, shape: tuple[dims.Dim, ...], sizes: list[str]) -> str:
        text = self.text
        if all(isinstance(dim, int) for dim in shape):
            return text.address(self._static_shape(tuple(int(dim) for dim in shape)))
        array = text.stack("i64", len(shape))
        for axis, size in enumerate(sizes):
            text.store(size, text.offset(array, 8 * axis), "i64")
        return array

    def _static_shape(self, shape: tuple[int, ...]) -> str:
        """Symbol of a constant array of sizes."""
        symbol = "__ffi_shape_" + "x".join(map(str, shape))
        count = max(1, len(shape))
        body = f"dense<{list(shape or (0,))}> : tensor<{count}xi64>"
        self.context.text.declare(
            symbol,
            f"llvm.mlir.global internal constant @{symbol}({body}) {{addr_space = 0 : i32}} : "
            f"!llvm.array<{count} x i64>",
        )
        return symbol

    def branch(self) -> DimensionValues:
        """Enter code that runs only sometimes; returns what `rejoin` takes back."""
        outer = self.values
        self._use(outer.branch())
        return outer

    def rejoin(self, outer: DimensionValues) -> None:
        self._use(outer)

    def _use(self, values: DimensionValues) -> None:
        self.values = self.reader.values = values
