"""Replacing TensorIR functions by others, perhaps with other layouts (TVM's AlterOpImpl)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects.relax import types
from relax_mlir.errors import PassError
from relax_mlir.ir.function import GlobalVar
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.relax.index_maps import inverse
from relax_mlir.mlir import ir
from relax_mlir.relax import op
from relax_mlir.relax.block_builder import BlockBuilder
from relax_mlir.relax.expr import Call, Expr, Tuple, TupleGetItem
from relax_mlir.relax.op.index_maps import affine_map, layout_transform
from relax_mlir.relax.op.special import call_tir
from relax_mlir.relax.rewrite import rewrite_calls
from relax_mlir.relax.struct_info import TensorType, from_mlir_type
from relax_mlir.tir.function import PrimFunc

__all__ = ["alter_op_impl"]


def alter_op_impl(
    mod: IRModule,
    op_impl_map: Mapping[str, PrimFunc],
    op_buffer_transforms: Mapping[str, Sequence[Any]],
) -> IRModule:
    """Call `op_impl_map[name]` instead of functions whose attribute `operator_name` is `name`.

    `op_buffer_transforms[name]` has an index map for every buffer, inputs first; None leaves one as
    it is.  Operands are transformed in front of the call, results back behind it.  Raises PassError
    when the number of maps is wrong or one cannot be undone.
    """
    builder = BlockBuilder(mod)
    kinds = {
        var.name_hint: str(function.attrs["operator_name"])
        for var, function in mod.functions.items()
        if isinstance(function, PrimFunc) and "operator_name" in (function.attrs or {})
    }
    made: dict[str, GlobalVar] = {}

    def replace(call: Call) -> Expr | None:
        if getattr(call.op, "name", "") != "relax.call_tir":
            return None
        name = kinds.get(call.args[0].name_hint)
        if name is None or name not in op_impl_map:
            return None
        if name not in made:
            function = op_impl_map[name].without_attr("global_symbol")
            made[name] = builder.add_func(function, f"{name.replace('.', '_')}_replacement")
        maps = op_buffer_transforms.get(name) or []
        return _call(builder, made[name], call, list(maps))

    return rewrite_calls(mod, builder, replace)


def _call(builder: BlockBuilder, function: GlobalVar, call: Call, maps: list[Any]) -> Expr:
    given = call.args[1]
    operands = list(given.fields) if isinstance(given, Tuple) else [given]
    outputs = [info for info in call.sinfo_args if isinstance(info, TensorType)]
    count = len(operands) + len(outputs)
    if not maps:
        maps = [None] * count
    if len(maps) != count:
        name = call.args[0].name_hint
        raise PassError(f"AlterOpImpl: {len(maps)} layouts for the {count} buffers of '{name}'")
    inputs = [
        value if index_map is None else builder.emit(layout_transform(value, index_map))
        for value, index_map in zip(operands, maps, strict=False)
    ]
    behind = maps[len(operands) :]
    kinds = [_transformed(info, m) for info, m in zip(outputs, behind, strict=True)]
    result = builder.emit(call_tir(function, inputs, kinds))
    if all(index_map is None for index_map in behind):
        return result
    if len(outputs) == 1:
        return _undone(builder, result, behind[0], outputs[0])
    fields = [builder.emit(TupleGetItem(result, i)) for i in range(len(outputs))]
    back = zip(fields, behind, outputs, strict=True)
    return Tuple([v if m is None else _undone(builder, v, m, info) for v, m, info in back])


def _map(info: TensorType, index_map: Callable[..., Any] | Any) -> ir.AffineMap:
    return affine_map(index_map, info.ndim).value


def _transformed(info: TensorType, index_map: Any) -> TensorType:
    """The type that an output has in the new layout."""
    if index_map is None:
        return info
    from relax_mlir.dialects.relax.layout_transform import transformed_dims

    with mlir.scope():
        dims = None if info.dims is None else transformed_dims(_map(info, index_map), info.dims)
        made = from_mlir_type(types.tensor_type(dims, info.dtype, -1))
    assert isinstance(made, TensorType)
    return made


def _undone(builder: BlockBuilder, value: Expr, index_map: Any, wanted: TensorType) -> Expr:
    """The value in the layout it had; elements that were added are cut off."""
    with mlir.scope():
        back = inverse(_map(wanted, index_map))
        if back is None:
            raise PassError(
                f"AlterOpImpl: the layout {index_map} of an output cannot be undone",
                hint="maps may permute dimensions and split them by constants",
            )
        attribute = ir.AffineMapAttr.get(back)
    whole = builder.emit(layout_transform(value, attribute))
    if whole.struct_info == wanted:
        return whole
    rank = range(wanted.ndim)
    ends = [wanted.shape[i] for i in rank] if wanted.shape is not None else []
    return op.strided_slice(whole, list(rank), [0] * wanted.ndim, ends)
