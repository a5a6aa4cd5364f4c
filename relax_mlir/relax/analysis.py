"""Questions about Relax functions and expressions (TVM: `relax.analysis`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from relax_mlir import mlir
from relax_mlir.dialects.relax import types
from relax_mlir.errors import VerificationError
from relax_mlir.ir.function import GlobalVar
from relax_mlir.ir.module import IRModule
from relax_mlir.lowering.relax.fuse_ops import bound_symbols
from relax_mlir.relax.analysis_program import (
    computable_at_compile_time,
    detect_recursion,
    estimate_memory_usage,
    has_reshape_pattern,
)
from relax_mlir.relax.analysis_types import (
    BaseCheckResult,
    collect_non_negative_expressions,
    definable_tir_vars_in_struct_info,
    definable_tir_vars_in_type,
    derive_call_ret_struct_info,
    derive_call_ret_type,
    erase_to_well_defined,
    get_static_struct_info,
    get_static_type,
    struct_info_base_check,
    tir_vars_in_struct_info,
    tir_vars_in_type,
    type_base_check,
)
from relax_mlir.relax.blocks import Binding, BindingBlock, MatchCast, SeqExpr
from relax_mlir.relax.expr import Expr, ExternFunc, FunctionRef, Var
from relax_mlir.relax.function import Function
from relax_mlir.relax.layout_suggestions import suggest_layout_transforms
from relax_mlir.relax.lowering import children
from relax_mlir.relax.struct_info import StructInfo, from_mlir_type
from relax_mlir.relax.symbols import symbol
from relax_mlir.relax.type_relations import join


def well_formed(obj: IRModule | Function, check_struct_info: bool = True) -> bool:
    """True when a module or function breaks no invariant of its dialects."""
    module = obj if isinstance(obj, IRModule) else IRModule({obj.name: obj})
    try:
        module.verify()
    except VerificationError:
        return False
    return True


check_well_formed = well_formed


def post_order_visit(expr: Expr | Function, visit: Callable[[Any], None]) -> None:
    """Call `visit` on every expression, the parts before the whole, each object once."""
    seen: set[int] = set()

    def walk(node: Any) -> None:
        if id(node) in seen:
            return
        seen.add(id(node))
        for child in _parts(node):
            walk(child)
        visit(node)

    walk(expr)


def _parts(node: Any) -> Iterator[Any]:
    if isinstance(node, Function):
        yield from node.params
        yield node.body
    elif isinstance(node, SeqExpr):
        for binding in node.bindings:
            yield binding.value
            yield binding.var
        yield node.body
    else:
        yield from (child for child in children(node) if isinstance(child, (Expr, GlobalVar)))


def _bindings(obj: Function | Expr) -> list[Binding]:
    found: list[Binding] = []
    post_order_visit(
        obj, lambda node: found.extend(node.bindings) if isinstance(node, SeqExpr) else None
    )
    return found


def all_vars(obj: Function | Expr) -> list[Var]:
    """Every variable, parameters first."""
    found: list[Var] = []
    post_order_visit(obj, lambda node: found.append(node) if isinstance(node, Var) else None)
    return found


def bound_vars(obj: Function | Expr) -> list[Var]:
    """The parameters and the variables that are bound inside."""
    params = obj.params if isinstance(obj, Function) else []
    bound = {id(var) for var in [*params, *(b.var for b in _bindings(obj))]}
    return [var for var in all_vars(obj) if id(var) in bound]


def free_vars(obj: Function | Expr) -> list[Var]:
    """The variables that are used inside but bound outside."""
    bound = {id(var) for var in bound_vars(obj)}
    return [var for var in all_vars(obj) if id(var) not in bound]


def all_global_vars(obj: Function | Expr) -> list[GlobalVar]:
    """The functions of the module that are mentioned, each once."""
    found: dict[GlobalVar, None] = {}

    def visit(node: Any) -> None:
        if isinstance(node, GlobalVar):
            found[node] = None
        elif isinstance(node, FunctionRef):
            found[node.var] = None

    post_order_visit(obj, visit)
    return list(found)


def name_to_binding(function: Function) -> dict[str, list[Binding]]:
    """The bindings by the names of their variables."""
    found: dict[str, list[Binding]] = {}
    for binding in _bindings(function):
        found.setdefault(binding.var.name_hint, []).append(binding)
    return found


def get_var2val(function: Function) -> dict[Var, Expr]:
    """What each variable is bound to."""
    return {binding.var: binding.value for binding in _bindings(function)}


def udchain(scope: Function | BindingBlock) -> dict[Var, list[Var]]:
    """For each variable of a function or a block, those whose values use it."""
    if isinstance(scope, BindingBlock):
        bindings, users = scope.bindings, dict[Var, list[Var]]()
    else:
        bindings, users = _bindings(scope), {var: [] for var in all_vars(scope)}
    for binding in bindings:
        users.setdefault(binding.var, [])
        for used in dict.fromkeys(all_vars(binding.value)):
            users.setdefault(used, []).append(binding.var)
    return users


def used_vars(obj: Function | Expr) -> list[Var]:
    """The variables that some value mentions."""
    if not isinstance(obj, (Function, SeqExpr)):
        return all_vars(obj)
    body = obj.body if isinstance(obj, Function) else obj
    found: dict[Var, None] = {}
    for value in [*(b.value for b in _bindings(body)), body.body]:
        found |= dict.fromkeys(all_vars(value))
    return list(found)


def remove_all_unused(function: Function) -> Function:
    """A function without the bindings that nothing needs."""
    from relax_mlir.relax.dpl.rewrite import remove_all_unused as remove

    return remove(function)


def free_symbolic_vars(function: Function) -> list[Any]:
    """The symbols that types mention and no parameter or checked type gives the value of."""
    with mlir.scope():
        defined = {
            name
            for var in (*function.params, *(b.var for b in _bindings(function) if _checks(b)))
            for name in bound_symbols(var.mlir_type)
        }
        mentioned = dict.fromkeys(
            name for var in all_vars(function) for name in types.symbols_of(var.mlir_type)
        )
        return [symbol(name) for name in mentioned if name not in defined]


def _checks(binding: Binding) -> bool:
    return isinstance(binding, MatchCast)


def contains_impure_call(obj: Function | Expr) -> bool:
    """True when a registered function is called for its effects."""
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(getattr(node, "op", None), ExternFunc):
            found.append(node)

    post_order_visit(obj, visit)
    return bool(found)


def defined_symbolic_vars(function: Function) -> list[Any]:
    """The symbols of the parameters' types and of the types that bindings check."""
    with mlir.scope():
        kinds = [var.mlir_type for var in bound_vars(function)]
        return [
            symbol(name) for name in dict.fromkeys(s for k in kinds for s in types.symbols_of(k))
        ]


def struct_info_lca(lhs: StructInfo, rhs: StructInfo) -> StructInfo:
    """The most precise type that values of both types have."""
    with mlir.scope():
        return from_mlir_type(join(lhs.mlir_type, rhs.mlir_type))


type_lca = struct_info_lca

__all__ = [
    "BaseCheckResult",
    "all_global_vars",
    "all_vars",
    "bound_vars",
    "check_well_formed",
    "collect_non_negative_expressions",
    "computable_at_compile_time",
    "contains_impure_call",
    "definable_tir_vars_in_struct_info",
    "definable_tir_vars_in_type",
    "defined_symbolic_vars",
    "derive_call_ret_struct_info",
    "derive_call_ret_type",
    "detect_recursion",
    "erase_to_well_defined",
    "estimate_memory_usage",
    "free_symbolic_vars",
    "free_vars",
    "get_static_struct_info",
    "get_static_type",
    "get_var2val",
    "has_reshape_pattern",
    "name_to_binding",
    "post_order_visit",
    "remove_all_unused",
    "struct_info_base_check",
    "struct_info_lca",
    "suggest_layout_transforms",
    "tir_vars_in_struct_info",
    "tir_vars_in_type",
    "type_base_check",
    "type_lca",
    "udchain",
    "used_vars",
    "well_formed",
]
