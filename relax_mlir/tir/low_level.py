"""Intrinsics that hardware, the runtime and TVM's lowering define, as `tvm.tir` names them.

They have no counterpart in MLIR, so each stays a call (`tir.call` of kind "intrinsic").  The table
says which dtype the result has; `dtype=` in a program overrides it, as older TVM wrote it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relax_mlir.tir.expr import Call, PrimExpr, StringImm, as_expr, canonical_dtype

_BY_DTYPE = {
    "handle": """
        tvm_access_ptr address_of lookup_param tvm_stack_alloca tvm_stack_make_shape
        tvm_stack_make_array tvm_tuple tvm_static_handle tvm_context_id tvm_fill_fragment
        tvm_load_matrix_sync tvm_store_matrix_sync tvm_mma_sync tvm_bmma_sync tvm_thread_allreduce
        tvm_throw_last_error anylist_getitem start_profile_intrinsic end_profile_intrinsic
        make_filled_simdgroup_matrix simdgroup_load simdgroup_store simdgroup_multiply_accumulate
        ptr_byte_offset texture2d_store texture2d_load ptx_commit_group ptx_wait_group
        handle_add_byte_offset ptx_cp_async_barrier ptx_init_barrier_thread_count
        ptx_arrive_barrier ptx_arrive_barrier_expect_tx ptx_wait_barrier create_barriers
        tvm_kernel_replace_point TVMBackendAllocWorkspace tvm_thread_context
    """,
    "int32": """
        tvm_storage_sync tvm_global_barrier_kinit tvm_call_packed tvm_call_cpacked call_cpacked
        tvm_call_packed_lowered tvm_call_cpacked_lowered call_packed_lowered call_cpacked_lowered
        tvm_call_trace_packed tvm_call_trace_packed_lowered call_trace_packed tvm_check_return
        tvm_struct_set anylist_resetitem anylist_setitem_call_packed anylist_setitem_call_cpacked
        vscale undef q_multiply_shift_per_axis print_buffer dma_copy dma_wait dma_start_group
        dma_end_group prefetch break_loop continue_loop thread_return
        tvm_kernel_replace_point_start ignore_loop_partition TVMBackendFreeWorkspace
    """,
    "bool": "assume isnullptr",
    "uint32": "tvm_warp_activemask llvm_lookup_intrinsic_id",
}
_LIKE_ARGUMENT = {
    "ret": 0,
    "tvm_thread_invariant": 0,
    "tvm_warp_shuffle": 1,
    "tvm_warp_shuffle_up": 1,
    "tvm_warp_shuffle_down": 1,
    "tvm_warp_shuffle_xor": 1,
    "large_uint_imm": 0,
    "dp4a": 2,
    "atomic_add": 1,
}
"""Intrinsics whose result has the dtype of this argument."""

_PARAMETERS = {
    "make_filled_simdgroup_matrix": "d index value col row",
    "simdgroup_load": "d index ptr stride col row transpose_matrix",
    "simdgroup_store": "d index ptr stride col row transpose_matrix",
    "simdgroup_multiply_accumulate": "d index_d a index_a b index_b c index_c",
}
"""The parameters that programs give by name, and their defaults."""
_DEFAULTS = {"col": 8, "row": 8, "transpose_matrix": False}

DTYPE_FIRST = (
    "call_extern call_pure_extern call_intrin call_llvm_intrin call_llvm_pure_intrin reinterpret "
    "ptx_mma ptx_mma_sp ptx_wgmma ptx_ldmatrix ptx_cp_async ptx_cp_async_bulk mma_store mma_fill "
    "vectorlow vectorhigh vectorcombine get_active_lane_mask type_annotation "
    "ptx_ldg32 cooperative_tensor_fill"
).split()
"""Calls that name their dtype first, in program text as well."""

# `evaluate` is what the builder makes of `T.evaluate(A.data)`.
RESULT_DTYPES = {name: dtype for dtype, names in _BY_DTYPE.items() for name in names.split()}

PURE = frozenset(
    "type_annotation tvm_access_ptr lookup_param isnullptr vscale undef tvm_stack_make_shape "
    "tvm_stack_make_array tvm_tuple llvm_lookup_intrinsic_id large_uint_imm get_active_lane_mask "
    "vectorlow vectorhigh vectorcombine tvm_warp_activemask tvm_thread_invariant anylist_getitem "
    "call_llvm_pure_intrin tvm_struct_get q_multiply_shift_per_axis ptr_byte_offset "
    "handle_add_byte_offset tvm_stack_alloca".split()
)
"""Intrinsics that may be evaluated wherever their value is used."""


def dtype_of_result(name: str, args: tuple[PrimExpr, ...]) -> str:
    """The dtype of an intrinsic's result where the program does not give one; "" without."""
    if name in RESULT_DTYPES:
        return RESULT_DTYPES[name]
    if name in _LIKE_ARGUMENT and len(args) > _LIKE_ARGUMENT[name]:
        return args[_LIKE_ARGUMENT[name]].dtype
    return ""


def _plain(name: str) -> Callable[..., PrimExpr]:
    parameters = _PARAMETERS.get(name, "").split()

    def build(*args: Any, dtype: object | None = None, **named: Any) -> PrimExpr:
        given = [*args, *_in_order(name, parameters[len(args) :], named)]
        flat = [a for one in given for a in (one if isinstance(one, (tuple, list)) else [one])]
        operands = tuple(as_expr(a) for a in flat)
        known = dtype_of_result(name, operands)
        return Call(known if dtype is None else canonical_dtype(dtype), name, operands)

    return _described(build, name)


def _in_order(name: str, parameters: list[str], named: dict[str, Any]) -> list[Any]:
    """Arguments given by name, in the order of the parameters.  Raises TypeError."""
    unknown = [key for key in named if key not in parameters]
    if unknown:
        raise TypeError(f"T.{name} takes no argument '{unknown[0]}' by name")
    return [
        named.get(key, _DEFAULTS.get(key)) for key in parameters if key in named or key in _DEFAULTS
    ]


def _dtype_first(name: str) -> Callable[..., PrimExpr]:
    def build(dtype: object, *args: Any) -> PrimExpr:
        return Call(canonical_dtype(dtype), name, [as_expr(a) for a in args])

    return _described(build, name)


def _described(build: Callable[..., PrimExpr], name: str) -> Callable[..., PrimExpr]:
    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"The intrinsic `{name}`, kept as a call."
    return build


def tvm_struct_get(arr: Any, index: Any, field: Any, dtype: object) -> PrimExpr:
    """A field of a runtime structure; `field` is TVM's name or number of it."""
    return Call(canonical_dtype(dtype), "tvm_struct_get", [arr, index, as_expr(field)])


def call_llvm_pure_intrin(dtype: object, name: Any, *args: Any) -> PrimExpr:
    """Call an LLVM intrinsic without side effects by its name (`llvm.fma`) or number."""
    return _llvm_intrinsic(dtype, "call_pure_extern", "call_llvm_pure_intrin", name, args)


def call_llvm_intrin(dtype: object, name: Any, *args: Any) -> PrimExpr:
    """Call an LLVM intrinsic by its name or number."""
    return _llvm_intrinsic(dtype, "call_extern", "call_llvm_intrin", name, args)


def _llvm_intrinsic(dtype: object, extern: str, op: str, name: Any, args: Any) -> PrimExpr:
    if isinstance(name, (str, StringImm)):
        return Call(dtype, extern, [as_expr(name), *args])
    return Call(dtype, op, [as_expr(name), *args])


_OWN: dict[str, Callable[..., PrimExpr]] = {
    "tvm_struct_get": tvm_struct_get,
    "call_llvm_pure_intrin": call_llvm_pure_intrin,
    "call_llvm_intrin": call_llvm_intrin,
}
_ELSEWHERE = ("call_extern", "call_pure_extern", "call_intrin", "reinterpret")

INTRINSICS: dict[str, Callable[..., PrimExpr]] = {
    **{name: _plain(name) for name in (*RESULT_DTYPES, *_LIKE_ARGUMENT)},
    **{name: _dtype_first(name) for name in DTYPE_FIRST if name not in _ELSEWHERE},
    **_OWN,
}
"""Name -> the function that makes the call."""

__all__ = ["DTYPE_FIRST", "INTRINSICS", "PURE", "RESULT_DTYPES", "dtype_of_result"]
