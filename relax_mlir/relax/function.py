"""`relax.Function`: a Relax function as a Python value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from relax_mlir import mlir
from relax_mlir.dialects.attributes import from_attribute
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.constants import build_constant
from relax_mlir.errors import Error, TypeInferenceError
from relax_mlir.ir.function import BaseFunc
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.mlir import ir
from relax_mlir.relax import symbols
from relax_mlir.relax.type_relations import forget_symbols

if TYPE_CHECKING:
    from relax_mlir.relax.blocks import SeqExpr
    from relax_mlir.relax.expr import Expr, Var
    from relax_mlir.relax.reader import FunctionReader
    from relax_mlir.relax.struct_info import FuncType, StructInfo


class Function(BaseFunc):
    """A Relax function.

    Made from parameters and a body (`relax.Function([x], body, ret_struct_info=...)`), or around
    the `ModuleState` that holds it.  `params`, `body` and `ret_struct_info` are read-only views.
    """

    attrs_key = "relax.attrs"

    def __init__(
        self,
        state: ModuleState | Sequence[Var],
        body: Any = None,
        ret_struct_info: Any = None,
        is_pure: bool = True,
        attrs: Mapping[str, Any] | None = None,
        *,
        ret_ty: Any = None,
    ):
        if not isinstance(state, ModuleState):
            ret = ret_struct_info if ret_ty is None else ret_ty
            state = _build(state, body, ret, is_pure, dict(attrs or {}))
        super().__init__(state)

    @cached_property
    def _reader(self) -> FunctionReader:
        from relax_mlir.relax.reader import FunctionReader

        with mlir.scope():
            return FunctionReader(self.operation, self.state.constants)

    @property
    def params(self) -> list[Var]:
        return self._reader.params

    @property
    def body(self) -> SeqExpr:
        return self._reader.body

    @property
    def _type(self) -> ir.FunctionType:
        return ir.FunctionType(ir.TypeAttr(self.operation.attributes["function_type"]).value)

    @property
    def _result(self) -> ir.Type:
        """The result type as callers see it: without symbols that only the body binds."""
        kind = self._type
        known = {symbol for param in kind.inputs for symbol in types.symbols_of(param)}
        return forget_symbols(kind.results[0], known)

    @property
    def ret_struct_info(self) -> StructInfo:
        from relax_mlir.relax.struct_info import from_mlir_type

        with mlir.scope():
            return from_mlir_type(self._result)

    ret_ty = ret_struct_info

    @property
    def struct_info(self) -> FuncType:
        from relax_mlir.relax.struct_info import FuncType, from_mlir_type

        with mlir.scope():
            face = from_mlir_type(ir.FunctionType.get(list(self._type.inputs), [self._result]))
        assert isinstance(face, FuncType)
        return face

    ty = struct_info

    @property
    def is_pure(self) -> bool:
        attributes = self.operation.attributes
        return "relax.pure" not in attributes or bool(from_attribute(attributes["relax.pure"]))

    def bind_params(self, bindings: Mapping[Any, Any]) -> Function:
        """A copy in which parameters are constants.

        `bindings` maps parameters, or their names, to arrays or constants.  Raises Error for a
        name that is no parameter, TypeInferenceError for a value that does not fit.
        """
        copy = self.clone()
        assert isinstance(copy, Function)
        with mlir.scope():
            op = copy.operation
            values = {_index(self, key): value for key, value in bindings.items()}
            sizes: dict[str, Any] = {}
            arrays = {i: _fitting(self.params[i], value, sizes) for i, value in values.items()}
            if sizes:
                _substitute(op, sizes)
            block = op.regions[0].blocks[0]
            with ir.InsertionPoint.at_block_begin(block):
                for i, array in sorted(arrays.items()):
                    value = build_constant(array, copy.state.constants)
                    block.arguments[i].replace_all_uses_with(value)
            _drop_arguments(op, set(arrays))
        return copy

    def bind_symbolic_vars(self, bindings: Mapping[Any, Any]) -> Function:
        """A copy in which symbols (`tir.Var`s or names) have these values."""
        copy = self.clone()
        assert isinstance(copy, Function)
        values = {str(symbols.to_dim(key)): symbols.to_dim(v) for key, v in bindings.items()}
        with mlir.scope():
            known = {s for kind in self._type.inputs for s in types.symbols_of(kind)}
            unknown = [name for name in values if name not in known]
            if unknown:
                raise Error(
                    f"'{self.name}' has no symbol '{unknown[0]}'; it has "
                    f"{', '.join(sorted(known)) or 'none'}"
                )
            _substitute(copy.operation, values)
        return copy

    def __call__(self, *args: Any) -> Expr:
        raise TypeError("a function is called through its GlobalVar, after it is in a module")


def _build(
    params: Sequence[Var], body: Any, ret: Any, is_pure: bool, attrs: dict[str, Any]
) -> ModuleState:
    """The state of a function given as parameters and a body expression."""
    from relax_mlir.relax.builder import FunctionBuilder

    symbol = attrs.pop("global_symbol", None)
    builder = FunctionBuilder(
        symbol or "main", params, attrs=attrs, private=symbol is None, pure=is_pure
    )
    return builder.finish(body, ret_type=ret).state


def _index(function: Function, key: Any) -> int:
    name = key if isinstance(key, str) else key.name_hint
    names = [param.name_hint for param in function.params]
    if name not in names:
        raise Error(f"'{function.name}' has no parameter '{name}'; it has {', '.join(names)}")
    return names.index(name)


def _fitting(param: Var, value: Any, sizes: dict[str, Any]) -> Any:
    """The array of a bound parameter; the sizes of its symbols are noted in `sizes`."""
    from relax_mlir.relax.expr import Constant, as_array
    from relax_mlir.relax.type_relations import match_symbols

    array = value.array if isinstance(value, Constant) else as_array(value)
    given = types.tensor_type(array.shape, array.dtype.name)
    match_symbols(param.mlir_type, given, sizes)
    reason = types.conflict(types.substitute(param.mlir_type, sizes), given)
    if reason is not None:
        raise TypeInferenceError(
            f"parameter '{param.name_hint}' is {types.describe(param.mlir_type)}, the value is "
            f"{types.describe(given)}: {reason}"
        )
    return array


def _drop_arguments(op: ir.Operation, dropped: set[int]) -> None:
    block = op.regions[0].blocks[0]
    kept = [i for i in range(len(block.arguments)) if i not in dropped]
    attributes = op.attributes
    stored = list(ir.ArrayAttr(attributes["arg_attrs"]))
    attributes["arg_attrs"] = ir.ArrayAttr.get([stored[i] for i in kept])
    for i in sorted(dropped, reverse=True):
        block.erase_argument(i)
    _update_type(op)


def _update_type(op: ir.Operation) -> None:
    block = op.regions[0].blocks[0]
    result = list(block.operations)[-1].operation.operands[0].type
    kind = ir.FunctionType.get([a.type for a in block.arguments], [result])
    op.attributes["function_type"] = ir.TypeAttr.get(kind)


def _substitute(op: ir.Operation, values: Mapping[str, Any]) -> None:
    """Replace symbols in every type of a function."""

    def visit(block: ir.Block) -> None:
        for value in block.arguments:
            value.set_type(types.substitute(value.type, dict(values)))
        for child in block.operations:
            for result in child.operation.results:
                result.set_type(types.substitute(result.type, dict(values)))
            for region in child.operation.regions:
                for inner in region.blocks:
                    visit(inner)

    visit(op.regions[0].blocks[0])
    _update_type(op)
