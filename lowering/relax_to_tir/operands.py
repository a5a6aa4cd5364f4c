"""From an operator in the IR to its row's arguments, and from the row's tensors to a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from relax_mlir import te
from relax_mlir.dialects import dims as dim_algebra
from relax_mlir.dialects.dims import Dim
from relax_mlir.dialects.names import name_of
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.relax.constants import read_constant
from relax_mlir.dialects.relax.spec import attributes_of, operand_groups
from relax_mlir.dialects.variadic import create
from relax_mlir.errors import CompileError, Error
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.lowering.relax_to_tir.prim_funcs import PrimFuncs
from relax_mlir.lowering.relax_to_tir.rows import Result, Row
from relax_mlir.mlir import ir
from relax_mlir.tir.buffer import Buffer
from relax_mlir.tir.builder import PrimFuncBuilder
from relax_mlir.tir.expr import FloatImm, IntImm, PrimExpr, Var
from relax_mlir.tir.function import PrimFunc
from relax_mlir.tir.shapes import expr_of


class NotLegalizable(Exception):
    """The operator has operands about which too little is known at compile time."""


@dataclass
class Arguments:
    """The arguments of one row, and the values that become arguments of the call."""

    state: ModuleState
    immediate: tuple[int, ...]
    symbols: dict[str, Var] = field(default_factory=dict)
    values: list[ir.Value] = field(default_factory=list)
    tensors: list[te.Tensor] = field(default_factory=list)

    def collect(self, op: ir.Operation) -> list[Any]:
        """One argument an operand of the operator."""
        groups = operand_groups(op)
        number = self._first_number(groups)
        return [
            number[1] if i == number[0] else self._argument(group) for i, group in enumerate(groups)
        ]

    def _first_number(self, groups: Sequence[Any]) -> tuple[int, Any]:
        """The first operand of `immediate` that is a constant scalar, as (position, number)."""
        for i in self.immediate:
            if isinstance(groups[i], ir.Value):
                number = self._number(groups[i])
                if number is not None:
                    return i, number
        return -1, None

    def _number(self, value: ir.Value) -> PrimExpr | None:
        owner = value.owner
        info = types.tensor_info(value.type)
        if not isinstance(owner, (ir.Operation, ir.OpView)) or info is None or info.dims != ():
            return None
        if owner.operation.name != "relax.constant" or info.dtype is None:
            return None
        array = read_constant(owner, self.state.constants)
        if array is None:
            return None
        number = array.item() if info.dtype != "bfloat16" else float(array)
        if isinstance(number, float):
            return FloatImm(info.dtype, number)
        return IntImm(info.dtype, int(number))

    def _argument(self, group: Any) -> Any:
        if group is None:
            return None
        if isinstance(group, list):
            return [self._argument(value) for value in group]
        shape = types.shape_info(group.type)
        if shape is not None:
            if shape.dims is None:
                raise NotLegalizable
            return [self.size(dim) for dim in shape.dims]
        if types.prim_info(group.type) is not None:
            return self._scalar(group)
        return self.tensor(group)

    def size(self, dim: Dim) -> PrimExpr:
        """A dimension as an int64 expression; symbols are variables of this function."""
        for symbol in dim_algebra.symbols(dim):
            self.symbols.setdefault(symbol, Var(symbol, "int64"))
        return expr_of(dim, self.symbols, "int64")

    def _scalar(self, value: ir.Value) -> PrimExpr:
        dtype, dim = types.prim_info(value.type) or ("", None)
        if dim is not None:
            made = self.size(dim)
            return made if dtype == "int64" else made.astype(dtype)
        owner = value.owner
        if isinstance(owner, (ir.Operation, ir.OpView)) and "value" in owner.operation.attributes:
            attribute = owner.operation.attributes["value"]
            if isinstance(attribute, (ir.FloatAttr, ir.IntegerAttr, ir.BoolAttr)):
                return te.const(attribute.value, dtype)
        raise NotLegalizable

    def tensor(self, value: ir.Value) -> te.Tensor:
        """A placeholder for a tensor value, which becomes an argument of the call."""
        info = types.tensor_info(value.type)
        if info is None or info.dims is None or info.dtype is None:
            raise NotLegalizable
        name = name_of(value) or chr(ord("A") + len(self.tensors))
        shape = [self.size(dim) for dim in info.dims]
        tensor = te.placeholder(shape, info.dtype, name)
        self.values.append(value)
        self.tensors.append(tensor)
        return tensor


def _results(kind: ir.Type, arguments: Arguments) -> list[Result]:
    """The inferred outputs.  A shape that is not known (such as that of operands which broadcast
    only if two symbols are equal) leaves the operator as it is."""
    fields = types.tuple_fields(kind)
    found: list[Result] = []
    for output in [kind] if fields is None else fields:
        info = types.tensor_info(output)
        if info is None or info.dims is None or info.dtype is None:
            raise NotLegalizable
        found.append(Result([arguments.size(dim) for dim in info.dims], info.dtype))
    return found


def make_call(op: ir.Operation, row: Row, state: ModuleState, made: PrimFuncs) -> ir.Value:
    """Call, in front of `op`, a TensorIR function that does what `op` does.

    Raises NotLegalizable when shapes or scalars are not known, CompileError when the row fails.
    """
    arguments = Arguments(state, row.immediate)
    operands = arguments.collect(op)
    key = _signature(op, operands)
    known = made.calls.get(key)
    if known is not None:
        return _call_tir(op, *known, arguments, op.results[0].type, op.location)
    results = _results(op.results[0].type, arguments)
    attributes = attributes_of(op)
    try:
        if row.loops:
            write = partial(row.function, **attributes)
            function, extra = _from_loops(write, row.name, operands, arguments, results)
        else:
            function, extra = _from_tensors(op, row, operands, arguments, results)
    except Error as error:
        raise CompileError(f"{op.name}: {error} (in {op.location})") from error
    made.calls[key] = made.add(function, row.name), [var.name for var in extra]
    return _call_tir(op, *made.calls[key], arguments, op.results[0].type, op.location)


def _signature(op: ir.Operation, operands: Sequence[Any]) -> str:
    """A text that is the same only for operators which become the same function."""
    attributes = [
        f"{name}={op.attributes[name]}"
        for name in op.attributes
        if not name.endswith("SegmentSizes")
    ]
    groups = [_described(operand) for operand in operands]
    kinds = [str(value.type) for value in (*op.operands, *op.results)]
    return "|".join([op.name, *attributes, *groups, *kinds])


def _described(operand: Any) -> str:
    """What of an operand is not in the types: numbers, and how variadic operands are grouped."""
    if isinstance(operand, te.Tensor):
        return "tensor"
    if isinstance(operand, list):
        return f"[{','.join(map(_described, operand))}]"
    if isinstance(operand, (IntImm, FloatImm)):  # printed, a number may lose digits
        return f"{operand.dtype} {operand.value!r}"
    return f"{getattr(operand, 'dtype', '')} {operand}"


def call_loops(
    op: ir.Operation,
    name: str,
    write: Callable[..., None],
    values: Sequence[ir.Value],
    kind: ir.Type,
    state: ModuleState,
    made: PrimFuncs,
) -> ir.Value:
    """Call, in front of `op`, a function of statements on other values than the operator's own.

    `write` gets a PrimFuncBuilder, a buffer for each of `values` and one for each output of `kind`.
    """
    arguments = Arguments(state, ())
    operands = [arguments.tensor(value) for value in values]
    results = _results(kind, arguments)
    function, extra = _from_loops(write, name, operands, arguments, results)
    symbols = [var.name for var in extra]
    location = unnamed(op.location)
    return _call_tir(op, made.add(function, name), symbols, arguments, kind, location)


def call_tensors(
    op: ir.Operation,
    name: str,
    compute: Callable[..., te.Tensor],
    values: Sequence[ir.Value],
    kind: ir.Type,
    state: ModuleState,
    made: PrimFuncs,
) -> ir.Value:
    """Call, in front of `op`, a function of tensor expressions on other values than the operator's.

    `compute` gets a te tensor for each of `values` and the sizes of the result.
    """
    arguments = Arguments(state, ())
    operands = [arguments.tensor(value) for value in values]
    (result,) = _results(kind, arguments)
    outputs = _outputs(compute(*operands, result.shape), arguments)
    extra = _unbound(arguments, [t.shape for t in (*operands, *outputs)])
    function = te.create_prim_func([*operands, *outputs, *extra])
    symbols = [var.name for var in extra]
    return _call_tir(op, made.add(function, name), symbols, arguments, kind, unnamed(op.location))


def call_te(
    op: ir.Operation,
    name: str,
    compute: Callable[..., Any],
    values: Sequence[ir.Value],
    kinds: Sequence[ir.Type],
    state: ModuleState,
    made: PrimFuncs,
) -> ir.Value:
    """Call, in front of `op`, a function of what `compute` makes of a te tensor for each value.

    The result is a tensor, or a tuple when there are several `kinds`.
    """
    arguments = Arguments(state, ())
    operands = [arguments.tensor(value) for value in values]
    outputs = _outputs(compute(*operands), arguments)
    extra = _unbound(arguments, [t.shape for t in (*operands, *outputs)])
    function = te.create_prim_func([*operands, *outputs, *extra])
    kind = kinds[0] if len(kinds) == 1 else types.tuple_type(list(kinds))
    symbols = [var.name for var in extra]
    return _call_tir(op, made.add(function, name), symbols, arguments, kind, unnamed(op.location))


def _from_tensors(
    op: ir.Operation,
    row: Row,
    operands: Sequence[Any],
    arguments: Arguments,
    results: Sequence[Result],
) -> tuple[PrimFunc, list[Var]]:
    """The function of a row of tensor expressions, and its scalar parameters."""
    attributes = attributes_of(op)
    if row.result:
        is_tuple = types.tuple_fields(op.results[0].type) is not None
        attributes["result"] = results if is_tuple else results[0]
    outputs = _outputs(row.function(*operands, **attributes), arguments)
    extra = _unbound(arguments, [t.shape for t in (*arguments.tensors, *outputs)])
    return te.create_prim_func([*arguments.tensors, *outputs, *extra]), extra


def _from_loops(
    write: Callable[..., None],
    name: str,
    operands: Sequence[Any],
    arguments: Arguments,
    results: Sequence[Result],
) -> tuple[PrimFunc, list[Var]]:
    """The function that `write` writes, and its scalar parameters."""
    build = PrimFuncBuilder("main", attrs={"tir.noalias": True})
    taken: set[str] = set()

    def parameter(hint: str, shape: Sequence[Any], dtype: str) -> Buffer:
        while hint in taken:
            hint += "_1"
        taken.add(hint)
        return build.buffer_param(hint, list(shape), dtype)

    buffers = {t: parameter(t.name, t.shape, t.dtype) for t in arguments.tensors}
    outputs = [parameter(f"T_{name}", r.shape, r.dtype) for r in results]
    extra = _unbound(arguments, [b.shape for b in (*buffers.values(), *outputs)])
    for var in extra:
        build.scalar_param(var)

    def given(operand: Any) -> Any:
        if isinstance(operand, list):
            return [given(entry) for entry in operand]
        return buffers[operand] if isinstance(operand, te.Tensor) else operand

    write(build, *map(given, operands), *outputs)
    return build.finish(), extra


def _outputs(computed: Any, arguments: Arguments) -> list[te.Tensor]:
    """The row's tensors; one that is an input is copied, since a function writes its outputs."""
    given = list(computed) if isinstance(computed, (list, tuple)) else [computed]
    inputs = set(arguments.tensors)
    outputs: list[te.Tensor] = []
    for tensor in given:
        if tensor in inputs or tensor in outputs:
            source = tensor
            tensor = te.compute(source.shape, lambda *i, t=source: t(*i), name="T_identity")
        outputs.append(tensor)
    return outputs


def _unbound(arguments: Arguments, shapes: Sequence[Sequence[Any]]) -> list[Var]:
    """The symbols that no buffer has as a plain dimension: they become scalar parameters."""
    bound = {dim for shape in shapes for dim in shape if isinstance(dim, Var)}
    return [var for var in arguments.symbols.values() if var not in bound]


def _call_tir(
    op: ir.Operation,
    name: str,
    symbols: Sequence[str],
    arguments: Arguments,
    kind: ir.Type,
    location: ir.Location,
) -> ir.Value:
    operands = list(arguments.values)
    attributes: dict[str, ir.Attribute] = {"callee": ir.FlatSymbolRefAttr.get(name)}
    with ir.InsertionPoint(op):
        if symbols:
            shape = types.shape_type(symbols)
            operands.append(create("relax.shape_expr", [shape], loc=unnamed(location)).result)
        return create("relax.call_tir", [kind], operands, attributes, loc=location).result


def unnamed(location: ir.Location) -> ir.Location:
    """The place of a location without the name it carries."""
    return location.child_loc if isinstance(location, ir.NameLoc) else location
