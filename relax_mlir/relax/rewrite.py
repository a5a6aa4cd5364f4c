"""Replacing calls in Relax functions by what a Python function makes of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from relax_mlir.ir.module import IRModule
from relax_mlir.relax.block_builder import BlockBuilder
from relax_mlir.relax.blocks import BindingBlock, DataflowBlock, MatchCast, VarBinding
from relax_mlir.relax.expr import Call, Expr
from relax_mlir.relax.function import Function


def rewrite_calls(
    mod: IRModule, builder: BlockBuilder, replace: Callable[[Call], Expr | None]
) -> IRModule:
    """The module with every call in its Relax functions replaced.

    `replace` returns the new expression, or None to keep the call; it may emit bindings and add
    functions through `builder`, which must have been made from `mod`.
    """
    for var, function in mod.functions.items():
        if isinstance(function, Function):
            _rewrite_function(var.name_hint, function, builder, replace)
    return builder.get()


def _rewrite_function(
    name: str, function: Function, builder: BlockBuilder, replace: Callable[[Call], Expr | None]
) -> None:
    with builder.function(
        name, function.params, function.attrs, function.is_pure, function.is_private
    ):
        for block in function.body.blocks:
            dataflow = isinstance(block, DataflowBlock)
            with builder.dataflow() if dataflow else nullcontext():
                _rewrite_block(block, builder, replace)
        builder.emit_func_output(function.body.body)


def _rewrite_block(
    block: BindingBlock, builder: BlockBuilder, replace: Callable[[Call], Expr | None]
) -> None:
    for binding in block.bindings:
        value = binding.value
        changed = replace(value) if isinstance(value, Call) else None
        if changed is None or isinstance(binding, MatchCast):
            builder.emit_normalized(binding)
        else:
            builder.emit_normalized(VarBinding(binding.var, changed))
