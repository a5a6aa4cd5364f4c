"""Relax: the graph language (TVM's `tvm.relax`).  Names are imported on first use."""

from __future__ import annotations

import importlib
from typing import Any

# Module of this package -> the names it gives.
_EXPORTS = {
    "expr": (
        "Call Constant DataTypeImm DataflowVar Expr ExternFunc GlobalVar If Op PrimValue "
        "RelaxExpr ShapeExpr StringImm Tuple TupleGetItem Var call_global const get_shape_of"
    ),
    "blocks": "Binding BindingBlock DataflowBlock MatchCast SeqExpr VarBinding",
    "struct_info": (
        "AnyType DTensorStructInfo DTensorType DynTensorType FuncStructInfo FuncType "
        "ObjectStructInfo ObjectType PrimStructInfo PrimType ShapeStructInfo ShapeType "
        "StructInfo TensorStructInfo TensorType TupleStructInfo TupleType Type"
    ),
    "function": "Function",
    "base_py_module": "BasePyModule",
    "block_builder": "BlockBuilder",
    "expr_functor": "ExprFunctor PyExprMutator PyExprVisitor",
    "codegen": "register_codegen",
    "convenience": "prim_value shape extern str dtype tuple",
    "op": (
        "call_dps_packed call_packed call_pure_packed call_tir call_tir_inplace call_tir_with_grad"
    ),
    "pipelines": "get_default_pipeline get_pipeline register_pipeline",
    "utils": "convert_to_expr",
    "vm": "VMExecutable VMInstrumentReturnKind VirtualMachine build",
}
_SCRIPT = ("DummyGlobalInfo", "VDevice")
"""What TVM has here and its scripts have as `I.VDevice` ..."""
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names.split()}
_MODULES = (
    "analysis", "backend", "dpl", "expr_functor", "frontend", "op", "training", "transform",
    "utils", "vm",
)  # fmt: skip

# The names are those of tables, which pyright does not follow.
__all__ = [*_MODULE_OF, *_MODULES, *_SCRIPT]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        module = importlib.import_module(f"{__name__}.{_MODULE_OF[name]}")
        value = getattr(module, name)
    elif name in _SCRIPT:
        value = getattr(importlib.import_module("relax_mlir.script.ir"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
