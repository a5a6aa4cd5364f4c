"""Where values of a Relax function go: which escape to other code, and when each is used last.

A tensor escapes when code outside this function may keep it: it is returned, or given to a packed
function or another Relax function.  What escapes needs a tensor object of its own; everything else
lives in the function's workspace, where memory is reused.
"""

from __future__ import annotations

from collections.abc import Collection

from relax_mlir.dialects.relax import types
from relax_mlir.lowering.relax.functions import callee_of
from relax_mlir.mlir import ir

__all__ = ["Liveness", "says_more"]

# Operations whose result is (part of) an operand under another name.
_ALIASES = (
    "relax.bind",
    "relax.tuple",
    "relax.tuple_get_item",
    "relax.memory_ensure_zero_offset",
    "relax.to_vdevice",
    "relax.hint_on_device",
)
# Operations whose result is the memory of their first operand, or a copy of it if it escapes.
_VIEWS = (
    "relax.reshape",
    "relax.memory_view",
    "relax.memory_alloc_tensor",
    "relax.vm_alloc_tensor",
)
# Those of them whose result may also be a tensor object that shares the memory.
_SHARING = ("relax.reshape", "relax.memory_view")
# Operations that make tensors of their own, one for each output.
_MAKERS = ("relax.call_tir", "relax.call_tir_with_grad", "relax.call_dps_packed")
# Operations that read tensors and keep none of them.
_READERS = (
    "relax.call_tir",
    "relax.vm_call_tir_dyn",
    "relax.shape_of",
    "relax.tensor_to_shape",
    "relax.memory_kill_storage",
    "relax.memory_kill_tensor",
    "relax.vm_kill_object",
    *_VIEWS,
)


def says_more(kind: ir.Type, than: ir.Type) -> bool:
    """True when a tensor of the first type has sizes that the second does not say."""
    info, known = types.tensor_info(kind), types.tensor_info(than)
    if info is None or info.dims is None:
        return False
    return known is None or known.dims != info.dims or known.dtype != info.dtype


class Liveness:
    """Positions and uses of the operations of one function, nested ones included."""

    def __init__(self, function: ir.Operation, kernels: Collection[str] = ()) -> None:
        """`kernels` are the names of the module's TensorIR functions."""
        self._kernels = kernels
        self._positions: dict[ir.Operation, int] = {}
        self._escapes: dict[ir.Value, bool] = {}
        self._shared: dict[ir.Operation, bool] = {}
        self._last: dict[ir.Value, int] = {}
        self._number(function)

    def _number(self, op: ir.Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                for child in block.operations:
                    self._positions[child.operation] = len(self._positions)
                    self._number(child.operation)

    def position(self, op: ir.Operation) -> int:
        """The place of an operation in program order."""
        return self._positions[op]

    def escapes(self, value: ir.Value) -> bool:
        """True when the value, or one that shares its memory, may outlive this call."""
        if value not in self._escapes:
            self._escapes[value] = any(
                self._use_escapes(use.owner.operation, use.operand_number) for use in value.uses
            )
        return self._escapes[value]

    def is_shared(self, view: ir.Operation) -> bool:
        """True when a view leaves the function as the memory it reads, without a copy.

        That memory was made in this function, and nothing else of it leaves.  Where it is given to
        a call, which may write into it, nobody reads it behind the view.
        """
        if view.name not in _SHARING:
            return False
        if view not in self._shared:
            source = _made_by(view.operands[0])
            self._shared[view] = (
                source is not None
                and self.escapes(view.results[0])
                and self._exits(source.results[0]) == 1
                and (
                    self._is_returned(view.results[0])
                    or not self._is_read_behind(source.results[0], view)
                )
            )
        return self._shared[view]

    def _is_returned(self, value: ir.Value) -> bool:
        """True when the function returns the memory of a value."""
        users = [use.owner.operation for use in value.uses]
        followed = self._same_memory(value)
        return any(user.name == "func.return" for user in users) or any(
            self._is_returned(other) for other in followed
        )

    def _is_read_behind(self, value: ir.Value, view: ir.Operation) -> bool:
        """True when something reads the memory of a value, not through the view, behind it."""
        for use in value.uses:
            user = use.owner.operation
            passes_on = user.name in (*_SHARING, *_ALIASES, "relax.output")
            if not passes_on and self._positions[user] > self._positions[view]:
                return True
        others = [other for other in self._same_memory(value) if other != view.results[0]]
        return any(self._is_read_behind(other, view) for other in others)

    def _same_memory(self, value: ir.Value) -> list[ir.Value]:
        """The values that operations make of a value by another name or shape."""
        found: list[ir.Value] = []
        for use in value.uses:
            user = use.owner.operation
            if user.name in (*_SHARING, *_ALIASES):
                found.append(user.results[0])
            elif user.name == "relax.output":
                found.append(user.parent.results[use.operand_number])
        return found

    def _exits(self, value: ir.Value) -> int:
        """How many uses keep the memory of a value or give it to other code, views counted."""
        return sum(self._use_exits(use.owner.operation, use.operand_number) for use in value.uses)

    def _use_exits(self, user: ir.Operation, operand: int) -> int:
        if user.name in (*_SHARING, *_ALIASES):
            return self._exits(user.results[0])
        if user.name == "relax.output":
            return self._exits(user.parent.results[operand])
        return int(self._use_escapes(user, operand))

    def _use_escapes(self, user: ir.Operation, operand: int) -> bool:
        if user.name in _SHARING:
            return operand == 0 and self.is_shared(user)
        if user.name in _READERS or self._calls_kernel(user):
            return False
        if user.name == "relax.bind" and says_more(user.results[0].type, user.operands[0].type):
            return True
        if user.name in _ALIASES:
            return self.escapes(user.results[0])
        if user.name == "relax.output":
            return self.escapes(user.parent.results[operand])
        return True

    def _calls_kernel(self, user: ir.Operation) -> bool:
        if user.name != "relax.call" or not self._kernels:
            return False
        return callee_of(user) in self._kernels

    def last_use(self, value: ir.Value) -> int:
        """The position of the last operation that may touch the memory of `value`."""
        if value not in self._last:
            owner = value.owner
            start = self._positions.get(owner.operation, 0) if hasattr(owner, "operation") else 0
            uses = [self._use_end(use.owner.operation, use.operand_number) for use in value.uses]
            self._last[value] = max([start, *uses])
        return self._last[value]

    def _use_end(self, user: ir.Operation, operand: int) -> int:
        position = self._positions[user]
        if user.name in (*_ALIASES, *_VIEWS, "relax.match_cast", "relax.call_tir_inplace"):
            return max(position, self.last_use(user.results[0]))
        if user.name == "relax.output":
            return max(position, self.last_use(user.parent.results[operand]))
        return position


def _made_by(value: ir.Value) -> ir.Operation | None:
    """The operation whose only result a value is under another name or shape."""
    while not isinstance(value, ir.BlockArgument):
        op = value.owner.operation
        if op.name in _MAKERS:
            return op if types.tuple_fields(value.type) is None else None
        if op.name not in ("relax.bind", *_SHARING):
            return None
        value = op.operands[0]
    return None
