"""Effects: state that the exported functions take and give back, such as a cache.

A method's function gets one more argument for each effect and returns `(results, effects)`; the
function `_initialize_effect` makes their first values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import Error
from relax_mlir.relax import expr as rx
from relax_mlir.relax import op as _op
from relax_mlir.relax.block_builder import BlockBuilder
from relax_mlir.relax.frontend.nn.core import Tensor, get_default_dtype
from relax_mlir.relax.op.special import call_inplace_packed, call_pure_packed
from relax_mlir.relax.struct_info import ObjectType, TensorType

__all__ = ["Effect", "IOEffect", "KVCache"]


class Effect:
    """Base of effects; a subclass says how its state is made (`emit_init`).

    While a method is exported, `state` is the Relax variable of the current value.
    """

    state: rx.Expr | None = None

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[rx.Var]:
        """Emit the first value of the state."""
        return [builder.emit(_op.null_value(), name_hint or "effect")]

    def create(self, name_hint: str) -> list[rx.Var]:
        """The parameters of a function that stand for the state."""
        return [rx.Var(name_hint or "effect", ObjectType())]

    def set_state(self, state_vars: Sequence[rx.Expr]) -> None:
        """Begin with this state."""
        (self.state,) = state_vars

    def finalize(self) -> list[rx.Expr]:
        """The last state, which the function returns."""
        state, self.state = self.current(), None
        return [state]

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of what the state holds; most hold none."""

    def current(self) -> rx.Expr:
        """The state.  Raises Error outside of a method that is exported."""
        if self.state is None:
            raise Error(f"{type(self).__name__} has state only while a method is exported")
        return self.state


class IOEffect(Effect):
    """The order of what a program prints: `export_tvm(spec, debug=True)` adds one."""

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[rx.Var]:
        return super().emit_init("_io", builder)

    def create(self, name_hint: str) -> list[rx.Var]:
        return super().create("_io")


class KVCache(Effect):
    """Keys or values of the tokens so far: rows of shape `unit_shape` that `append` adds.

    Memory is allocated for `init_seq_len` rows and grows when it has to.
    """

    def __init__(self, init_seq_len: int, unit_shape: Sequence[int], dtype: str | None = None):
        self.init_seq_len = init_seq_len
        self.unit_shape = [int(size) for size in unit_shape]
        self.dtype = dtype or get_default_dtype()

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[rx.Var]:
        shape = rx.ShapeExpr([self.init_seq_len, *self.unit_shape])
        data = builder.emit(_op.zeros(shape, self.dtype))
        create = "vm.builtin.attention_kv_cache_create"
        call = call_pure_packed(create, data, shape, rx.PrimValue(0), sinfo_args=ObjectType())
        return [builder.emit(call, name_hint or "cache")]

    def create(self, name_hint: str) -> list[rx.Var]:
        return super().create(name_hint or "cache")

    def to(self, dtype: str | None = None) -> None:
        if dtype is not None:
            self.dtype = dtype

    def view(self, seq_len: Any) -> Tensor:
        """All rows, of which there are `seq_len`, as a tensor."""
        shape = rx.ShapeExpr([seq_len, *self.unit_shape])
        kind = TensorType(shape, self.dtype)
        view = "vm.builtin.attention_kv_cache_view"
        call = call_pure_packed(view, self.current(), shape, sinfo_args=kind)
        return Tensor(_expr=_builder().emit(call, "view"))

    def append(self, new_element: Tensor) -> None:
        """Add rows, a tensor of shape `(count, *unit_shape)`.  Raises TypeError for its dtype."""
        if new_element.dtype != self.dtype:
            raise TypeError(f"the cache holds {self.dtype}, {new_element.dtype} was appended")
        append = "vm.builtin.attention_kv_cache_append"
        call = call_inplace_packed(
            append,
            self.current(),
            new_element.expr,
            inplace_indices=[0],
            sinfo_args=ObjectType(),
        )
        self.state = _builder().emit(call, "cache")


def _builder() -> BlockBuilder:
    builder = BlockBuilder.current()
    if builder is None:
        raise Error("an effect changes in a method that is being exported")
    return builder
