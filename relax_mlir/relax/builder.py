"""FunctionBuilder: makes one Relax function in MLIR, binding by binding.

BlockBuilder, the TVMScript parser and `relax.Function(params, body)` all drive it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from relax_mlir import mlir
from relax_mlir.dialects.attributes import to_attribute
from relax_mlir.dialects.relax import types
from relax_mlir.dialects.variadic import create
from relax_mlir.errors import Error, TypeInferenceError, VerificationError
from relax_mlir.ir.text import name_location
from relax_mlir.lowering.passes import ModuleState
from relax_mlir.mlir import ir
from relax_mlir.relax.blocks import BindingBlock, DataflowBlock, LocalFunction, MatchCast, SeqExpr
from relax_mlir.relax.expr import Call, DataflowVar, Expr, If, Tuple, Var, as_expr
from relax_mlir.relax.local_functions import Frame, LocalFunctions
from relax_mlir.relax.location import user_location, user_span
from relax_mlir.relax.lowering import ExprLowering
from relax_mlir.relax.names import NameSupply
from relax_mlir.relax.struct_info import to_mlir_type
from relax_mlir.relax.type_relations import join

if TYPE_CHECKING:
    from relax_mlir.relax.function import Function


@dataclass
class _Closed:
    """A finished dataflow block: what it made, and what of it is visible."""

    operation: ir.Operation
    inner: dict[Var, ir.Value]


class FunctionBuilder(LocalFunctions):
    """One function under construction.

    `location` (an MLIR location) is where the next bindings come from; without it, the user's
    Python line is.
    """

    def __init__(
        self,
        name: str,
        params: Sequence[Var] | None = None,
        *,
        attrs: Mapping[str, Any] | None = None,
        private: bool = False,
        pure: bool = True,
    ):
        self.name = name
        self.attrs = dict(attrs or {})
        self.private = private
        self.pure = pure
        self.location: ir.Location | None = None
        self.names = NameSupply()
        self.values: dict[Var, ir.Value] = {}
        self._closed: list[_Closed] = []
        self._params: list[Var] | None = None
        self._param_names: dict[Var, str] = {}
        self._symbols: set[str] = set()
        with mlir.scope():
            self.state = ModuleState(ir.Module.create())
            self._function = self._empty_function()
            block = self._function.regions[0].blocks[0]
            self._frames = [Frame("function", block, self._function)]
        self._lowering = ExprLowering(
            self._value_of, self._name_location, self._fresh, self.state.constants
        )
        if params is not None:
            self.set_params(params)

    # -- parameters ---------------------------------------------------------------------------

    def _empty_function(self) -> ir.Operation:
        with ir.InsertionPoint(self.state.module.body):
            op = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get(self.name),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
                },
                regions=1,
            )
        op.regions[0].blocks.append()
        return op

    def set_params(self, params: Sequence[Var]) -> None:
        """Declare the parameters.  Raises Error when one is given twice."""
        if len({id(p) for p in params}) != len(params):
            raise Error("a parameter is given twice", span=user_span())
        self._params = list(params)
        with mlir.scope():
            for param in params:
                self._reserve_symbols(param)
            for param in params:
                if param not in self.values:
                    self._add_argument(param)

    def _reserve_symbols(self, param: Var) -> None:
        """Symbols and variables share Python's names in TVMScript: symbols have theirs first."""
        self._define_symbols(param.mlir_type)

    def _define_symbols(self, kind: ir.Type) -> None:
        for symbol in types.symbols_of(kind):
            if symbol not in self._symbols:
                self._symbols.add(symbol)
                self.names.reserve(symbol)

    def _check_symbols(self, name: str, kind: ir.Type) -> None:
        """Refuse a type with a symbol that has no value."""
        for symbol in types.symbols_of(kind):
            if symbol not in self._symbols:
                raise TypeInferenceError(
                    f"'{name}' is {types.describe(kind)}, but the symbol '{symbol}' has no value",
                    span=user_span(),
                    hint="a symbol is a dimension of a parameter or is bound by R.match_cast",
                )

    def _add_argument(self, param: Var) -> ir.Value:
        self._reserve_symbols(param)
        name, number = param.name_hint, 0
        while name in self.names:
            number += 1
            name = f"{param.name_hint}_{number}"
        self.names.reserve(name)
        self._param_names[param] = name
        loc = name_location(name, self.location or user_location())
        value = self._frames[0].block.add_argument(param.mlir_type, loc)
        self.values[param] = value
        return value

    # -- values -------------------------------------------------------------------------------

    def _value_of(self, var: Var) -> ir.Value:
        value = self.values.get(var)
        if value is not None:
            return value
        for closed in reversed(self._closed):
            if var in closed.inner:
                return self._expose(closed, var)
        if self._params is not None or isinstance(var, DataflowVar):
            raise Error(
                f"the variable '{var.name_hint}' is not visible here: it is neither a parameter "
                "nor bound in this scope",
                span=user_span(),
            )
        return self._add_argument(var)  # parameters are named at the end, in emit_func_output

    def _name_location(self, name: str | None) -> ir.Location:
        place = self.location or user_location()
        return place if name is None else name_location(name, place)

    def _fresh(self) -> str:
        return self.names.fresh("lv" if self.in_dataflow else "gv")

    @property
    def in_dataflow(self) -> bool:
        return self._frames[-1].kind == "dataflow"

    @property
    def _point(self) -> ir.InsertionPoint:
        return ir.InsertionPoint(self._frames[-1].block)

    # -- bindings -----------------------------------------------------------------------------

    def bind(
        self, expr: Any, name: str | None = None, declared: Any = None, *, output: bool = False
    ) -> Var:
        """Bind an expression to a new variable, of type `declared` when that is given.

        Raises TypeInferenceError when the expression cannot have the declared type.
        """
        expr = as_expr(expr)
        frame = self._frames[-1]
        with mlir.scope(), self._point:
            chosen = None if name is None else self.names.own(name)
            if isinstance(expr, If):
                return self._bind_if(expr, name)
            if isinstance(expr, LocalFunction):
                return self._bind_local_function(expr, name)
            value = self._lowering.binding(expr, chosen or "")
            chosen = chosen or (self.names.fresh("gv") if output else self._fresh())
            value.owner.location = self._name_location(chosen)
            if declared is not None:
                _declare(value, to_mlir_type(declared), chosen)
            var = self._variable(chosen, value, output)
        if output:
            frame.outputs.append(var)
        return var

    def _variable(self, name: str, value: ir.Value, output: bool = False) -> Var:
        if self._params is not None:
            self._check_symbols(name, value.type)
        kind = DataflowVar if self.in_dataflow and not output else Var
        var = kind(name, value.type)
        self.values[var] = value
        self._frames[-1].variables.append(var)
        return var

    def alias(self, var: Var, bound: Var) -> None:
        """Let `var`, which the caller made, stand for the bound variable too."""
        self.values[var] = self.values[bound]
        self._frames[-1].variables.append(var)

    def sequence(self, seq: SeqExpr) -> Expr:
        """Emit the blocks of a SeqExpr, whose variables then are bound here; gives its value."""
        for block in seq.blocks:
            if not isinstance(block, DataflowBlock):
                self._bindings(block)
                continue
            self.begin_dataflow()
            self._bindings(block)
            self.add_outputs(block.outputs)
            self.end_dataflow()
        return seq.body

    def _bindings(self, block: BindingBlock) -> None:
        for binding in block.bindings:
            var = binding.var
            if isinstance(binding, MatchCast):
                made = self.match_cast(binding.value, binding.struct_info, var.name_hint)
            else:
                made = self.bind(binding.value, var.name_hint)
            self.alias(var, made)

    def match_cast(self, expr: Any, kind: Any, name: str | None = None) -> Var:
        """Bind a value whose type is checked at run time; new symbols of `kind` are bound."""
        with mlir.scope(), self._point:
            value = self._lowering.operand(as_expr(expr))
            target = to_mlir_type(kind)
            reason = types.conflict(value.type, target)
            if reason is not None:
                raise TypeInferenceError(
                    f"R.match_cast: a value of type {types.describe(value.type)} is never "
                    f"{types.describe(target)}: {reason}",
                    span=user_span(),
                )
            self._define_symbols(target)
            chosen = self._fresh() if name is None else self.names.own(name)
            op = ir.Operation.create(
                "relax.match_cast",
                results=[target],
                operands=[value],
                loc=self._name_location(chosen),
            )
            return self._variable(chosen, op.result)

    # -- dataflow blocks ----------------------------------------------------------------------

    def begin_dataflow(self) -> None:
        if self.in_dataflow:
            raise Error("a dataflow block cannot stand in another", span=user_span())
        with mlir.scope(), self._point:
            op = create("relax.dataflow", regions=1, loc=self._name_location(None))
            block = op.regions[0].blocks.append()
        self._frames.append(Frame("dataflow", block, op))

    def add_outputs(self, variables: Sequence[Var]) -> None:
        """Make variables of the dataflow block visible after it (`R.output`)."""
        frame = self._frames[-1]
        for var in variables:
            if not isinstance(var, Var) or var not in frame.variables:
                raise Error(f"R.output takes variables of its dataflow block, not {var}")
            if var not in frame.outputs:
                frame.outputs.append(var)

    def end_dataflow(self) -> list[Var]:
        """Close the dataflow block; the outputs are bound to its results."""
        frame = self._frames.pop()
        with mlir.scope():
            inner = {var: self.values.pop(var) for var in frame.variables if var in self.values}
            closed = _Closed(frame.operation, inner)
            self._rebuild(closed, [inner[var] for var in frame.outputs])
            self._closed.append(closed)
            for var, result in zip(frame.outputs, closed.operation.results, strict=True):
                self.values[var] = result
        return frame.outputs

    def _rebuild(self, closed: _Closed, outputs: list[ir.Value]) -> None:
        """Give a dataflow operation these outputs; results it had keep their place."""
        old = closed.operation
        block = old.regions[0].blocks[0]
        operations = list(block.operations)
        if operations and operations[-1].operation.name == "relax.output":
            operations[-1].operation.erase()
        with ir.InsertionPoint(block):
            create("relax.output", operands=outputs, loc=old.location)
        with ir.InsertionPoint(old):
            new = create(
                "relax.dataflow", [v.type for v in outputs], regions=1, loc=old.location
            )  # without a name: the outputs inside carry theirs
        block.append_to(new.regions[0])
        moved = dict(zip(list(old.results), list(new.results), strict=False))
        for before, after in moved.items():
            before.replace_all_uses_with(after)
        for var, value in self.values.items():
            if value in moved:
                self.values[var] = moved[value]
        old.erase()
        closed.operation = new

    def _expose(self, closed: _Closed, var: Var) -> ir.Value:
        """The value, outside its dataflow block, of a variable that was not an output."""
        value = closed.inner[var]
        block = closed.operation.regions[0].blocks[0]
        outputs = list(list(block.operations)[-1].operation.operands)
        for i, output in enumerate(outputs):
            owner = output.owner
            alias = owner.name == "relax.bind" and owner.operands[0] == value
            if output == value or alias:
                return closed.operation.results[i]
        self._rebuild(closed, [*outputs, value])
        self.values[var] = closed.operation.results[len(outputs)]
        return self.values[var]

    # -- branches -----------------------------------------------------------------------------

    def begin_if(self, condition: Any) -> None:
        """Open the first branch of an if; `begin_else`, then `end_if` follow."""
        if self.in_dataflow:
            raise Error("an if cannot stand in a dataflow block", span=user_span())
        with mlir.scope(), self._point:
            value = self._lowering.operand(as_expr(condition))
            op = ir.Operation.create(
                "relax.if",
                results=[types.object_type()],
                operands=[value],
                regions=2,
                loc=self._name_location(None),
            )
            block = op.regions[0].blocks.append()
        self._frames.append(Frame("branch", block, op))

    def begin_else(self, result: Any) -> None:
        """Close the first branch with its value and open the second."""
        self._yield(result)
        frame = self._leave_branch()
        with mlir.scope():
            block = frame.operation.regions[1].blocks.append()
        self._frames.append(Frame("branch", block, frame.operation))

    def end_if(self, result: Any, name: str | None = None, declared: Any = None) -> Var:
        """Close the second branch; the result of the if is bound to a variable."""
        self._yield(result)
        op = self._leave_branch().operation
        with mlir.scope():
            ends = [list(r.blocks[0].operations)[-1].operation for r in op.regions]
            value = op.results[0]
            value.set_type(join(*[end.operands[0].type for end in ends]))
            if name is not None:
                self.names.release(name)  # both branches may bind it too
            chosen = self._fresh() if name is None else self.names.own(name)
            op.location = self._name_location(chosen)
            if declared is not None:
                _declare(value, to_mlir_type(declared), chosen)
            return self._variable(chosen, value)

    def _leave_branch(self) -> Frame:
        frame = self._frames.pop()
        for var in frame.variables:
            self.values.pop(var, None)
        return frame

    def _yield(self, result: Any) -> None:
        with mlir.scope(), self._point:
            value = self._lowering.operand(self._result(result))
            ir.Operation.create("relax.yield", operands=[value], loc=self._name_location(None))

    def _bind_if(self, expr: If, name: str | None) -> Var:
        self.begin_if(expr.cond)
        self.begin_else(expr.true_branch)
        return self.end_if(expr.false_branch, name)

    # -- the end ------------------------------------------------------------------------------

    def finish(
        self, result: Any, params: Sequence[Var] | None = None, ret_type: Any = None
    ) -> Function:
        """Return `result` and give the function.

        `params` orders the parameters when they were not declared.  `ret_type` is checked, and
        wins when it says more than is inferred.  Raises Error or VerificationError.
        """
        from relax_mlir.relax.function import Function

        if len(self._frames) != 1:
            raise Error(f"the function '{self.name}' ends inside a {self._frames[-1].kind} block")
        if params is not None:
            self.set_params(params)
            for var, value in self.values.items():
                self._check_symbols(var.name_hint, value.type)
        expr = self._result(result)
        with mlir.scope(), self._point:
            value = self._lowering.operand(expr)
            if ret_type is not None:
                value = self._as_declared(value, to_mlir_type(ret_type))
            ir.Operation.create("func.return", operands=[value], loc=self._name_location(None))
            self._order_arguments()
            self._set_attributes(value.type)
            self._verify()
        return Function(self.state)

    def _result(self, result: Any) -> Expr:
        """What a function or branch gives, calls bound to variables."""
        expr = Tuple(result) if isinstance(result, (tuple, list)) else as_expr(result)
        if isinstance(expr, SeqExpr):
            expr = self.sequence(expr)
        return self.bind(expr) if isinstance(expr, (Call, If)) else expr

    def _as_declared(self, value: ir.Value, declared: ir.Type) -> ir.Value:
        """The returned value in the declared type; what is not known is checked at run time."""
        reason = types.conflict(value.type, declared)
        if reason is not None:
            raise TypeInferenceError(
                f"the function '{self.name}' is declared to return {types.describe(declared)}, "
                f"but returns {types.describe(value.type)}: {reason}",
                span=user_span(),
            )
        says_more = join(value.type, declared) == declared
        if says_more and not (value.type != declared and _is_global_function(value)):
            return value  # what is inferred says as much or more
        op = ir.Operation.create(
            "relax.match_cast",
            results=[declared],
            operands=[value],
            loc=self._name_location(self._fresh()),
        )
        return op.result

    def _order_arguments(self) -> None:
        block = self._frames[0].block
        params = self._params or []
        known = {id(p) for p in params}
        for var, value in self.values.items():
            if isinstance(value, ir.BlockArgument) and id(var) not in known:
                raise Error(
                    f"the variable '{var.name_hint}' is used in '{self.name}', but is not one of "
                    f"its parameters ({', '.join(p.name_hint for p in params) or 'none'})",
                    span=user_span(),
                )
        current = list(block.arguments)
        wanted = [self.values[param] for param in params]
        if current == wanted:
            return
        for old in wanted:
            old.replace_all_uses_with(block.add_argument(old.type, old.location))
        for _ in current:
            block.erase_argument(0)

    def _set_attributes(self, result: ir.Type) -> None:
        attributes = self._function.attributes
        arguments = list(self._frames[0].block.arguments)
        kind = ir.FunctionType.get([a.type for a in arguments], [result])
        attributes["function_type"] = ir.TypeAttr.get(kind)
        attributes["arg_attrs"] = ir.ArrayAttr.get(
            [to_attribute({"relax.name": self._param_names[p]}) for p in self._params or []]
        )
        attributes["relax.attrs"] = to_attribute(self.attrs)
        if self.private:
            attributes["sym_visibility"] = ir.StringAttr.get("private")
        if not self.pure:
            attributes["relax.pure"] = ir.BoolAttr.get(False)

    def _verify(self) -> None:
        try:
            self._function.verify()
        except ir.MLIRError as error:
            raise VerificationError(str(error), span=user_span()) from None


def _is_global_function(value: ir.Value) -> bool:
    """A function of the module, or a tuple with one: the type of a function that returns itself
    would hold itself, so what is declared stays."""
    maker = value.owner
    if isinstance(maker, ir.Block):
        return False
    if maker.name == "relax.tuple":
        return any(_is_global_function(operand) for operand in maker.operands)
    return maker.name == "relax.function_ref"


def _declare(value: ir.Value, declared: ir.Type, name: str) -> None:
    """Give a binding its declared type.  Raises TypeInferenceError."""
    reason = types.conflict(value.type, declared)
    if reason is not None:
        raise TypeInferenceError(
            f"'{name}' is declared as {types.describe(declared)}, but its value is "
            f"{types.describe(value.type)}: {reason}",
            span=user_span(),
        )
    if value.type != declared:
        value.set_type(declared)
